/* SPDX-License-Identifier: Apache-2.0 */
/* command_line: what an OCI runtime is told, among options that are not all known. */
#include "command_line.h"

#include <string.h>

#include "unit.h"

static struct command_line read_arguments(const char *text)
{
        static char copy[256];
        static char *words[32];
        int count = 1;

        words[0] = "vgpu-runtime";
        strcpy(copy, text);
        for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
                words[count++] = word;
        return command_line_read(count, words);
}

TEST(containerds_own)
{
        const struct command_line line = read_arguments(
                "--root /run/containerd/runc/k8s.io --log /b/log.json --log-format json "
                "--systemd-cgroup create --bundle /b --pid-file /b/init.pid c1");

        CHECK(command_line_starts(&line) && !command_line_deletes(&line));
        CHECK_STR(line.root, "/run/containerd/runc/k8s.io");
        CHECK_STR(line.log, "/b/log.json");
        CHECK(line.is_log_json);
        CHECK_STR(line.bundle, "/b");
        CHECK_STR(line.id, "c1");
}

TEST(every_way_to_say_bundle)
{
        const char *const ways[] = { "run --bundle /b c1", "run --bundle=/b c1", "run -b /b c1",
                                     "run -b=/b c1",       "run -bundle /b c1",  "run -b/b c1",
                                     "run c1 --bundle /b" };

        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
                const struct command_line line = read_arguments(ways[i]);

                CHECK_STR(line.bundle, "/b");
                CHECK_STR(line.id, "c1");
        }
        CHECK_STR(read_arguments("create c1").bundle, ".");
}

TEST(crun_may_name_the_file)
{
        CHECK_STR(read_arguments("create -f other.json c1").config, "other.json");
        CHECK(!read_arguments("delete -f c1").config);
        CHECK_STR(read_arguments("delete -f c1").id, "c1");
}

TEST(values_are_not_commands)
{
        CHECK_STR(read_arguments("--root create state c1").command, "state");
        CHECK_STR(read_arguments("--log run --criu delete kill c1").command, "kill");
        CHECK_STR(read_arguments("--of-tomorrow word create c1").command, "create");
        CHECK_STR(read_arguments("exec c1 -- create").command, "exec");
        CHECK(!read_arguments("--version").command);
}

TEST(exec_names_a_process)
{
        const char *const ways[] = {
                "exec --process /p c1", "exec --process=/p --detach c1",
                "exec -p /p -e A=b c1", "exec -process /p c1",
                "exec -p/p c1",         "exec --pid-file f -t --cwd /x --process /p c1"
        };

        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
                const struct command_line line = read_arguments(ways[i]);

                CHECK(!command_line_starts(&line));
                CHECK_STR(line.process, "/p");
                CHECK_STR(line.id, "c1");
        }
}

TEST(arguments_of_another_program_are_not_read)
{
        const struct command_line line = read_arguments("--root /r exec c1 cp -p --process /p c2");

        CHECK(!line.process);
        CHECK_STR(line.id, "c1");
        CHECK_STR(line.root, "/r");
        CHECK(!read_arguments("exec -e --process c1 sh").process);
        CHECK(!read_arguments("ps -p /p c1").process);
        CHECK(!read_arguments("create -p /p c1").process);
}

int main(void)
{
        return RUN(CASE(containerds_own), CASE(every_way_to_say_bundle),
                   CASE(crun_may_name_the_file), CASE(values_are_not_commands),
                   CASE(exec_names_a_process), CASE(arguments_of_another_program_are_not_read));
}
