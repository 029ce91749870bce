/* bells: one system call for all of them, or a thread for each. */
#include "bells.h"

#include <errno.h>
#include <pthread.h>

#include "clock.h"
#include "futex.h"

struct listener {                             /* a thread that waits for one word */
        const _Atomic uint32_t *_Atomic word; /* NULL: none */
        _Atomic bool is_over;
        pthread_t thread;
};

static struct {
        bool has_threads;
        _Atomic uint32_t any; /* futex: some word changed */
        struct listener listeners[BELLS_MOST];
} bells_state;

void bells_use_threads(bool is_on)
{
        bells_state.has_threads = is_on;
}

static void *listener_run(void *argument)
{
        struct listener *listener = argument;
        const _Atomic uint32_t *word = atomic_load(&listener->word);

        for (;;) {
                const uint32_t seen = atomic_load(word);

                /* The word first: it changes after this flag. */
                if (atomic_load(&listener->is_over))
                        return NULL;
                futex_ring(&bells_state.any);
                futex_wait(word, seen, 3600 * NS_PER_S);
        }
}

static struct listener *listener_find(const _Atomic uint32_t *word)
{
        for (unsigned i = 0; i < BELLS_MOST; i++)
                if (atomic_load(&bells_state.listeners[i].word) == word)
                        return &bells_state.listeners[i];
        return NULL;
}

static void listener_start(const _Atomic uint32_t *word)
{
        struct listener *listener = listener_find(word) ? NULL : listener_find(NULL);

        if (!listener)
                return;
        atomic_store(&listener->is_over, false);
        atomic_store(&listener->word, word);
        if (pthread_create(&listener->thread, NULL, listener_run, listener) != 0)
                atomic_store(&listener->word, NULL);
}

void bells_forget(const _Atomic uint32_t *word)
{
        struct listener *listener = listener_find(word);

        if (!listener)
                return;
        atomic_store(&listener->is_over, true);
        futex_ring((_Atomic uint32_t *)word);
        pthread_join(listener->thread, NULL);
        atomic_store(&listener->word, NULL);
}

static bool has_changed(const struct bell *bells, unsigned count)
{
        for (unsigned i = 0; i < count; i++)
                if (atomic_load(bells[i].word) != bells[i].seen)
                        return true;
        return false;
}

static void wait_by_threads(const struct bell *bells, unsigned count, uint64_t until_ns)
{
        for (unsigned i = 0; i < count; i++)
                listener_start(bells[i].word);
        for (;;) {
                const uint32_t seen = atomic_load(&bells_state.any);
                const uint64_t now_ns = clock_now_ns();

                if (has_changed(bells, count) || now_ns >= until_ns)
                        return;
                const uint64_t left_ns = until_ns - now_ns;
                futex_wait(&bells_state.any, seen, left_ns < NS_PER_S ? left_ns : NS_PER_S);
        }
}

void bells_wait(const struct bell *bells, unsigned count, uint64_t until_ns)
{
        struct futex_waitv waits[BELLS_MOST];
        const struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S),
                                        .tv_nsec = (long)(until_ns % NS_PER_S) };

        for (unsigned i = 0; i < count; i++)
                waits[i] = (struct futex_waitv){
                        .val = bells[i].seen,
                        .uaddr = (uint64_t)(uintptr_t)bells[i].word,
                        .flags = FUTEX_32,
                };
        if (!bells_state.has_threads &&
            syscall(SYS_futex_waitv, waits, count, 0, until_ns == UINT64_MAX ? NULL : &until,
                    CLOCK_MONOTONIC) < 0)
                bells_state.has_threads = errno == ENOSYS;
        if (bells_state.has_threads)
                wait_by_threads(bells, count, until_ns);
}
