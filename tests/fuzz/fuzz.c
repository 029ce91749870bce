/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz: changes inputs at random, keeps those that reach new code, reports what crashes or hangs.
 *
 * usage: fuzz_NAME SECONDS [SEED FILE]…        prints TAP
 *        fuzz_NAME --least TO [SEED FILE]…     writes those of them that are needed to reach what all reach
 *
 * A file NAME.inputs holds many (inputs.h). With FUZZ_KEEP=FOLDER what is kept is added to one there.
 *
 * Compiled with -fsanitize-coverage=trace-pc (make fuzz) it is guided by coverage; without, it tries
 * the seeds and blind changes of them. The work is done in a child, so that an input that kills it
 * is still there to be saved. */
#include "fuzz.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "inputs.h"

enum {
        EDGES = 1 << 16,
        INPUT_MOST = INPUTS_BYTES,
        CORPUS_MOST = 4096,
        HANG_S = 20,
};

/* Shared with the child. */
struct run {
        volatile uint64_t count;
        volatile uint32_t edges;
        volatile uint32_t kept;
        size_t length;
        uint8_t input[INPUT_MOST];
};

struct input {
        uint8_t *bytes;
        size_t length;
};

struct corpus {
        struct input items[CORPUS_MOST];
        unsigned count;
};

static struct {
        uint8_t hit[EDGES];              /* by this input … */
        uint32_t hits[EDGES], hit_count; /* … and which */
        uint8_t seen[EDGES];             /* by any input */
        uintptr_t last;
        uint64_t random;
} fuzz;

#ifdef __clang__
#define UNCOVERED __attribute__((no_sanitize("coverage")))
#else
#define UNCOVERED __attribute__((no_sanitize_coverage))
#endif

void __sanitizer_cov_trace_pc(void);
UNCOVERED void __sanitizer_cov_trace_pc(void)
{
        uintptr_t here = (uintptr_t)__builtin_return_address(0);
        uintptr_t edge = here ^ (fuzz.last >> 1);

        edge = (edge ^ (edge >> 16)) % EDGES;
        if (!fuzz.hit[edge]) {
                fuzz.hit[edge] = 1;
                fuzz.hits[fuzz.hit_count++] = (uint32_t)edge;
        }
        fuzz.last = here;
}

static uint32_t random_below(uint32_t limit)
{
        fuzz.random ^= fuzz.random << 13;
        fuzz.random ^= fuzz.random >> 7;
        fuzz.random ^= fuzz.random << 17;
        return (uint32_t)((fuzz.random >> 32) * limit >> 32);
}

static void corpus_add(struct corpus *corpus, const uint8_t *bytes, size_t length)
{
        unsigned at = corpus->count < CORPUS_MOST ? corpus->count++ : random_below(CORPUS_MOST);

        free(corpus->items[at].bytes);
        corpus->items[at].bytes = malloc(length ? length : 1);
        memcpy(corpus->items[at].bytes, bytes, length);
        corpus->items[at].length = length;
}

static void corpus_take(void *corpus, const uint8_t *bytes, size_t length)
{
        corpus_add(corpus, bytes, length);
}

static void corpus_read(struct corpus *corpus, const char *path)
{
        if (inputs_read(path, corpus_take, corpus) < 0) {
                fprintf(stderr, "cannot read the seed '%s'\n", path);
                exit(2);
        }
}

static void insert(struct run *run, size_t at, const void *bytes, size_t length)
{
        if (run->length + length > INPUT_MOST)
                return;
        memmove(run->input + at + length, run->input + at, run->length - at);
        memcpy(run->input + at, bytes, length);
        run->length += length;
}

static void cut(struct run *run, size_t at, size_t length)
{
        if (length > run->length - at)
                length = run->length - at;
        memmove(run->input + at, run->input + at + length, run->length - at - length);
        run->length -= length;
}

static const char *random_word(void)
{
        unsigned count = 0;

        while (fuzz_words && fuzz_words[count])
                count++;
        return count ? fuzz_words[random_below(count)] : "0";
}

/* One change. */
static void change(struct run *run, const struct corpus *corpus)
{
        static const uint64_t numbers[] = { 0,          1,          0x7f,      0x80,
                                            0xff,       0x7fff,     0xffff,    0x7fffffff,
                                            0x80000000, 0xffffffff, UINT64_MAX };
        size_t at = run->length ? random_below((uint32_t)run->length) : 0;
        unsigned other = random_below(corpus->count);
        uint64_t number = numbers[random_below(sizeof numbers / sizeof *numbers)];
        size_t width = (size_t)1 << random_below(4);
        uint8_t byte = (uint8_t)random_below(256);
        const char *word = random_word();

        switch (run->length ? random_below(8) : 3 + random_below(3)) {
        case 0:
                run->input[at] ^= (uint8_t)(1u << random_below(8));
                break;
        case 1:
                run->input[at] = byte;
                break;
        case 2:
                memcpy(run->input + at, &number,
                       width < run->length - at ? width : run->length - at);
                break;
        case 3:
                insert(run, at, &byte, 1);
                break;
        case 4:
                insert(run, at, word, strlen(word));
                break;
        case 5:
                insert(run, at, corpus->items[other].bytes,
                       random_below((uint32_t)corpus->items[other].length + 1));
                break;
        case 6:
                cut(run, at, 1 + random_below(16));
                break;
        default:
                cut(run, at, run->length / 2);
                break;
        }
}

/* True when the input reached code that none before it reached. */
static bool try_input(struct run *run)
{
        bool is_new = false;
        uint8_t *bytes = malloc(run->length ? run->length : 1);

        memcpy(bytes, run->input, run->length);
        fuzz.last = 0;
        fuzz_one(bytes, run->length);
        free(bytes);
        run->count++;
        while (fuzz.hit_count) {
                uint32_t edge = fuzz.hits[--fuzz.hit_count];
                fuzz.hit[edge] = 0;
                if (!fuzz.seen[edge]) {
                        fuzz.seen[edge] = 1;
                        run->edges++;
                        is_new = true;
                }
        }
        return is_new;
}

static void load(struct run *run, const struct corpus *corpus, unsigned item)
{
        run->length = corpus->items[item].length;
        memcpy(run->input, corpus->items[item].bytes, run->length);
}

static void keep(struct run *run, struct corpus *corpus, const char *kept_path)
{
        corpus_add(corpus, run->input, run->length);
        run->kept++;
        if (*kept_path)
                inputs_append(kept_path, run->input, run->length);
}

static void work(struct run *run, struct corpus *corpus, uint64_t end_ns, const char *kept_path)
{
        unsigned seeds = corpus->count;

        for (unsigned i = 0; i < seeds; i++) {
                load(run, corpus, i);
                try_input(run);
        }
        while (clock_now_ns() < end_ns) {
                load(run, corpus, random_below(corpus->count));
                for (unsigned changes = 1 + random_below(4); changes; changes--)
                        change(run, corpus);
                if (try_input(run))
                        keep(run, corpus, kept_path);
        }
        _exit(0);
}

static int by_length(const void *a, const void *b)
{
        const struct input *one = a, *other = b;

        return (one->length > other->length) - (one->length < other->length);
}

/* Short ones first: what a long one reaches, several short ones may. */
static void least(struct run *run, struct corpus *corpus, const char *path)
{
        unlink(path);
        qsort(corpus->items, corpus->count, sizeof corpus->items[0], by_length);
        for (unsigned i = 0; i < corpus->count; i++) {
                load(run, corpus, i);
                if (try_input(run) && inputs_append(path, run->input, run->length) < 0)
                        _exit(2);
        }
        _exit(0);
}

/* Waits for the child; NULL when all went well, else what happened. */
static const char *watch(pid_t child, const struct run *run)
{
        uint64_t count = 0;
        time_t since = time(NULL);
        int status;

        while (waitpid(child, &status, WNOHANG) == 0) {
                if (run->count != count) {
                        count = run->count;
                        since = time(NULL);
                } else if (time(NULL) - since > HANG_S) {
                        kill(child, SIGKILL);
                        waitpid(child, &status, 0);
                        return "hangs";
                }
                nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
        }
        return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "crashes";
}

static void save(const struct run *run, const char *name)
{
        char path[256];

        snprintf(path, sizeof path, "/tmp/crash-%s-%d", name, (int)getpid());
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd >= 0 && write(fd, run->input, run->length) == (ssize_t)run->length)
                printf("# the input is in %s\n", path);
        if (fd >= 0)
                close(fd);
        inputs_print(run->input, run->length);
}

static const char *kept_path_of(const char *name)
{
        static char path[512];
        const char *folder = getenv("FUZZ_KEEP");

        if (folder && *folder)
                snprintf(path, sizeof path, "%.400s/%s.inputs", folder, name + strlen("fuzz_"));
        return path;
}

int main(int argc, char **argv)
{
        static struct corpus corpus;
        const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
        struct run *run =
                mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        const bool is_least = argc > 2 && strcmp(argv[1], "--least") == 0;
        if (argc < 2 || run == MAP_FAILED)
                return 2;
        fuzz.random = UINT64_C(0x9e3779b97f4a7c15) ^ clock_now_ns();
        for (int i = 2 + is_least; i < argc; i++)
                corpus_read(&corpus, argv[i]);
        if (!corpus.count)
                corpus_add(&corpus, (const uint8_t *)"", 0);

        uint64_t end_ns = clock_now_ns() + (uint64_t)(atof(argv[1]) * (double)NS_PER_S);
        pid_t child = fork();
        if (child == 0 && is_least)
                least(run, &corpus, argv[2]);
        if (child == 0)
                work(run, &corpus, end_ns, kept_path_of(name));
        const char *trouble = watch(child, run);
        if (trouble) {
                printf("not ok 1 - %s %s\n", name, trouble);
                save(run, name);
        } else {
                printf("ok 1 - %s: %llu inputs, %u places of code, %u inputs kept\n", name,
                       (unsigned long long)run->count, run->edges, run->kept);
        }
        printf("1..1\n");
        return trouble ? 1 : 0;
}
