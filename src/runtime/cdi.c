/* SPDX-License-Identifier: Apache-2.0 */
/* cdi: a share as a CDI device. What completes a container's configuration is made for an empty
 * one, and said in the other language. */
#include "cdi.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli_option.h"
#include "container_folder.h"
#include "container_paths.h"
#include "json_read.h"
#include "mount_source.h"
#include "preload_library.h"
#include "runtime_options.h"
#include "spec_edit.h"
#include "standalone.h"

#define KIND "vgpu.io/share"
/* Nothing newer is used, and engines refuse a version that they do not know: Podman 4.3 a 0.6. */
#define VERSION "0.5.0"

enum { NAME, MEMORY, CORES, CORES_MAX, GPUS, ENV, REMOVE };

static const struct cli_option rows[] = {
        [NAME] = { "name", "NAME", "name of the share; the device is " KIND "=NAME", NULL },
        [MEMORY] = { "memory", "SIZE", "GPU memory that it may hold on each GPU", NULL },
        [CORES] = { "cores", "PERCENT", "percentage of each GPU's time that it may use", NULL },
        [CORES_MAX] = { "cores-max", "PERCENT",
                        "how much it may use while the GPU is otherwise idle", NULL },
        [GPUS] = { "gpus", "LIST", "numbers or UUIDs; all by default", NULL },
        [ENV] = { "env", "NAME=VALUE", "any other limit of docs/reference/environment.md", NULL },
        [REMOVE] = { "remove", NULL, "remove the share instead", NULL },
        { 0 },
};

/* What an option is in a container's environment. */
static const char *const variables[] = {
        [MEMORY] = "VGPU_MEMORY_LIMIT",
        [CORES] = "VGPU_CORES",
        [CORES_MAX] = "VGPU_CORES_MAX",
        [GPUS] = "VGPU_DEVICES",
};

struct wish {
        const char *name;
        bool is_to_be_removed;
        unsigned options_set; /* 1 << row: this option, not a variable by --env */
        struct spec spec;     /* its environment has the limits */
};

static void help_print(void)
{
        puts("vgpu-runtime cdi --name NAME [OPTION]... > /etc/cdi/vgpu-NAME.json\n\n"
             "Makes a share and prints it as a CDI device, for `podman run --device " KIND
             "=NAME`,\n"
             "Docker and containerd (1.7 and later). All containers with the device share one "
             "limit.\n");
        cli_option_print(rows);
}

static int env_take(struct wish *wish, const char *variable, struct err *e)
{
        const char *equals = strchr(variable, '=');
        char name[64];

        if (!equals || equals == variable || equals - variable >= (int)sizeof name)
                return err_set(e, -EINVAL, "invalid value '%.80s' of --env (expected NAME=VALUE)",
                               variable);
        snprintf(name, sizeof name, "%.*s", (int)(equals - variable), variable);
        return spec_env_set(&wish->spec, name, equals + 1);
}

static int option_take(struct wish *wish, int row, const char *value, struct err *e)
{
        switch (row) {
        case NAME:
                wish->name = value;
                return 0;
        case REMOVE:
                wish->is_to_be_removed = true;
                return 0;
        case ENV:
                return env_take(wish, value, e);
        case GPUS:
                if (strcmp(value, "none") == 0 || strcmp(value, "void") == 0)
                        return err_set(
                                e, -EINVAL,
                                "invalid value '%s' of --gpus (expected numbers, UUIDs or all)",
                                value);
                /* fall through */
        default:
                wish->options_set |= 1u << row;
                return spec_env_set(&wish->spec, variables[row], value);
        }
}

/* As CDI has names of devices, and as a folder can be called. */
static int name_check(const char *name, struct err *e)
{
        static const char signs[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789._-";

        if (*name == '\0' || strchr("._-", *name) || name[strspn(name, signs)] != '\0')
                return err_set(e, -EINVAL,
                               "invalid value '%.60s' of --name (expected letters, digits, and "
                               "between them '.', '_' and '-')",
                               name);
        return 0;
}

/* 1: help was printed. */
static int arguments_read(int argc, char **argv, struct wish *wish, struct err *e)
{
        struct cli_scan scan = {
                .program = "vgpu-runtime cdi", .rows = rows, .argc = argc, .argv = argv
        };

        for (int row; (row = cli_scan_next(&scan, e)) != CLI_END;) {
                if (row == CLI_HELP)
                        return help_print(), 1;
                if (row == CLI_PLAIN)
                        return err_set(e, -EINVAL,
                                       "unexpected argument '%.80s' ('vgpu-runtime cdi' takes "
                                       "options only)",
                                       scan.value);
                const int r = row == CLI_BAD ? -EINVAL : option_take(wish, row, scan.value, e);
                if (r < 0)
                        return r;
        }
        if (!wish->name)
                return err_set(e, -EINVAL, "missing --name NAME");
        return name_check(wish->name, e);
}

static json_t *mount_json(const char *host, const char *path, bool is_readonly)
{
        return json_pack("{s:s, s:s, s:[s,s,s,s,s]}", "hostPath", host, "containerPath", path,
                         "options", "bind", "rprivate", "nosuid", "nodev",
                         is_readonly ? "ro" : "rw");
}

static int mount_sources_make(const char *folder, const Vgpu__V1__GetAllocationResponse *answer,
                              const char *library)
{
        int r = mount_source_make(folder, CONTAINER_LIBRARY, library);

        for (size_t i = 0; i < answer->n_mounts && r == 0; i++)
                r = mount_source_make(folder, answer->mounts[i]->container_path,
                                      answer->mounts[i]->host_path);
        return r < 0 ? r : mount_source_preload(folder, NULL);
}

static json_t *edits_json(const char *folder, const Vgpu__V1__GetAllocationResponse *answer,
                          const char *library)
{
        json_t *env = json_array(), *mounts = json_array();
        char preload[PATH_MAX + 16], source[PATH_MAX + 8];

        snprintf(preload, sizeof preload, "%s/ld.so.preload", folder);
        snprintf(source, sizeof source, "%s/mounts", folder);
        json_array_append_new(mounts, mount_json(source, CONTAINER_FOLDER, true));
        for (size_t i = 0; i < answer->n_mounts; i++)
                json_array_append_new(mounts, mount_json(answer->mounts[i]->host_path,
                                                         answer->mounts[i]->container_path,
                                                         answer->mounts[i]->read_only));
        json_array_append_new(mounts, mount_json(library, CONTAINER_LIBRARY, true));
        json_array_append_new(mounts, mount_json(preload, CONTAINER_PRELOAD, true));
        for (size_t i = 0; i < answer->n_variables; i++)
                json_array_append_new(env, json_sprintf("%s=%s", answer->variables[i]->name,
                                                        answer->variables[i]->value));
        return json_pack("{s:o, s:o}", "env", env, "mounts", mounts);
}

static int print(const char *name, json_t *edits, struct err *e)
{
        autojson json_t *spec =
                json_pack("{s:s, s:s, s:[{s:s, s:o}]}", "cdiVersion", VERSION, "kind", KIND,
                          "devices", "name", name, "containerEdits", edits);
        const int r = spec ? json_dumpf(spec, stdout, JSON_INDENT(2)) : -1;

        if (r < 0 || puts("") < 0 || fflush(stdout) != 0)
                return err_set(e, -EIO, "cannot write the specification");
        return 0;
}

/* Where the sentence has this variable, as a whole word; NULL: nowhere. */
static char *variable_find(char *text, const char *name)
{
        const size_t length = strlen(name);

        for (char *p = strstr(text, name); p; p = strstr(p + 1, name))
                if (!strchr("_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", p[length]) || !p[length])
                        return p;
        return NULL;
}

/* Whoever gave an option reads of the option, not of the variable that it is to a container. */
static void options_name(const struct wish *wish, struct err *e)
{
        for (int row = MEMORY; row <= GPUS; row++) {
                char *found = wish->options_set >> row & 1 ? variable_find(e->text, variables[row])
                                                           : NULL;
                char remainder[sizeof e->text];

                if (!found)
                        continue;
                memcpy(remainder, e->text, sizeof remainder);
                snprintf(found, sizeof e->text - (size_t)(found - e->text), "--%s%s",
                         rows[row].name, remainder + (found - e->text) + strlen(variables[row]));
        }
}

static int share_make(struct wish *wish, const struct runtime_options *options, const char *folder,
                      struct err *e)
{
        char library[PATH_MAX];
        struct standalone standalone = { 0 };
        int r = standalone_is_wanted(&wish->spec, KIND, e);

        if (r == 0)
                return err_set(e, -EINVAL,
                               "missing a limit, such as --memory SIZE or --cores PERCENT");
        if (r < 0)
                return r;
        if (wish->spec.left_out.text)
                fprintf(stderr, "vgpu-runtime: warning: %s", wish->spec.left_out.text);
        if (options->library)
                snprintf(library, sizeof library, "%s", options->library);
        else if (!preload_library_find(library))
                return err_set(e, -ENOENT, "libvgpu.so was not found; name it in %s",
                               runtime_options_path());
        r = standalone_make(&wish->spec, options, folder, wish->name, &standalone, e);
        if (r == 0 && standalone.warning.text[0]) {
                options_name(wish, &standalone.warning);
                fprintf(stderr, "vgpu-runtime: warning: %s\n", standalone.warning.text);
        }
        if (r == 0 && (r = mount_sources_make(folder, &standalone.answer, library)) < 0)
                err_set(e, r, "cannot write to '%.150s': %s", folder, strerror(-r));
        if (r == 0)
                r = print(wish->name, edits_json(folder, &standalone.answer, library), e);
        standalone_done(&standalone);
        return r;
}

/* No runtime's --root is called so: the share stays until it is removed. */
#define ROOT "cdi"

static int run(struct wish *wish, const struct runtime_options *options, struct err *e)
{
        char folder[PATH_MAX];
        const bool is_there = container_folder_find(options->state, ROOT, wish->name, folder);

        if (wish->is_to_be_removed && !is_there)
                return err_set(e, -ENOENT, "there is no share '%.60s'", wish->name);
        if (wish->is_to_be_removed)
                return container_folder_remove(folder), 0;
        if (is_there)
                return err_set(e, -EEXIST, "there is a share '%.60s' already; --remove removes it",
                               wish->name);
        int r = container_folder_make(options->state, ROOT, wish->name, folder, e);
        if (r < 0)
                return r;
        r = share_make(wish, options, folder, e);
        if (r < 0) {
                container_folder_remove(folder);
                options_name(wish, e);
        }
        return r;
}

int cdi_command(int argc, char **argv)
{
        struct wish wish = { 0 };
        struct runtime_options options = { 0 };
        struct err e = { 0 };
        int r = spec_parse("{}", &wish.spec, &e);

        if (r == 0)
                r = arguments_read(argc, argv, &wish, &e);
        if (r == 0)
                r = runtime_options_read(&options, &e);
        if (r == 0)
                r = run(&wish, &options, &e);
        if (r < 0)
                fprintf(stderr, "vgpu-runtime: %s\n", e.text);
        spec_done(&wish.spec);
        runtime_options_done(&options);
        return r == -EINVAL ? 2 : r < 0;
}
