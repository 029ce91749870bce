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
#include "scope.h"
#include "str.h"

enum { EXIT_STATUS = 1 };

static void log_append(const char *path, const char *text)
{
        autoclose int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

        if (fd >= 0)
                (void)fd_write_all(fd, text, strlen(text));
}

static int line_make(bool is_json, const char *sentence, struct str *to)
{
        char now[32];
        const time_t seconds = time(NULL);
        struct tm parts;
        autofree char *quoted = NULL;
        json_t *text = json_string(sentence);

        strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
        quoted = json_dumps(text, JSON_ENCODE_ANY);
        json_decref(text);
        if (!quoted)
                return -1;
        return is_json ? str_appendf(to, "{\"level\":\"error\",\"msg\":%s,\"time\":\"%s\"}\n",
                                     quoted, now)
                       : str_appendf(to, "time=\"%s\" level=error msg=%s\n", now, quoted);
}

int failure_tell(const struct command_line *line, const char *sentence)
{
        const char *path = line->log;
        struct str whole = { 0 }, entry = { 0 };

        str_appendf(&whole, "vgpu-runtime: %s", sentence);
        fprintf(stderr, "%s\n", whole.text ? whole.text : sentence);
        /* crun's way of saying it; its other kinds of log are no files. */
        if (path && strncmp(path, "file:", 5) == 0)
                path += 5;
        if (path && *path && whole.text && line_make(line->is_log_json, whole.text, &entry) == 0)
                log_append(path, entry.text);
        str_done(&whole);
        str_done(&entry);
        return EXIT_STATUS;
}
