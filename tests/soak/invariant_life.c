/* SPDX-License-Identifier: Apache-2.0 */
/* The processes: what they do, and the many ways in which they end. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_must.h"
#include "invariant.h"
#include "sketch.h"

static const struct {
        const char *name;
        bool waits;
} ends[INVARIANT_ENDS] = {
        [END_KILLED] = { "killed", true },
        [END_CONTEXTS] = { "contexts", true },
        [END_CHROOT] = { "chroot", true },
        [END_EXIT] = { "exit", false },
        [END_QUICK] = { "_exit", false },
        [END_SLEEP] = { "sleep", false },
        [END_ABORT] = { "abort", false },
        [END_THREAD] = { "thread", false },
        [END_FORK] = { "fork", false },
        [END_EXEC] = { "exec", true },
        [END_EXEC_OTHER] = { "exec other", false },
};

const char *invariant_end_name(enum invariant_end end)
{
        return ends[end].name;
}

bool invariant_end_waits(enum invariant_end end)
{
        return ends[end].waits;
}

static unsigned chance(unsigned *seed, unsigned sides)
{
        return (unsigned)rand_r(seed) % sides;
}

/* Short ones more often; the longest now and then. */
static unsigned kernel_choose(unsigned *seed)
{
        enum { K30MS = 7, K100MS = 8 };

        return chance(seed, 12) ? chance(seed, K30MS + 1) : K100MS;
}

static void word_choose(unsigned *seed, char *text, size_t size)
{
        static const char kinds[] = "kkkkkkkkvvgggsswhyYqqdz";
        static const unsigned spins[] = { 20, 20, 300, 3000, 30000 }; /* µs */
        const char kind = kinds[chance(seed, sizeof kinds - 1)];

        switch (kind) {
        case 'k':
                snprintf(text, size, "k%u", kernel_choose(seed));
                return;
        case 'v':
                snprintf(text, size, "v%u", spins[chance(seed, sizeof spins / sizeof spins[0])]);
                return;
        case 'g':
                snprintf(text, size, "g%u:%u", 2 + chance(seed, 7), chance(seed, 6));
                return;
        case 's':
        case 'w':
                snprintf(text, size, "%c%u", kind, chance(seed, SKETCH_STREAMS));
                return;
        case 'h':
        case 'z':
                snprintf(text, size, "%c%u", kind, 50 + chance(seed, 3000));
                return;
        default:
                snprintf(text, size, "%c", kind);
        }
}

void invariant_shape(unsigned *seed, char ret_text[INVARIANT_TEXT])
{
        const unsigned count = 1 + chance(seed, 8);
        char word[32];

        snprintf(ret_text, INVARIANT_TEXT, "k%u", kernel_choose(seed));
        for (unsigned i = 0; i < count; i++) {
                word_choose(seed, word, sizeof word);
                strcat(ret_text, ",");
                strcat(ret_text, word);
        }
        if (chance(seed, 2))
                strcat(ret_text, ",y");
}

static _Noreturn void pass_for_ever(struct sketch *sketch)
{
        for (;;)
                sketch_pass(sketch);
}

static _Noreturn void contexts_for_ever(struct sketch *sketch)
{
        CUcontext context;

        MUST(cuInit(0));
        for (;;) {
                MUST(cuCtxCreate_v2(&context, 0, 0));
                sketch_open(sketch);
                sketch_pass(sketch);
                MUST(cuCtxDestroy_v2(context));
        }
}

/* Without the right to, it stays where it is. */
static _Noreturn void work_in_another_root(struct sketch *sketch)
{
        sketch_pass(sketch);
        if (chroot("/dev/shm") == 0 && chdir("/") < 0)
                exit(1);
        pass_for_ever(sketch);
}

static void *pass_in_thread(void *argument)
{
        struct sketch *sketch = argument;
        CUcontext context;

        MUST(cuDevicePrimaryCtxRetain(&context, 0));
        MUST(cuCtxSetCurrent(context));
        sketch_pass(sketch);
        return NULL;
}

static _Noreturn void end_after_thread(struct sketch *sketch, unsigned *seed)
{
        pthread_t thread;

        if (pthread_create(&thread, NULL, pass_in_thread, sketch) != 0)
                exit(1);
        pthread_join(thread, NULL);
        usleep(chance(seed, 40000));
        exit(0);
}

static _Noreturn void end_with_child(unsigned *seed)
{
        const useconds_t us = 50000 + chance(seed, 200000);

        if (fork() == 0) {
                usleep(us);
                _exit(0);
        }
        exit(0);
}

static _Noreturn void become(enum invariant_end end, const char *text)
{
        char self[256];
        const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

        self[length > 0 ? length : 0] = '\0';
        if (end == END_EXEC)
                execl(self, "invariant", "--again", text, NULL);
        else
                execl("/bin/sleep", "sleep", "0.1", NULL);
        exit(1);
}

static _Noreturn void work_and_end(struct sketch *sketch, enum invariant_end end, unsigned *seed)
{
        const unsigned passes = 1 + chance(seed, 4);

        for (unsigned i = 1; i < passes; i++)
                sketch_pass(sketch);
        sketch_do(sketch, 0, 1 + chance(seed, sketch->count));
        if (end == END_QUICK)
                _exit(0);
        if (end == END_ABORT)
                abort();
        if (end == END_FORK)
                end_with_child(seed);
        if (end == END_SLEEP)
                usleep(chance(seed, 80000));
        exit(0);
}

void invariant_live(const char *text, enum invariant_end end, unsigned seed)
{
        static struct sketch sketch;
        char copy[INVARIANT_TEXT];

        snprintf(copy, sizeof copy, "%s", text);
        sketch_read(copy, &sketch);
        if (end == END_CONTEXTS)
                contexts_for_ever(&sketch);
        sketch_open_primary(&sketch);
        if (end == END_KILLED)
                pass_for_ever(&sketch);
        if (end == END_CHROOT)
                work_in_another_root(&sketch);
        if (end == END_THREAD)
                end_after_thread(&sketch, &seed);
        if (end == END_EXEC || end == END_EXEC_OTHER) {
                sketch_pass(&sketch);
                become(end, text);
        }
        work_and_end(&sketch, end, &seed);
}
