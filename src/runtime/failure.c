/* SPDX-License-Identifier: Apache-2.0 */
/* failure: one line, as runc writes its own. */
#include "failure.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fd.h"
#include "json_memory.h"
#include "json_read.h"
#include "log.h"
#include "scope.h"
#include "str.h"

enum { EXIT_STATUS = 1 };

static void log_append(const char *path, const char *text)
{
        autoclose int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

        if (fd >= 0)
                (void)fd_write_all(fd, text, strlen(text));
}

static int line_make(bool is_json, const char *level, const char *sentence, struct str *to)
{
        char now[32];
        const time_t seconds = time(NULL);
        struct tm parts;
        autofree char *quoted = NULL;
        autojson json_t *text = json_string(sentence);

        strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
        quoted = json_memory_dump(text, JSON_ENCODE_ANY);
        if (!quoted)
                return -1;
        return is_json ? str_appendf(to, "{\"level\":\"%s\",\"msg\":%s,\"time\":\"%s\"}\n", level,
                                     quoted, now)
                       : str_appendf(to, "time=\"%s\" level=%s msg=%s\n", now, level, quoted);
}

/* crun's way of naming a file is taken too; its other kinds of log are no files. */
static void entry_add(const struct command_line *line, const char *level, const char *sentence)
{
        const char *path = line->log;
        struct str entry = { 0 };

        if (path && strncmp(path, "file:", 5) == 0)
                path += 5;
        if (path && *path && line_make(line->is_log_json, level, sentence, &entry) == 0)
                log_append(path, entry.text);
        str_done(&entry);
}

int failure_tell(const struct command_line *line, const char *sentence)
{
        struct str whole = { 0 };

        str_appendf(&whole, "vgpu-runtime: %s", sentence);
        fprintf(stderr, "%s\n", whole.text ? whole.text : sentence);
        if (whole.text)
                entry_add(line, "error", whole.text);
        str_done(&whole);
        return EXIT_STATUS;
}

void failure_note(const struct command_line *line, char *sentences)
{
        for (char *save = NULL, *sentence = sentences ? strtok_r(sentences, "\n", &save) : NULL;
             sentence; sentence = strtok_r(NULL, "\n", &save)) {
                struct str whole = { 0 };

                log_info("%s", sentence);
                if (str_appendf(&whole, "vgpu-runtime: %s", sentence) == 0)
                        entry_add(line, "info", whole.text);
                str_done(&whole);
        }
}
