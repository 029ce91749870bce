/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of tls_keeper: whose certificate serves, before files are there, when they come, and when they go. */
#include "tls_keeper.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "unit.h"

static const char *const names[] = { "first.test", "127.0.0.1", NULL };

static void handshake(struct tls_session *server, gnutls_session_t client)
{
        int ours = -EAGAIN, theirs = GNUTLS_E_AGAIN;

        for (int i = 0; i < 100 && (ours == -EAGAIN || theirs == GNUTLS_E_AGAIN); i++) {
                if (theirs == GNUTLS_E_AGAIN)
                        theirs = gnutls_handshake(client);
                if (ours == -EAGAIN)
                        ours = tls_handshake(server, NULL);
        }
        CHECK_EQ(ours, 0);
        CHECK_EQ(theirs, 0);
}

static void issuer_read(gnutls_session_t client, char *text, size_t bytes)
{
        unsigned count;
        const gnutls_datum_t *chain = gnutls_certificate_get_peers(client, &count);
        gnutls_x509_crt_t certificate;

        CHECK(chain && count > 0);
        CHECK_EQ(gnutls_x509_crt_init(&certificate), 0);
        CHECK_EQ(gnutls_x509_crt_import(certificate, chain, GNUTLS_X509_FMT_DER), 0);
        CHECK_EQ(gnutls_x509_crt_get_issuer_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0,
                                                      0, text, &bytes),
                 0);
        gnutls_x509_crt_deinit(certificate);
}

/* The name of the authority whose certificate a client sees now. */
static const char *issuer_of(struct tls_keeper *keeper, char text[static 64])
{
        gnutls_certificate_credentials_t credentials;
        struct tls_session *server = NULL;
        gnutls_session_t client;
        int ends[2];

        CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        CHECK_EQ(tls_session_new(tls_keeper_context(keeper), ends[0], NULL, &server, NULL), 0);
        CHECK_EQ(gnutls_init(&client, GNUTLS_CLIENT | GNUTLS_NONBLOCK), 0);
        CHECK_EQ(gnutls_certificate_allocate_credentials(&credentials), 0);
        CHECK_EQ(gnutls_credentials_set(client, GNUTLS_CRD_CERTIFICATE, credentials), 0);
        CHECK_EQ(gnutls_set_default_priority(client), 0);
        gnutls_transport_set_int(client, ends[1]);
        handshake(server, client);
        issuer_read(client, text, 64);
        gnutls_deinit(client);
        gnutls_certificate_free_credentials(credentials);
        tls_session_free(server);
        close(ends[0]);
        close(ends[1]);
        return text;
}

static struct tls_pair authority_make(const char *name)
{
        struct tls_pair authority = { 0 };

        CHECK_EQ(tls_authority_make(name, 10, &authority, NULL), 0);
        return authority;
}

TEST(without_an_authority_it_makes_one_until_it_adopts_one)
{
        const struct tls_keeper_options options = { .names = names, .days = 1 };
        struct tls_pair authority = authority_make("second.test");
        struct tls_keeper *keeper = NULL;
        struct loop *loop = NULL;
        char text[64];

        CHECK_EQ(loop_new(&loop), 0);
        CHECK_EQ(tls_keeper_new(loop, &options, &keeper, NULL), 0);
        CHECK_STR(issuer_of(keeper, text), "first.test");
        CHECK_EQ(tls_keeper_adopt(keeper, &authority, NULL), 0);
        CHECK_STR(issuer_of(keeper, text), "second.test");
        tls_keeper_free(keeper);
        loop_free(loop);
        tls_pair_done(&authority);
}

struct files {
        char folder[64], certificate[96], key[96];
};

static void files_write(const struct files *files, const char *authority_name)
{
        struct tls_pair authority = authority_make(authority_name), pair = { 0 };

        CHECK_EQ(tls_authority_sign(&authority, names, 1, &pair, NULL), 0);
        CHECK_EQ(file_replace(files->key, pair.key, strlen(pair.key), 0600), 0);
        CHECK_EQ(file_replace(files->certificate, pair.certificate, strlen(pair.certificate), 0600),
                 0);
        tls_pair_done(&pair);
        tls_pair_done(&authority);
}

static void changes_count(void *owner, const struct err *e)
{
        CHECK(!e);
        ++*(unsigned *)owner;
}

/* Turns for as long as some polls take. */
static void polls_pass(struct loop *loop)
{
        for (const uint64_t end_ns = clock_now_ns() + 20 * NS_PER_MS; clock_now_ns() < end_ns;)
                loop_step(loop, NS_PER_MS);
}

TEST(files_that_may_lack_are_used_when_they_come_and_stay_in_use_when_they_go)
{
        struct files files = { .folder = "/tmp/vgpu-keeper-XXXXXX" };
        unsigned changes = 0;
        const struct tls_keeper_options options = { .certificate_path = files.certificate,
                                                    .key_path = files.key,
                                                    .may_lack_files = true,
                                                    .names = names,
                                                    .days = 1,
                                                    .poll_ms = 1,
                                                    .on_change = changes_count,
                                                    .owner = &changes };
        struct tls_keeper *keeper = NULL;
        struct loop *loop = NULL;
        char text[64];

        CHECK(mkdtemp(files.folder));
        snprintf(files.certificate, sizeof files.certificate, "%s/metrics.crt", files.folder);
        snprintf(files.key, sizeof files.key, "%s/metrics.key", files.folder);
        CHECK_EQ(loop_new(&loop), 0);
        CHECK_EQ(tls_keeper_new(loop, &options, &keeper, NULL), 0);
        polls_pass(loop);
        CHECK_STR(issuer_of(keeper, text), "first.test");
        CHECK_EQ(changes, 0);
        files_write(&files, "mounted.test");
        polls_pass(loop);
        CHECK_STR(issuer_of(keeper, text), "mounted.test");
        CHECK_EQ(changes, 1);
        unlink(files.certificate);
        unlink(files.key);
        polls_pass(loop);
        CHECK_STR(issuer_of(keeper, text), "mounted.test");
        CHECK_EQ(changes, 1);
        tls_keeper_free(keeper);
        loop_free(loop);
        rmdir(files.folder);
}

TEST(files_that_must_be_there_are_missed_at_once)
{
        const struct tls_keeper_options options = { .certificate_path = "/nonexistent/tls.crt",
                                                    .key_path = "/nonexistent/tls.key",
                                                    .names = names,
                                                    .days = 1 };
        struct tls_keeper *keeper = NULL;
        struct loop *loop = NULL;

        CHECK_EQ(loop_new(&loop), 0);
        CHECK_EQ(tls_keeper_new(loop, &options, &keeper, NULL), -ENOENT);
        loop_free(loop);
}

int main(void)
{
        return RUN(CASE(without_an_authority_it_makes_one_until_it_adopts_one),
                   CASE(files_that_may_lack_are_used_when_they_come_and_stay_in_use_when_they_go),
                   CASE(files_that_must_be_there_are_missed_at_once));
}
