/* SPDX-License-Identifier: Apache-2.0 */
/* invariant [--tap] SECONDS [SEED]: programs made up at random under a limit of GPU time, ended at random: killed,
 * stopped, aborted, by exit() in the middle of their work, by becoming another program. What the simulated GPU did for
 * them is charged to their container: over any second all but one launch per process, in the end all.
 *
 * Run with libvgpu.so preloaded. `invariant --again SHAPE` is a program that another one has become. */
#include "invariant.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "say.h"
#include "sketch.h"

enum { EPISODE_S = 5, RUNNERS_MOST = 6, STOP_MS = 300, MISSING_PART = 33 };
#define SAMPLE_NS (2 * NS_PER_MS)

static const unsigned limits[] = { 5, 10, 25, 50, 80, 99 };
static const unsigned lives_ms[] = { 40, 150, 700 }; /* until somebody hurts them, at most */
static const int signals[] = { SIGKILL, SIGKILL, SIGTERM, SIGSEGV, SIGSTOP };

struct runner {
        pid_t pid; /* 0: none yet */
        unsigned life, program;
        enum invariant_end end;
        uint64_t act_ns; /* when it is to be hurt; 0: it ends by itself */
        int signal;
};

struct episode {
        struct invariant_watch *watch;
        char machine_path[64], region_path[80];
        unsigned seed, limit, life_ms, programs, runners;
        char shapes[RUNNERS_MOST][INVARIANT_TEXT];
        struct runner running[RUNNERS_MOST];
        unsigned wrong, ends[INVARIANT_ENDS];
};

static unsigned chance(struct episode *episode, unsigned sides)
{
        return (unsigned)rand_r(&episode->seed) / 7 % sides;
}

static double word_us(const struct sketch_step *word)
{
        switch (word->letter) {
        case 'k':
                return sketch_kernels[word->first % SKETCH_KERNELS].microseconds;
        case 'g':
                return word->first * sketch_kernels[word->second % SKETCH_KERNELS].microseconds;
        case 'v':
                return word->first;
        default:
                return 0;
        }
}

/* The longest kernel or graph among its words. */
static double longest_us(const char *text)
{
        struct sketch sketch = { 0 };
        char copy[INVARIANT_TEXT];
        double longest = 0;

        snprintf(copy, sizeof copy, "%s", text);
        sketch_read(copy, &sketch);
        for (unsigned i = 0; i < sketch.count; i++)
                longest = word_us(&sketch.words[i]) > longest ? word_us(&sketch.words[i]) : longest;
        return longest;
}

static pid_t process_start(const char *shape, enum invariant_end end, unsigned seed)
{
        fflush(NULL);
        const pid_t pid = fork();

        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                invariant_live(shape, end, seed);
        }
        return pid;
}

static void runner_start(struct episode *episode, struct runner *runner)
{
        struct invariant_watch *watch = episode->watch;

        if (watch->life_count == INVARIANT_LIVES)
                return;
        runner->end = (enum invariant_end)chance(episode, INVARIANT_ENDS);
        runner->signal = signals[chance(episode, sizeof signals / sizeof signals[0])];
        runner->life = watch->life_count++;
        const bool is_hurt = invariant_end_waits(runner->end) || chance(episode, 4) == 0;
        const uint64_t now_ns = clock_now_ns();
        runner->act_ns = is_hurt ? now_ns + (5 + chance(episode, episode->life_ms)) * NS_PER_MS : 0;
        watch->lives[runner->life] = (struct invariant_life){
                .begin_ns = now_ns,
                .longest_ns = (uint64_t)(longest_us(episode->shapes[runner->program]) *
                                         (double)NS_PER_US),
                .programs = runner->end == END_EXEC ? 2 : 1,
        };
        runner->pid = process_start(episode->shapes[runner->program], runner->end,
                                    (unsigned)rand_r(&episode->seed));
}

/* Stopped, it goes on a while later, and is killed a while after that. */
static void runner_hurt(struct episode *episode, struct runner *runner, uint64_t now_ns)
{
        kill(runner->pid, runner->signal);
        episode->watch->lives[runner->life].was_stopped |= runner->signal == SIGSTOP;
        runner->act_ns = now_ns + (5 + chance(episode, STOP_MS)) * NS_PER_MS;
        runner->signal = runner->signal == SIGSTOP ? SIGCONT : SIGKILL;
}

/* In another root libvgpu.so may miss what it needs, and refuses then. */
static bool is_wrong(const struct runner *runner, int status)
{
        return WIFEXITED(status) && WEXITSTATUS(status) != 0 && runner->end != END_CHROOT;
}

static void runner_step(struct episode *episode, struct runner *runner)
{
        const uint64_t now_ns = clock_now_ns();
        int status;

        if (runner->pid && waitpid(runner->pid, &status, WNOHANG) == runner->pid) {
                episode->watch->lives[runner->life].end_ns = now_ns;
                episode->wrong += is_wrong(runner, status);
                episode->ends[runner->end]++;
                runner->pid = 0;
        }
        if (!runner->pid)
                runner_start(episode, runner);
        else if (runner->act_ns && now_ns >= runner->act_ns)
                runner_hurt(episode, runner, now_ns);
}

static void runners_end(struct episode *episode)
{
        for (unsigned i = 0; i < episode->runners; i++) {
                struct runner *runner = &episode->running[i];

                if (!runner->pid)
                        continue;
                kill(runner->pid, SIGKILL);
                waitpid(runner->pid, NULL, 0);
                episode->watch->lives[runner->life].end_ns = clock_now_ns();
                episode->ends[runner->end]++;
        }
}

/* A process that comes and goes: it looks for the dead. */
static void visit(void)
{
        static const char shape[] = "k0,y";
        const pid_t pid = process_start(shape, END_EXIT, 0);

        waitpid(pid, NULL, 0);
}

static void episode_open(struct episode *episode, struct invariant_watch *watch, unsigned seed)
{
        struct machine_spec spec;
        struct err e = { 0 };
        char text[16];

        /* Seeds that follow each other are to have little in common. */
        *episode = (struct episode){ .watch = watch, .seed = seed * 2654435761u };
        watch->sample_count = watch->life_count = 0;
        episode->limit = limits[chance(episode, sizeof limits / sizeof limits[0])];
        episode->life_ms = lives_ms[chance(episode, sizeof lives_ms / sizeof lives_ms[0])];
        episode->runners = 1 + chance(episode, RUNNERS_MOST);
        episode->programs = 1 + chance(episode, 3);
        for (unsigned i = 0; i < episode->programs; i++)
                invariant_shape(&episode->seed, episode->shapes[i]);
        for (unsigned i = 0; i < episode->runners; i++)
                episode->running[i].program = i % episode->programs;
        machine_spec_init(&spec);
        spec.kernels = sketch_kernels;
        spec.kernel_count = SKETCH_KERNELS;
        snprintf(episode->machine_path, sizeof episode->machine_path, "/dev/shm/vgpu-invariant-%d",
                 (int)getpid());
        snprintf(episode->region_path, sizeof episode->region_path, "%s-region",
                 episode->machine_path);
        snprintf(text, sizeof text, "%u", episode->limit);
        setenv("VGPU_SIM", episode->machine_path, 1);
        setenv("VGPU_REGION", episode->region_path, 1);
        setenv("VGPU_CORES", text, 1);
        if (machine_create(episode->machine_path, &spec, &e) == 0 &&
            machine_open(episode->machine_path, &watch->machine, &e) == 0) {
                visit();
                if (region_open(episode->region_path, 1, &watch->region, &e) == 0)
                        return;
        }
        printf("Bail out! %s\n", e.text);
        exit(2);
}

static void episode_close(struct episode *episode)
{
        region_close(&episode->watch->region);
        machine_close(&episode->watch->machine);
        unlink(episode->machine_path);
        unlink(episode->region_path);
}

static void episode_run(struct episode *episode)
{
        const uint64_t end_ns = clock_now_ns() + EPISODE_S * NS_PER_S;

        invariant_sample(episode->watch);
        while (clock_now_ns() < end_ns) {
                for (unsigned i = 0; i < episode->runners; i++)
                        runner_step(episode, &episode->running[i]);
                nanosleep(&(struct timespec){ .tv_nsec = SAMPLE_NS }, NULL);
                invariant_sample(episode->watch);
        }
        runners_end(episode);
        usleep(20000);
        visit();
        invariant_sample(episode->watch);
}

static void episode_print(const struct episode *episode, unsigned seed,
                          const struct invariant_verdict *v)
{
        printf("# seed %u: limit %u, %u at a time, %u lives, done %.0f ms, charged %.0f; worst "
               "second "
               "%.1f ms at %.2f s; late %.1f ms\n",
               seed, episode->limit, episode->runners, episode->watch->life_count,
               (double)v->done_ns / 1e6, (double)v->charged_ns / 1e6, (double)v->worst_ns / 1e6,
               (double)v->worst_at_ns / 1e9, (double)v->late_ns / 1e6);
        for (unsigned i = 0; i < episode->programs; i++)
                printf("#   %s\n", episode->shapes[i]);
}

/* Of all episodes: what the host's delays cost is little then, and evens out. */
struct total {
        uint64_t done_ns, charged_ns;
        unsigned ends[INVARIANT_ENDS];
};

static void episode_judge(const struct episode *episode, unsigned seed, struct total *total)
{
        struct invariant_verdict v;

        invariant_judge(episode->watch, &v);
        total->done_ns += v.done_ns;
        total->charged_ns += v.charged_ns;
        for (unsigned i = 0; i < INVARIANT_ENDS; i++)
                total->ends[i] += episode->ends[i];
        episode_print(episode, seed, &v);
        say(v.windows > 0 && v.worst_ns <= 0,
            "over any second the container is charged what was done, less a launch per process "
            "(of %u at most %.1f ms more are missing)",
            v.windows, v.worst_ns > 0 ? (double)v.worst_ns / 1e6 : 0.0);
        say(v.done_ns > 0 && v.charged_ns + v.allowed_ns >= v.done_ns,
            "in the end it is charged %.0f of %.0f ms (up to %.0f may have gone unseen)",
            (double)v.charged_ns / 1e6, (double)v.done_ns / 1e6, (double)v.allowed_ns / 1e6);
        say(v.charged_ns <= v.done_ns + v.done_ns / 4 + 2 * v.allowed_ns,
            "and not much more than was done");
        say(episode->wrong == 0, "every process worked until its end (%u did not)", episode->wrong);
}

static void ends_print(const unsigned ends[INVARIANT_ENDS])
{
        printf("# ends:");
        for (unsigned i = 0; i < INVARIANT_ENDS; i++)
                printf(" %s %u", invariant_end_name((enum invariant_end)i), ends[i]);
        putchar('\n');
}

static void episodes_run(unsigned seconds, unsigned seed)
{
        static struct invariant_watch watch;
        static struct episode episode;
        struct total total = { 0 };

        say_open();
        for (unsigned i = 0; i < (seconds + EPISODE_S - 1) / EPISODE_S; i++) {
                episode_open(&episode, &watch, seed + i);
                episode_run(&episode);
                episode_judge(&episode, seed + i, &total);
                episode_close(&episode);
        }
        ends_print(total.ends);
        say(total.charged_ns >= total.done_ns - total.done_ns / MISSING_PART,
            "of all that was done hardly anything is missing (%.1f of %.1f s are charged)",
            (double)total.charged_ns / 1e9, (double)total.done_ns / 1e9);
}

int main(int argc, char **argv)
{
        if (argc == 3 && strcmp(argv[1], "--again") == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                invariant_live(argv[2], END_KILLED, 0);
        }
        const bool is_tap = argc > 1 && strcmp(argv[1], "--tap") == 0;
        char **words = argv + 1 + is_tap;
        const unsigned seconds = *words ? (unsigned)strtoul(*words, NULL, 10) : 0;

        if (!seconds) {
                fputs("Usage: invariant [--tap] SECONDS [SEED]\n", stderr);
                return 2;
        }
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
        episodes_run(seconds,
                     words[1] ? (unsigned)strtoul(words[1], NULL, 10) : (unsigned)time(NULL));
        return say_close(is_tap);
}
