/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of entry: what a call meets before its body, with a library of four functions. */
#include "entry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "scope.h"
#include "unit.h"

enum { PLAIN, RECORDED, PASSES, EARLY, COUNT };

static const struct entry_function functions[] = {
        [PLAIN] = { "plain", "test", 3, false, true },
        [RECORDED] = { "recorded", "test", 400, false, true },
        [PASSES] = { "passes", "test", 0, false, true },
        [EARLY] = { "early", "test", 1, true, true },
};
const struct entry_library entry_library = { functions, COUNT, 3, 801, 3 };

static _Atomic uint32_t attention;
static _Atomic unsigned unsupported_count; /* two threads ask at once */

static bool fail_plain(const char *function, int *ret_result)
{
        *ret_result = 999;
        return !strcmp(function, "plain");
}

static void count_unsupported(const char *function)
{
        unsupported_count += !strcmp(function, "plain");
}

static const struct entry_machine machine = { .attention = &attention,
                                              .fault = fail_plain,
                                              .unsupported = count_unsupported };

static int reset(void **state)
{
        (void)state;
        entry_set_initialised(false);
        entry_attach(NULL);
        attention = 0;
        return 0;
}

/* The exit code of a child that runs `function`; 128 + the signal if one ended it. */
static int in_child(int (*function)(void))
{
        int status;
        pid_t child = fork();

        if (child == 0)
                _exit(function());
        waitpid(child, &status, 0);
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(before_initialisation_the_recorded_code_answers_zero_arguments)
{
        CHECK(!entry_is_quiet());
        CHECK_EQ(entry_begin(RECORDED, true), 400);
        CHECK_EQ(entry_begin(RECORDED, false), 3);
        CHECK_EQ(entry_begin(PASSES, true), 0);
        CHECK_EQ(entry_begin(PASSES, false), 3);
        CHECK_EQ(entry_begin(EARLY, true), ENTRY_GO);
        CHECK_EQ(entry_begin(EARLY, false), ENTRY_GO);
}

TEST(after_initialisation_calls_are_quiet)
{
        entry_set_initialised(true);
        CHECK(entry_is_quiet());
        CHECK_EQ(entry_begin(RECORDED, true), ENTRY_GO);
        entry_set_initialised(false);
        CHECK(!entry_is_quiet());
}

TEST(a_fault_strikes_only_while_the_machine_calls_attention)
{
        entry_attach(&machine);
        entry_set_initialised(true);
        CHECK(entry_is_quiet());
        attention = 1;
        CHECK(!entry_is_quiet());
        CHECK_EQ(entry_begin(PLAIN, false), 999);
        CHECK_EQ(entry_begin(RECORDED, false), ENTRY_GO);
        attention = 0;
        CHECK_EQ(entry_begin(PLAIN, false), ENTRY_GO);
}

TEST(what_is_not_simulated_is_counted_and_refused)
{
        entry_attach(&machine);
        unsupported_count = 0;
        CHECK_EQ(entry_unsupported(PLAIN), 801);
        CHECK_EQ(unsupported_count, 1);
}

static int forked_answers(void)
{
        if (!entry_is_forked() || entry_begin(PLAIN, false) != 3)
                return 1;
        return entry_begin(EARLY, false) == ENTRY_GO ? 0 : 2;
}

TEST(the_child_of_an_initialised_process_is_refused)
{
        entry_set_initialised(true);
        CHECK_EQ(in_child(forked_answers), 0);
        CHECK(!entry_is_forked());
}

static int forked_before(void)
{
        return entry_is_forked();
}

TEST(a_child_forked_before_initialisation_is_free)
{
        CHECK_EQ(in_child(forked_before), 0);
}

/* Runs this program again with `mode`, where the environment is read afresh. */
static int again(const char *mode)
{
        int status;
        pid_t child = fork();

        if (child == 0) {
                if (!freopen("/dev/null", "w", stderr))
                        _exit(126);
                execl("/proc/self/exe", "test_entry", mode, NULL);
                _exit(127);
        }
        waitpid(child, &status, 0);
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(strict_mode_ends_the_program)
{
        setenv("VGPU_SIM_STRICT", "1", 1);
        CHECK_EQ(again("unsupported"), 128 + 6);
        unsetenv("VGPU_SIM_STRICT");
        CHECK_EQ(again("unsupported"), 0);
}

TEST(the_call_log_has_each_call_in_order)
{
        char path[] = "/tmp/vgpu-test-entry-XXXXXX";
        autoclose int fd = mkstemp(path);
        autofree char *text = NULL;
        int pids[2], sequences[2], results[2];
        char names[2][16];

        CHECK(fd >= 0);
        setenv("VGPU_SIM_LOG", path, 1);
        CHECK_EQ(again("calls"), 0);
        unsetenv("VGPU_SIM_LOG");
        CHECK_EQ(file_read(path, &text), 0);
        unlink(path);
        CHECK_EQ(sscanf(text, "%d %d %15s %d\n%d %d %15s %d\n", &pids[0], &sequences[0], names[0],
                        &results[0], &pids[1], &sequences[1], names[1], &results[1]),
                 8);
        CHECK_EQ(pids[0], pids[1]);
        CHECK_EQ(sequences[0], 0);
        CHECK_EQ(sequences[1], 1);
        CHECK_STR(names[0], "recorded");
        CHECK_EQ(results[0], 400);
        CHECK_STR(names[1], "early");
        CHECK_EQ(results[1], 7);
}

TEST(a_log_that_cannot_be_written_is_no_obstacle)
{
        setenv("VGPU_SIM_LOG", "/no/such/folder/log", 1);
        CHECK_EQ(again("calls"), 0);
        unsetenv("VGPU_SIM_LOG");
}

static void *call_many(void *unused)
{
        for (unsigned i = 0; i < 2000; i++) {
                int r = entry_is_quiet() ? ENTRY_GO : entry_begin(PLAIN, false);
                if (r != ENTRY_GO && r != 3 && r != 999)
                        return (void *)1;
                entry_end(PLAIN, r);
                entry_unsupported(RECORDED);
        }
        return unused;
}

TEST(threads_may_call_while_another_initialises_and_attaches)
{
        pthread_t threads[4];
        void *failed;

        for (unsigned i = 0; i < 4; i++)
                CHECK_EQ(pthread_create(&threads[i], NULL, call_many, NULL), 0);
        for (unsigned i = 0; i < 500; i++) {
                entry_set_initialised(i % 2);
                entry_attach(i % 3 ? &machine : NULL);
                attention = i % 5 == 0;
        }
        for (unsigned i = 0; i < 4; i++) {
                pthread_join(threads[i], &failed);
                CHECK(!failed);
        }
}

static int run_mode(const char *mode)
{
        if (!strcmp(mode, "calls")) {
                entry_end(RECORDED, entry_begin(RECORDED, true));
                entry_begin(EARLY, true);
                return entry_end(EARLY, 7) == 7 ? 0 : 1;
        }
        entry_begin(PLAIN, true);
        return entry_unsupported(PLAIN) == 801 ? 0 : 1;
}

#define FRESH(name) cmocka_unit_test_setup(name, reset)

int main(int argc, char **argv)
{
        if (argc > 1)
                return run_mode(argv[1]);
        return RUN(FRESH(before_initialisation_the_recorded_code_answers_zero_arguments),
                   FRESH(after_initialisation_calls_are_quiet),
                   FRESH(a_fault_strikes_only_while_the_machine_calls_attention),
                   FRESH(what_is_not_simulated_is_counted_and_refused),
                   FRESH(the_child_of_an_initialised_process_is_refused),
                   FRESH(a_child_forked_before_initialisation_is_free),
                   FRESH(strict_mode_ends_the_program), FRESH(the_call_log_has_each_call_in_order),
                   FRESH(a_log_that_cannot_be_written_is_no_obstacle),
                   FRESH(threads_may_call_while_another_initialises_and_attaches));
}
