/* SPDX-License-Identifier: Apache-2.0 */
/* exec_process: the file of a process, completed as the process of config.json is. */
#include "exec_process.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "container_folder.h"
#include "file.h"
#include "gpu_request_detect.h"
#include "json_read.h"
#include "saved_env.h"
#include "scope.h"

/* A process alone is what "process" of a configuration is: it is read and written as that. */
#define BEFORE "{\"process\":"
#define BEHIND "}"

static int spec_around(const char *text, struct spec *ret_spec, struct err *e)
{
        struct str whole = { 0 };
        int r = str_appendf(&whole, BEFORE "%s" BEHIND, text);

        r = r < 0 ? err_set(e, r, "out of memory") : spec_parse(whole.text, ret_spec, e);
        str_done(&whole);
        return r;
}

static int process_cut(const struct str *whole, struct str *ret_text)
{
        return str_append_bytes(ret_text, whole->text + strlen(BEFORE),
                                whole->length - strlen(BEFORE BEHIND));
}

static int spec_fill(struct spec *spec, const json_t *list, struct str *ret_text, struct err *e)
{
        struct str whole = { 0 };

        gpu_request_remove(spec);
        int r = env_put(spec, list);
        if (r < 0)
                return err_set(e, r, "cannot put the variables of the share: %s", strerror(-r));
        r = spec_render(spec, &whole, e);
        if (r == 0 && process_cut(&whole, ret_text) < 0)
                r = err_set(e, -ENOMEM, "out of memory");
        str_done(&whole);
        return r;
}

/* The text of a process with the variables. */
static int process_render(const char *text, const json_t *list, struct str *ret_text, struct err *e)
{
        struct spec spec;
        int r = spec_around(text, &spec, e);

        if (r < 0)
                return r;
        r = spec_fill(&spec, list, ret_text, e);
        spec_done(&spec);
        return r;
}

/* Only a file can be replaced: what comes through a pipe would be gone once read. */
static int file_inject(const char *path, const json_t *list, struct err *e)
{
        autofree char *text = NULL;
        struct str made = { 0 };
        struct stat old;

        if (lstat(path, &old) < 0 || !S_ISREG(old.st_mode))
                return 0;
        int r = file_read(path, &text);
        if (r < 0)
                return err_set(e, r, "cannot read '%.150s': %s", path, strerror(-r));
        r = process_render(text, list, &made, e);
        if (r == 0) {
                r = file_replace_like(path, made.text, made.length, &old);
                if (r < 0)
                        err_set(e, r, "cannot replace '%.150s': %s", path, strerror(-r));
        }
        str_done(&made);
        return r;
}

int exec_process_inject(const struct command_line *line, const struct runtime_options *options,
                        struct err *e)
{
        char folder[PATH_MAX];

        if (!line->process || !container_folder_find(options->state, line->root, line->id, folder))
                return 0;
        autojson json_t *list = saved_env_read(folder);

        return list ? file_inject(line->process, list, e) : 0;
}
