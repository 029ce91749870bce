/* SPDX-License-Identifier: Apache-2.0 */
/* The arbiter's thread. The loop queues what it wants (wishes) under a lock, and rings. */
#include "node_arbiter.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "arbiter.h"
#include "clock.h"
#include "file.h"
#include "futex.h"
#include "lease_break.h"
#include "log.h"
#include "vec.h"

enum { STACK_BYTES = 256 << 10 };
/* A container can keep its files from being opened for a while (a lease, fcntl(2)): it is asked again. */
#define AGAIN_NS (100 * NS_PER_MS)
#define TRIM_NS  (100 * NS_PER_MS) /* a sleep longer than this is worth letting pages go */

enum wish_kind { WISH_ADD, WISH_REMOVE, WISH_OBSERVE };

struct wish {
        enum wish_kind kind;
        unsigned device;
        uint64_t unreported_ns;
        char path[SHARE_TEXT];
};

struct node_arbiter {
        pthread_t thread;
        struct share_book *book;
        struct share_listener listener;
        _Atomic uint32_t members; /* futex: there are wishes, or it is to end */
        _Atomic bool is_ending;
        _Atomic bool is_behind; /* for want of memory a share was not added: all are added again */
        pthread_mutex_t lock;   /* of wishes */
        struct vec wishes;      /* of struct wish, in order */
        struct arbiter *arbiter;
        struct vec again; /* of struct wish: the thread's own, to be tried again */
};

static void wish(struct node_arbiter *arbiter, const struct wish *wish)
{
        pthread_mutex_lock(&arbiter->lock);
        const int r = vec_push(&arbiter->wishes, wish);
        pthread_mutex_unlock(&arbiter->lock);
        if (r < 0)
                atomic_store(&arbiter->is_behind, true);
        futex_ring(&arbiter->members);
}

static void wish_share(struct node_arbiter *arbiter, enum wish_kind kind, const char *path)
{
        struct wish new = { .kind = kind };

        snprintf(new.path, sizeof new.path, "%s", path);
        wish(arbiter, &new);
}

void node_arbiter_add(struct node_arbiter *arbiter, const char *share_path)
{
        wish_share(arbiter, WISH_ADD, share_path);
}

void node_arbiter_remove(struct node_arbiter *arbiter, const char *share_path)
{
        wish_share(arbiter, WISH_REMOVE, share_path);
}

void node_arbiter_observe(struct node_arbiter *arbiter, const char *share_path, unsigned device,
                          uint64_t unreported_ns)
{
        struct wish new = { .kind = WISH_OBSERVE,
                            .device = device,
                            .unreported_ns = unreported_ns };

        snprintf(new.path, sizeof new.path, "%s", share_path);
        wish(arbiter, &new);
}

/* Not yet, where file_error_passes(). */
static int share_add(struct node_arbiter *arbiter, const char *path)
{
        struct err e = { 0 };
        const int r = arbiter_add(arbiter->arbiter, path, &e);

        if (r < 0 && !file_error_passes(r))
                log_warn("a container gets no time slices: %s", e.text);
        if (r == -EAGAIN)
                lease_break(path);
        return r;
}

static void again_forget(struct node_arbiter *arbiter, const char *path)
{
        for (size_t i = arbiter->again.count; i-- > 0;)
                if (strcmp(((struct wish *)vec_at(&arbiter->again, i))->path, path) == 0)
                        vec_remove(&arbiter->again, i);
}

static void again_try(struct node_arbiter *arbiter)
{
        for (size_t i = arbiter->again.count; i-- > 0;)
                if (!file_error_passes(
                            share_add(arbiter, ((struct wish *)vec_at(&arbiter->again, i))->path)))
                        vec_remove(&arbiter->again, i);
}

static void wish_grant(struct node_arbiter *arbiter, const struct wish *wish)
{
        switch (wish->kind) {
        case WISH_ADD:
                if (file_error_passes(share_add(arbiter, wish->path)) &&
                    vec_push(&arbiter->again, wish) < 0)
                        atomic_store(&arbiter->is_behind, true);
                break;
        case WISH_REMOVE:
                again_forget(arbiter, wish->path);
                arbiter_remove(arbiter->arbiter, wish->path);
                break;
        case WISH_OBSERVE:
                arbiter_observe(arbiter->arbiter, wish->path, wish->device, wish->unreported_ns);
                break;
        }
}

/* What was wished for, taken away from the loop in one step. */
static void wishes_grant(struct node_arbiter *arbiter)
{
        struct vec wishes = VEC_OF(struct wish);

        pthread_mutex_lock(&arbiter->lock);
        const struct vec taken = arbiter->wishes;
        arbiter->wishes = wishes;
        pthread_mutex_unlock(&arbiter->lock);
        wishes = taken;
        arbiter_set_off(arbiter->arbiter, arbiter_finds_mps());
        for (size_t i = 0; i < wishes.count; i++)
                wish_grant(arbiter, vec_at(&wishes, i));
        vec_done(&wishes);
}

static void *arbiter_main(void *argument)
{
        struct node_arbiter *arbiter = argument;
        uint32_t members = atomic_load(&arbiter->members) - 1;

        prctl(PR_SET_NAME, "vgpu-arbiter");
        for (;;) {
                /* Before is_ending is read: whoever sets it rings afterwards, and that ring is not
                 * taken for one that was heard. */
                const uint32_t now = atomic_load(&arbiter->members);

                if (atomic_load(&arbiter->is_ending))
                        break;
                if (now != members)
                        wishes_grant(arbiter);
                members = now;
                again_try(arbiter);
                const uint64_t again_ns =
                        arbiter->again.count ? clock_now_ns() + AGAIN_NS : UINT64_MAX;
                const uint64_t step_ns = arbiter_step(arbiter->arbiter);
                const uint64_t until_ns = step_ns < again_ns ? step_ns : again_ns;

                if (until_ns > clock_now_ns() + TRIM_NS)
                        arbiter_trim(arbiter->arbiter);
                arbiter_wait(arbiter->arbiter, until_ns, members);
        }
        arbiter_free(arbiter->arbiter); /* its tenants learn that nobody arbitrates any more */
        return NULL;
}

static void on_share(struct share_listener *listener, enum share_change change,
                     struct held_share *held)
{
        struct node_arbiter *arbiter = container_of(listener, struct node_arbiter, listener);

        if (change == SHARE_MADE)
                wish_share(arbiter, WISH_ADD, held->path);
        if (change == SHARE_GONE)
                wish_share(arbiter, WISH_REMOVE, held->path);
        if (change == SHARE_CHANGED)
                futex_ring(&arbiter->members); /* its neighbours may need time slices now */
}

static void add_held(void *owner, struct held_share *held)
{
        wish_share(owner, WISH_ADD, held->path);
}

void node_arbiter_catch_up(struct node_arbiter *arbiter)
{
        if (atomic_exchange(&arbiter->is_behind, false))
                share_book_each(arbiter->book, add_held, arbiter);
}

/* Signals are the loop's, but for the one of a file that was truncated. */
static int thread_start(struct node_arbiter *arbiter)
{
        pthread_attr_t attributes;
        sigset_t set, before;

        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        sigfillset(&set);
        sigdelset(&set, SIGBUS);
        pthread_sigmask(SIG_SETMASK, &set, &before);
        const int r = pthread_create(&arbiter->thread, &attributes, arbiter_main, arbiter);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        return -r;
}

int node_arbiter_new(struct share_book *book, struct node_arbiter **ret_arbiter)
{
        struct node_arbiter *arbiter = calloc(1, sizeof *arbiter);

        if (!arbiter)
                return -ENOMEM;
        arbiter->wishes = (struct vec)VEC_OF(struct wish);
        arbiter->again = (struct vec)VEC_OF(struct wish);
        arbiter->arbiter = arbiter_new(&arbiter->members);
        pthread_mutex_init(&arbiter->lock, NULL);
        const int r = arbiter->arbiter ? thread_start(arbiter) : -ENOMEM;
        if (r < 0) {
                arbiter_free(arbiter->arbiter);
                pthread_mutex_destroy(&arbiter->lock);
                free(arbiter);
                return r;
        }
        arbiter->book = book;
        arbiter->listener.on_share = on_share;
        share_book_listen(book, &arbiter->listener);
        share_book_each(book, add_held, arbiter);
        *ret_arbiter = arbiter;
        return 0;
}

void node_arbiter_free(struct node_arbiter *arbiter)
{
        if (!arbiter)
                return;
        share_book_unlisten(&arbiter->listener);
        atomic_store(&arbiter->is_ending, true);
        futex_ring(&arbiter->members);
        pthread_join(arbiter->thread, NULL);
        vec_done(&arbiter->wishes);
        vec_done(&arbiter->again);
        pthread_mutex_destroy(&arbiter->lock);
        free(arbiter);
}
