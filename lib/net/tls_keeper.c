/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates that change while they are in use. */
#include "tls_keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "list.h"
#include "scope.h"

/* Tells one state of a file from another: Kubernetes exchanges mounted files by a link. */
struct stamp {
        dev_t device;
        ino_t inode;
        struct timespec changed;
        off_t size;
};

enum { FILES = 3, AUTHORITY_DAYS = 3650 };

struct tls_keeper {
        struct loop *loop;
        struct tls_keeper_options options;
        char *certificate_path, *key_path, *clients_path;
        struct tls_pair authority;
        struct tls_context *context;
        struct timer poll;
        struct stamp stamps[FILES];
        int64_t begin_s, end_s; /* of our own */
};

static struct stamp stamp_of(const char *path)
{
        struct stat status;

        if (stat(path, &status) < 0)
                return (struct stamp){ 0 };
        return (struct stamp){ status.st_dev, status.st_ino, status.st_mtim, status.st_size };
}

static bool stamp_is_same(const struct stamp *a, const struct stamp *b)
{
        return a->device == b->device && a->inode == b->inode && a->size == b->size &&
               a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static int use(struct tls_keeper *keeper, const char *certificate, const char *key,
               const char *clients, struct err *e)
{
        const struct tls_credentials credentials = { .certificate = certificate,
                                                     .key = key,
                                                     .authorities = clients };

        return keeper->context ? tls_context_replace(keeper->context, &credentials, e)
                               : tls_server_new(&credentials, &keeper->context, e);
}

static int read_file(const char *path, const char *what, char **ret_text, struct err *e)
{
        const int r = file_read(path, ret_text);

        return r < 0 ? err_set(e, r, "cannot read the %s '%.150s': %s", what, path, strerror(-r))
                     : 0;
}

static int read_files(struct tls_keeper *keeper, struct err *e)
{
        autofree char *certificate = NULL;
        autofree char *key = NULL;
        autofree char *clients = NULL;
        int r = read_file(keeper->certificate_path, "certificate", &certificate, e);

        if (r == 0)
                r = read_file(keeper->key_path, "key", &key, e);
        if (r == 0 && keeper->clients_path)
                r = read_file(keeper->clients_path, "clients' authorities", &clients, e);
        if (r == 0)
                r = use(keeper, certificate, key, clients, e);
        if (r == 0) { /* not ours to renew, also when the files are gone */
                keeper->begin_s = 0;
                keeper->end_s = INT64_MAX;
        }
        if (key)
                explicit_bzero(key, strlen(key));
        return r;
}

static int make_own(struct tls_keeper *keeper, struct err *e)
{
        struct tls_pair pair = { 0 };
        int64_t begin_s, end_s;
        int r = tls_authority_sign(&keeper->authority, keeper->options.names, keeper->options.days,
                                   &pair, e);

        if (r == 0)
                r = tls_certificate_times(pair.certificate, &begin_s, &end_s, e);
        if (r == 0)
                r = use(keeper, pair.certificate, pair.key,
                        keeper->options.asks_clients ? keeper->authority.certificate : NULL, e);
        if (r == 0) {
                keeper->begin_s = begin_s;
                keeper->end_s = end_s;
        }
        tls_pair_done(&pair);
        return r;
}

/* Looks at the files; true: they are not what was read last. */
static bool has_changed(struct tls_keeper *keeper)
{
        const char *const paths[FILES] = { keeper->certificate_path, keeper->key_path,
                                           keeper->clients_path };
        bool is_same = true;

        for (unsigned i = 0; i < FILES && paths[i]; i++) {
                const struct stamp now = stamp_of(paths[i]);

                is_same = is_same && stamp_is_same(&now, &keeper->stamps[i]);
                keeper->stamps[i] = now;
        }
        return !is_same;
}

static bool has_files(const struct tls_keeper *keeper)
{
        return keeper->certificate_path &&
               !(keeper->options.may_lack_files && access(keeper->certificate_path, F_OK) < 0);
}

static void on_poll(struct timer *timer)
{
        struct tls_keeper *keeper = container_of(timer, struct tls_keeper, poll);
        const bool reads = has_files(keeper);
        const bool is_due = reads ? has_changed(keeper)
                                  : !tls_certificate_is_fresh(keeper->begin_s, keeper->end_s);
        struct err e = { 0 };
        int r = 0;

        if (is_due)
                r = reads ? read_files(keeper, &e) : make_own(keeper, &e);
        if (r < 0) /* half exchanged, perhaps: it is looked at again */
                memset(keeper->stamps, 0, sizeof keeper->stamps);
        if (is_due && keeper->options.on_change)
                keeper->options.on_change(keeper->options.owner, r < 0 ? &e : NULL);
        loop_timer_set(keeper->loop, &keeper->poll, keeper->options.poll_ms * NS_PER_MS);
}

static int paths_copy(struct tls_keeper *keeper, const struct tls_keeper_options *options)
{
        if (!options->certificate_path)
                return 0;
        keeper->certificate_path = strdup(options->certificate_path);
        keeper->key_path = strdup(options->key_path);
        if (options->clients_path)
                keeper->clients_path = strdup(options->clients_path);
        return keeper->certificate_path && keeper->key_path &&
                               !keeper->clients_path == !options->clients_path
                       ? 0
                       : -ENOMEM;
}

static int authority_copy(const struct tls_pair *from, struct tls_pair *ret_pair)
{
        struct tls_pair pair = { strdup(from->certificate), strdup(from->key) };

        if (!pair.certificate || !pair.key) {
                tls_pair_done(&pair);
                return -ENOMEM;
        }
        *ret_pair = pair;
        return 0;
}

static int keeper_fill(struct tls_keeper *keeper, const struct tls_keeper_options *options,
                       struct err *e)
{
        int r = paths_copy(keeper, options);

        if (r == 0 && options->certificate_path && !options->may_lack_files)
                return 0;
        if (r == 0 && !options->authority)
                return tls_authority_make(options->names[0], AUTHORITY_DAYS, &keeper->authority, e);
        if (r == 0)
                r = authority_copy(options->authority, &keeper->authority);
        return r < 0 ? err_set(e, r, "out of memory") : 0;
}

int tls_keeper_new(struct loop *loop, const struct tls_keeper_options *options,
                   struct tls_keeper **ret_keeper, struct err *e)
{
        struct tls_keeper *keeper = calloc(1, sizeof *keeper);
        int r = keeper ? keeper_fill(keeper, options, e) : err_set(e, -ENOMEM, "out of memory");

        if (r < 0) {
                tls_keeper_free(keeper);
                return r;
        }
        keeper->loop = loop;
        keeper->options = *options;
        keeper->options.poll_ms = options->poll_ms ?: 10000;
        keeper->poll.on_due = on_poll;
        if (has_files(keeper)) {
                has_changed(keeper);
                r = read_files(keeper, e);
        } else {
                r = make_own(keeper, e);
        }
        if (r < 0) {
                tls_keeper_free(keeper);
                return r;
        }
        loop_timer_set(loop, &keeper->poll, keeper->options.poll_ms * NS_PER_MS);
        *ret_keeper = keeper;
        return 0;
}

struct tls_context *tls_keeper_context(struct tls_keeper *keeper)
{
        return keeper->context;
}

int tls_keeper_adopt(struct tls_keeper *keeper, const struct tls_pair *authority, struct err *e)
{
        struct tls_pair before = keeper->authority;
        int r = authority_copy(authority, &keeper->authority);

        if (r < 0)
                return err_set(e, r, "out of memory");
        r = make_own(keeper, e);
        if (r < 0) {
                tls_pair_done(&keeper->authority);
                keeper->authority = before;
                return r;
        }
        tls_pair_done(&before);
        return 0;
}

void tls_keeper_free(struct tls_keeper *keeper)
{
        if (!keeper)
                return;
        if (keeper->loop)
                loop_timer_clear(keeper->loop, &keeper->poll);
        tls_context_free(keeper->context);
        tls_pair_done(&keeper->authority);
        free(keeper->certificate_path);
        free(keeper->key_path);
        free(keeper->clients_path);
        free(keeper);
}
