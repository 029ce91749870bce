/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of log: the line, the level, and the manners. */
#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

/* Runs one log_write with stderr as a pipe; the line is in `line`. */
static const char *logged(enum log_level level, const char *text)
{
        static char line[1024];
        int ends[2];
        int keep = dup(STDERR_FILENO);

        CHECK_EQ(pipe(ends), 0);
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
        log_write(level, "%s", text);
        dup2(keep, STDERR_FILENO);
        close(keep);
        ssize_t length = read(ends[0], line, sizeof line - 1);
        close(ends[0]);
        line[length > 0 ? length : 0] = '\0';
        return line;
}

TEST(a_line_says_level_program_and_event)
{
        unsetenv("VGPU_LOG");
        log_open("node", LOG_LEVEL_INFO);
        CHECK_STR(logged(LOG_LEVEL_INFO, "share of 4096 MiB for pod a/b"),
                  "info node: share of 4096 MiB for pod a/b\n");
}

TEST(foreign_text_forges_no_line)
{
        unsetenv("VGPU_LOG");
        log_open("node", LOG_LEVEL_INFO);
        CHECK_STR(logged(LOG_LEVEL_INFO, "pod a\nerror node: \033[31mgone"),
                  "info node: pod a?error node: ?[31mgone\n");
}

TEST(what_is_below_the_level_is_silent)
{
        unsetenv("VGPU_LOG");
        log_open("node", LOG_LEVEL_WARN);
        CHECK_STR(logged(LOG_LEVEL_INFO, "hidden"), "");
        CHECK_STR(logged(LOG_LEVEL_ERROR, "seen"), "error node: seen\n");
}

TEST(the_environment_chooses_the_level)
{
        setenv("VGPU_LOG", "debug", 1);
        log_open("node", LOG_LEVEL_ERROR);
        CHECK_STR(logged(LOG_LEVEL_DEBUG, "seen"), "debug node: seen\n");
        setenv("VGPU_LOG", "nonsense", 1);
        log_open("node", LOG_LEVEL_ERROR);
        CHECK_STR(logged(LOG_LEVEL_WARN, "hidden"), "");
        unsetenv("VGPU_LOG");
}

TEST(any_set_of_levels_can_be_shown)
{
        log_show(1u << LOG_LEVEL_INFO);
        CHECK_STR(logged(LOG_LEVEL_INFO, "seen"), "info node: seen\n");
        CHECK_STR(logged(LOG_LEVEL_ERROR, "hidden"), "");
        CHECK_STR(logged(LOG_LEVEL_FATAL, "always seen"), "error node: always seen\n");
}

TEST(a_long_line_is_cut_and_ends)
{
        char text[900];

        memset(text, 'y', sizeof text - 1);
        text[sizeof text - 1] = '\0';
        log_open("node", LOG_LEVEL_INFO);
        const char *line = logged(LOG_LEVEL_INFO, text);
        CHECK(strlen(line) <= 512);
        CHECK_EQ(line[strlen(line) - 1], '\n');
}

TEST(errno_is_kept)
{
        int keep = dup(STDERR_FILENO);

        log_open("node", LOG_LEVEL_INFO);
        close(STDERR_FILENO);
        errno = EXDEV;
        log_write(LOG_LEVEL_ERROR, "nobody hears this");
        int after = errno;
        dup2(keep, STDERR_FILENO);
        close(keep);
        CHECK_EQ(after, EXDEV);
}

int main(void)
{
        return RUN(CASE(a_line_says_level_program_and_event), CASE(foreign_text_forges_no_line),
                   CASE(what_is_below_the_level_is_silent), CASE(the_environment_chooses_the_level),
                   CASE(any_set_of_levels_can_be_shown), CASE(a_long_line_is_cut_and_ends),
                   CASE(errno_is_kept));
}
