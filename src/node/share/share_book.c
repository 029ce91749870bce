/* SPDX-License-Identifier: Apache-2.0 */
/* The book: what is found, made, changed and removed. The files are share_folder.c's. */
#include "share_book.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "file.h"
#include "lease_break.h"
#include "log.h"
#include "scope.h"
#include "share_folder.h"
#include "str.h"
#include "vec.h"

struct share_book {
        char folder[SHARE_FOLDER_ROOT];
        char boot[GPU_PAGE_MACHINE];
        struct list shares; /* oldest first */
        struct hash containers, names;
        struct list listeners;
        struct vec delayed; /* of char[SHARE_TEXT]: paths of shares that could not be opened yet */
        int failure;        /* one could not be noted there: there would be no way back to it */
};

static void notify(struct share_book *book, enum share_change change, struct held_share *held)
{
        LIST_EACH (item, &book->listeners) {
                struct share_listener *listener = container_of(item, struct share_listener, link);

                listener->on_share(listener, change, held);
        }
}

void share_book_trim_share(struct held_share *held)
{
        madvise(held->share.file, sizeof *held->share.file, MADV_DONTNEED);
}

static void key_make(const char *pod_uid, const char *container,
                     char ret_key[static SHARE_BOOK_KEY])
{
        snprintf(ret_key, SHARE_BOOK_KEY, "%.63s/%.255s", pod_uid, container);
}

struct held_share *share_book_find(const struct share_book *book, const char *pod_uid,
                                   const char *container)
{
        char key[SHARE_BOOK_KEY];
        struct hash_link *link;

        key_make(pod_uid, container, key);
        link = hash_find(&book->containers, key);
        return link ? container_of(link, struct held_share, by_container) : NULL;
}

struct held_share *share_book_find_name(const struct share_book *book, const char *name)
{
        struct hash_link *link = hash_find(&book->names, name);

        return link ? container_of(link, struct held_share, by_name) : NULL;
}

void share_book_each(struct share_book *book, void (*visit)(void *owner, struct held_share *held),
                     void *owner)
{
        LIST_EACH (item, &book->shares)
                visit(owner, container_of(item, struct held_share, link));
}

size_t share_book_count(const struct share_book *book)
{
        return book->containers.count;
}

/* "POD.CONTAINER", and where another namespace has the same, the beginning of the UID too. */
static void name_make(const struct share_book *book, const struct share_copy *content,
                      char ret_name[static 64])
{
        const int width = 62 - (int)strlen(content->container);

        snprintf(ret_name, 64, "%.*s.%.61s", width > 1 ? width : 1, content->pod_name,
                 content->container);
        if (share_book_find_name(book, ret_name))
                snprintf(ret_name, 64, "%.*s.%.30s.%.13s", width > 31 ? 17 : 1, content->pod_name,
                         content->container, content->pod_uid);
}

/* Ids of two containers may begin alike: then more of the id is the name, or its end. */
static void name_part(const struct share_book *book, struct held_share *held)
{
        const size_t length = strlen(held->container), most = sizeof held->name - 1;

        if (!held->pod_uid[0] && hash_find(&book->names, held->name))
                str_copy(held->name, sizeof held->name, held->container);
        if (!held->pod_uid[0] && hash_find(&book->names, held->name) && length > most)
                str_copy(held->name, sizeof held->name, held->container + length - most);
}

/* An open share becomes one of the book's. */
static int held_add(struct share_book *book, const struct share *share, const char *path,
                    struct held_share **ret_held)
{
        const struct share_copy *copy = share_current(share);
        struct held_share *held = calloc(1, sizeof *held);
        int r = held ? 0 : -ENOMEM;

        if (r < 0)
                return r;
        held->share = *share;
        str_copy(held->path, sizeof held->path, path);
        str_copy(held->pod_uid, sizeof held->pod_uid, copy->pod_uid);
        str_copy(held->pod_namespace, sizeof held->pod_namespace, copy->pod_namespace);
        str_copy(held->pod, sizeof held->pod, copy->pod_name);
        str_copy(held->container, sizeof held->container, copy->container);
        str_copy(held->name, sizeof held->name, copy->name);
        name_part(book, held);
        key_make(held->pod_uid, held->container, held->key);
        r = share_decided_read(path, copy->device_count, &held->decided);
        if (hash_find(&book->containers, held->key) || hash_find(&book->names, held->name))
                r = -EEXIST;
        if (r == 0)
                r = hash_add(&book->containers, &held->by_container, held->key);
        if (r == 0 && (r = hash_add(&book->names, &held->by_name, held->name)) < 0)
                hash_remove(&book->containers, &held->by_container);
        if (r < 0) {
                free(held->decided);
                free(held);
                return r;
        }
        list_append(&book->shares, &held->link);
        share_book_trim_share(held);
        *ret_held = held;
        return 0;
}

static bool is_delayed(const struct share_book *book, const char *path)
{
        for (size_t i = 0; i < book->delayed.count; i++)
                if (strcmp(vec_at(&book->delayed, i), path) == 0)
                        return true;
        return false;
}

int share_book_make(struct share_book *book, const struct share_copy *content,
                    const struct gpu_device *gpu_devices, struct held_share **ret_held,
                    struct err *e)
{
        struct share_copy copy;
        struct share share;
        char path[SHARE_TEXT];

        if (share_book_find(book, content->pod_uid, content->container))
                return err_set(e, -EEXIST, "container '%.60s' of pod %.40s has a share",
                               content->container, content->pod_uid);
        memcpy(&copy, content, sizeof copy);
        name_make(book, content, copy.name);
        int r = share_folder_path(book->folder, copy.pod_uid, copy.container, path, e);
        if (r == 0 && is_delayed(book, path))
                r = err_set(e, -EAGAIN, "'%.150s' is there, and could not be opened yet", path);
        if (r == 0)
                r = share_folder_make(path, &copy, book->boot, gpu_devices, e);
        if (r == 0)
                r = share_open(path, true, &share, e);
        if (r < 0)
                return r;
        r = held_add(book, &share, path, ret_held);
        if (r < 0) {
                share_close(&share);
                share_folder_remove(path);
                return err_set(e, r, "cannot store share '%.100s': %s", path, strerror(-r));
        }
        notify(book, SHARE_MADE, *ret_held);
        return 0;
}

static int devices_compare(const struct share_copy *a, const struct share_copy *b, struct err *e)
{
        bool is_same = a->device_count == b->device_count;

        for (unsigned i = 0; is_same && i < a->device_count; i++)
                is_same = strcmp(a->devices[i].uuid, b->devices[i].uuid) == 0;
        return is_same ? 0 : err_set(e, -EINVAL, "the GPUs of share '%s' cannot change", a->name);
}

int share_book_change(struct share_book *book, struct held_share *held,
                      const struct share_copy *content, struct err *e)
{
        const struct share_copy *now = share_current(&held->share);
        struct share_copy copy;
        int r = devices_compare(now, content, e);

        if (r < 0)
                return r;
        memcpy(&copy, now, sizeof copy);
        memcpy((void *)copy.devices, (const void *)content->devices, sizeof copy.devices);
        copy.log_level = content->log_level;
        copy.compatibility = content->compatibility;
        copy.origin = content->origin;
        r = share_update(&held->share, &copy, e);
        if (r == 0)
                notify(book, SHARE_CHANGED, held);
        return r;
}

int share_book_adopt(struct share_book *book, const char *path, struct held_share **ret_held,
                     struct err *e)
{
        struct file_identity file = { 0 };
        struct share share;

        file_identity_at(path, &file); /* before: if it is replaced meanwhile, that shows later */
        int r = share_open(path, true, &share, e);
        if (r < 0)
                return r;
        r = held_add(book, &share, path, ret_held);
        if (r < 0) {
                share_close(&share);
                return err_set(e, r, "cannot store share '%.100s': %s", path, strerror(-r));
        }
        (*ret_held)->file = file;
        notify(book, SHARE_MADE, *ret_held);
        return 0;
}

struct held_share *share_book_find_path(const struct share_book *book, const char *path)
{
        LIST_EACH (item, &book->shares) {
                struct held_share *held = container_of(item, struct held_share, link);

                if (strcmp(held->path, path) == 0)
                        return held;
        }
        return NULL;
}

bool share_book_is_there(const struct held_share *held)
{
        struct file_identity now;

        return file_identity_at(held->path, &now) == 0 && file_identity_is(held->file, now);
}

void share_book_note_id(struct held_share *held, const char *container_id)
{
        char path[SHARE_TEXT];
        int r;

        if (strcmp(held->container_id, container_id) == 0)
                return;
        str_copy(held->container_id, sizeof held->container_id, container_id);
        share_folder_beside(held->path, "id", path);
        r = file_replace(path, held->container_id, strlen(held->container_id), 0600);
        if (r < 0)
                log_warn("cannot write '%s': %s", path, strerror(-r));
}

static void id_read(struct held_share *held)
{
        autofree char *id = NULL;
        char path[SHARE_TEXT];

        share_folder_beside(held->path, "id", path);
        if (file_read(path, &id) == 0)
                str_copy(held->container_id, sizeof held->container_id, id);
}

static void held_free(struct share_book *book, struct held_share *held)
{
        hash_remove(&book->containers, &held->by_container);
        hash_remove(&book->names, &held->by_name);
        list_remove(&held->link);
        share_close(&held->share);
        free(held->title_file);
        free(held->decided);
        free(held);
}

void share_book_forget(struct share_book *book, struct held_share *held)
{
        notify(book, SHARE_GONE, held);
        held_free(book, held);
}

void share_book_remove(struct share_book *book, struct held_share *held)
{
        notify(book, SHARE_GONE, held);
        share_folder_remove(held->path);
        held_free(book, held);
}

void share_book_trim(struct share_book *book)
{
        LIST_EACH (item, &book->shares)
                share_book_trim_share(container_of(item, struct held_share, link));
}

void share_book_listen(struct share_book *book, struct share_listener *listener)
{
        list_append(&book->listeners, &listener->link);
}

void share_book_unlisten(struct share_listener *listener)
{
        if (listener->link.next)
                list_remove(&listener->link);
}

static int folder_adopt(struct share_book *book, const char *path, struct held_share **ret_held,
                        struct err *e)
{
        struct share share;
        enum share_opened opened;
        int r = share_folder_open(path, book->boot, &share, &opened, e);

        if (r < 0)
                return r;
        if (opened == SHARE_RENEWED)
                log_info("'%s' has a new region: the one it had was of another boot, or damaged",
                         path);
        if (opened == SHARE_MENDED)
                log_warn("'%s' was changed in part, or damaged: it is right again", path);
        r = held_add(book, &share, path, ret_held);
        if (r < 0) {
                share_close(&share);
                return err_set(e, r, "cannot store share '%s': %s", path, strerror(-r));
        }
        id_read(*ret_held);
        return 0;
}

static void on_folder(void *owner, const char *path)
{
        struct share_book *book = owner;
        struct held_share *held;
        char kept[SHARE_TEXT];
        struct err e = { 0 };
        int r = folder_adopt(book, path, &held, &e);

        if (r < 0)
                log_warn("%s", e.text);
        str_copy(kept, sizeof kept, path);
        /* What is damaged is made anew: no container starts with it. What may be right is not: containers use it. */
        if (file_error_passes(r) && vec_push(&book->delayed, kept) < 0)
                book->failure = -ENOMEM;
        if (r == -EAGAIN)
                lease_break(kept);
}

bool share_book_retry(struct share_book *book)
{
        for (size_t i = book->delayed.count; i-- > 0;) {
                struct held_share *held;
                char path[SHARE_TEXT];
                struct err e = { 0 };

                memcpy(path, vec_at(&book->delayed, i), sizeof path);
                const int r = folder_adopt(book, path, &held, &e);
                if (r == -EAGAIN)
                        lease_break(path);
                if (file_error_passes(r))
                        continue;
                vec_remove(&book->delayed, i);
                if (r < 0) {
                        log_warn("%s", e.text);
                        continue;
                }
                log_info("share '%s' could be opened at last", held->name);
                notify(book, SHARE_MADE, held);
        }
        return book->delayed.count > 0;
}

int share_book_open(const char *state_folder, const char *boot, struct share_book **ret_book,
                    struct err *e)
{
        struct share_book *book = calloc(1, sizeof *book);

        if (!book)
                return err_set(e, -ENOMEM, "out of memory");
        list_init(&book->shares);
        list_init(&book->listeners);
        book->delayed = (struct vec)VEC_OF(char[SHARE_TEXT]);
        str_copy(book->boot, sizeof book->boot, boot);
        int r = share_folder_root(state_folder, book->folder, e);
        if (r == 0)
                r = share_folder_each(book->folder, on_folder, book, e);
        if (r == 0 && book->failure < 0)
                r = err_set(e, book->failure, "cannot take in all shares: out of memory");
        if (r < 0)
                share_book_close(book);
        else
                *ret_book = book;
        return r;
}

void share_book_close(struct share_book *book)
{
        if (!book)
                return;
        LIST_EACH (item, &book->shares)
                held_free(book, container_of(item, struct held_share, link));
        hash_done(&book->containers);
        hash_done(&book->names);
        vec_done(&book->delayed);
        free(book);
}
