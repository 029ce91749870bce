/* SPDX-License-Identifier: Apache-2.0 */
/* One system call for up to 128 words, with a relay for every 127 more; before Linux 5.16 a thread for each word. */
#include "futex_set.h"

#include <errno.h>
#include <pthread.h>

#include "clock.h"
#include "futex.h"
#include "futex_relay.h"

struct listener {                             /* a thread that waits for one word */
        const _Atomic uint32_t *_Atomic word; /* NULL: none */
        _Atomic bool is_over;
        pthread_t thread;
};

/* Each relay waits for its words; the caller waits for the others. */
enum {
        RELAYS = (FUTEX_SET_MOST + FUTEX_RELAY_WORDS - 1) / FUTEX_RELAY_WORDS,
        BLIND_MS = 10,   /* between checks of words for which nobody waits */
        LISTEN_MS = 100, /* a listener's longest sleep */
};

static struct {
        bool has_threads;
        _Atomic uint32_t any; /* futex: some word changed */
        struct listener listeners[FUTEX_SET_MOST];
        struct futex_relay relays[RELAYS];
} futex_set_state;

void futex_set_use_threads(bool is_on)
{
        futex_set_state.has_threads = is_on;
}

/* In short sleeps: a tenant that cuts its file short has its words replaced (guard.h), and who rings the new
 * one wakes nobody that sleeps on the old. */
static void listener_sleep(const struct listener *listener, const _Atomic uint32_t *word,
                           uint32_t seen)
{
        do
                futex_wait(word, seen, LISTEN_MS * NS_PER_MS);
        while (atomic_load(word) == seen && !atomic_load(&listener->is_over));
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
                futex_ring(&futex_set_state.any);
                listener_sleep(listener, word, seen);
        }
}

static struct listener *listener_find(const _Atomic uint32_t *word)
{
        for (unsigned i = 0; i < FUTEX_SET_MOST; i++)
                if (atomic_load(&futex_set_state.listeners[i].word) == word)
                        return &futex_set_state.listeners[i];
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

void futex_set_forget(const _Atomic uint32_t *word)
{
        struct listener *listener = listener_find(word);

        for (unsigned i = 0; i < RELAYS; i++)
                if (futex_relay_has(&futex_set_state.relays[i], word))
                        futex_relay_end(&futex_set_state.relays[i]);
        if (!listener)
                return;
        atomic_store(&listener->is_over, true);
        futex_ring((_Atomic uint32_t *)word);
        pthread_join(listener->thread, NULL);
        atomic_store(&listener->word, NULL);
}

static bool has_changed(const struct futex_entry *entries, unsigned count)
{
        for (unsigned i = 0; i < count; i++)
                if (atomic_load(entries[i].word) != entries[i].seen)
                        return true;
        return false;
}

static void wait_by_threads(const struct futex_entry *entries, unsigned count, uint64_t until_ns)
{
        for (unsigned i = 0; i < count; i++)
                listener_start(entries[i].word);
        for (;;) {
                const uint32_t seen = atomic_load(&futex_set_state.any);
                const uint64_t now_ns = clock_now_ns();

                if (has_changed(entries, count) || now_ns >= until_ns)
                        return;
                const uint64_t left_ns = until_ns - now_ns;
                futex_wait(&futex_set_state.any, seen, left_ns < NS_PER_S ? left_ns : NS_PER_S);
        }
}

/* false: some have nobody who waits for them. */
static bool relays_arm(const struct futex_entry *entries, unsigned count)
{
        bool is_whole = true;

        for (unsigned i = 0; i < RELAYS; i++) {
                const unsigned words = count < FUTEX_RELAY_WORDS ? count : FUTEX_RELAY_WORDS;

                if (words)
                        is_whole &= futex_relay_arm(&futex_set_state.relays[i], entries, words,
                                                    &futex_set_state.any);
                else
                        futex_relay_end(&futex_set_state.relays[i]);
                entries += words;
                count -= words;
        }
        return is_whole;
}

/* false: the kernel cannot. */
static bool wait_by_kernel(const struct futex_entry *entries, unsigned count, uint64_t until_ns)
{
        /* Read before the relays are armed: one that rings afterwards ends the wait. */
        const uint32_t any = atomic_load(&futex_set_state.any);
        const bool is_many = count > FUTEX_SET_KERNEL_MOST;
        const unsigned own = is_many ? FUTEX_SET_KERNEL_MOST - 1 : count;
        struct futex_waitv waits[FUTEX_SET_KERNEL_MOST];
        unsigned waiting = 0;

        if (!relays_arm(entries + own, count - own) &&
            until_ns > clock_now_ns() + BLIND_MS * NS_PER_MS)
                until_ns = clock_now_ns() + BLIND_MS * NS_PER_MS;
        const struct timespec until = { .tv_sec = (time_t)(until_ns / NS_PER_S),
                                        .tv_nsec = (long)(until_ns % NS_PER_S) };

        for (; waiting < own; waiting++)
                waits[waiting] = futex_entry_waitv(&entries[waiting]);
        if (is_many)
                waits[waiting++] =
                        futex_entry_waitv(&(struct futex_entry){ &futex_set_state.any, any });
        return syscall(SYS_futex_waitv, waits, waiting, 0, until_ns == UINT64_MAX ? NULL : &until,
                       CLOCK_MONOTONIC) >= 0 ||
               errno != ENOSYS;
}

void futex_set_wait(const struct futex_entry *entries, unsigned count, uint64_t until_ns)
{
        if (!futex_set_state.has_threads && !wait_by_kernel(entries, count, until_ns)) {
                futex_set_state.has_threads = true;
                relays_arm(NULL, 0);
        }
        if (futex_set_state.has_threads)
                wait_by_threads(entries, count, until_ns);
}
