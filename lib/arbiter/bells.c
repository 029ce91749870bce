/* bells: one system call for all of them, with a thread for every hundred more; or a thread for each. */
#include "bells.h"

#include <errno.h>
#include <pthread.h>

#include "clock.h"
#include "futex.h"
#include "ringer.h"

struct listener {                             /* a thread that waits for one word */
        const _Atomic uint32_t *_Atomic word; /* NULL: none */
        _Atomic bool is_over;
        pthread_t thread;
};

/* Each has its words; the sleeper has the rest. */
enum {
        RINGERS = (BELLS_MOST + RINGER_WORDS - 1) / RINGER_WORDS,
        BLIND_MS = 10, /* between looks at words for which nobody waits */
};

static struct {
        bool has_threads;
        _Atomic uint32_t any; /* futex: some word changed */
        struct listener listeners[BELLS_MOST];
        struct ringer ringers[RINGERS];
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

        for (unsigned i = 0; i < RINGERS; i++)
                if (ringer_has(&bells_state.ringers[i], word))
                        ringer_end(&bells_state.ringers[i]);
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

/* false: some have nobody who waits for them. */
static bool ringers_arm(const struct bell *bells, unsigned count)
{
        bool is_whole = true;

        for (unsigned i = 0; i < RINGERS; i++) {
                const unsigned words = count < RINGER_WORDS ? count : RINGER_WORDS;

                if (words)
                        is_whole &=
                                ringer_arm(&bells_state.ringers[i], bells, words, &bells_state.any);
                else
                        ringer_end(&bells_state.ringers[i]);
                bells += words;
                count -= words;
        }
        return is_whole;
}

/* false: the kernel cannot. */
static bool wait_by_kernel(const struct bell *bells, unsigned count, uint64_t until_ns)
{
        /* Before the ringers are looked at: one that rings afterwards ends the wait. */
        const uint32_t any = atomic_load(&bells_state.any);
        const bool is_many = count > BELLS_KERNEL_MOST;
        const unsigned own = is_many ? BELLS_KERNEL_MOST - 1 : count;
        struct futex_waitv waits[BELLS_KERNEL_MOST];
        unsigned waiting = 0;

        if (!ringers_arm(bells + own, count - own) &&
            until_ns > clock_now_ns() + BLIND_MS * NS_PER_MS)
                until_ns = clock_now_ns() + BLIND_MS * NS_PER_MS;
        const struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S),
                                        .tv_nsec = (long)(until_ns % NS_PER_S) };

        for (; waiting < own; waiting++)
                waits[waiting] = bell_waitv(&bells[waiting]);
        if (is_many)
                waits[waiting++] = bell_waitv(&(struct bell){ &bells_state.any, any });
        return syscall(SYS_futex_waitv, waits, waiting, 0, until_ns == UINT64_MAX ? NULL : &until,
                       CLOCK_MONOTONIC) >= 0 ||
               errno != ENOSYS;
}

void bells_wait(const struct bell *bells, unsigned count, uint64_t until_ns)
{
        if (!bells_state.has_threads && !wait_by_kernel(bells, count, until_ns)) {
                bells_state.has_threads = true;
                ringers_arm(NULL, 0);
        }
        if (bells_state.has_threads)
                wait_by_threads(bells, count, until_ns);
}
