/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu sim list: the presets, and the machines in the usual places. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arg_parser.h"
#include "command.h"
#include "json_out.h"
#include "machine_view.h"
#include "paths.h"
#include "preset.h"
#include "quantity.h"
#include "scope.h"
#include "table.h"

enum { JSON };

const struct cli_option sim_list_options[] = {
        [JSON] = { "json", NULL, "print JSON", NULL },
        { 0 },
};

struct listing {
        struct table table;
        struct json_out json;
        bool is_json;
        dev_t named_device; /* of the machine in VGPU_SIM: shown once only */
        ino_t named_inode;
};

static void list_presets(struct listing *list)
{
        for (size_t i = 0; i < preset_count(); i++) {
                const struct preset *preset = preset_at(i);
                const struct machine_gpu *gpu = &preset->gpu;

                if (list->is_json) {
                        json_out_open(&list->json, NULL, '{');
                        json_out_string(&list->json, "name", preset->name);
                        json_out_string(&list->json, "gpu", gpu->name);
                        json_out_number(&list->json, "memory_bytes", gpu->memory_bytes);
                        json_out_number(&list->json, "sms", gpu->sm_count);
                        json_out_bool(&list->json, "mig", gpu->has_mig);
                        json_out_close(&list->json, '}');
                        continue;
                }
                table_add(&list->table, "%s", preset->name);
                table_add(&list->table, "%s", gpu->name);
                table_add(&list->table, "%" PRIu64 "MiB", gpu->memory_bytes >> 20);
                table_add(&list->table, "%u", gpu->sm_count);
                table_add(&list->table, "%u.%u", gpu->capability_major, gpu->capability_minor);
                table_add(&list->table, "%s", preset->summary);
        }
}

/* Anybody's: read, and not taken part in. */
static void list_machine(struct listing *list, const char *path)
{
        struct machine_view view;

        if (machine_view_open(path, &view, NULL) < 0)
                return;
        const unsigned users = machine_view_users(&view);
        const struct machine_header *header = view.header;
        const bool is_ephemeral = header->flags & MACHINE_EPHEMERAL;

        if (list->is_json) {
                json_out_open(&list->json, NULL, '{');
                json_out_string(&list->json, "path", path);
                json_out_number(&list->json, "gpus", header->gpu_count);
                json_out_string(&list->json, "preset", header->gpus[0].preset);
                json_out_number(&list->json, "processes", users);
                json_out_bool(&list->json, "ephemeral", is_ephemeral);
                json_out_close(&list->json, '}');
        } else {
                table_add(&list->table, "%s", path);
                table_add(&list->table, "%u × %s", header->gpu_count, header->gpus[0].preset);
                table_add(&list->table, "%u", users);
                table_add(&list->table, "%s", is_ephemeral ? "vgpu run" : "sim create");
        }
        machine_view_close(&view);
}

/* A machine is known by its size before its magic: other files are not even opened. */
static void list_folder(struct listing *list, const char *folder)
{
        DIR *directory = opendir(folder);
        struct dirent *entry;

        if (!directory)
                return;
        while ((entry = readdir(directory))) {
                char path[PATH_MAX];
                struct stat st;

                snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
                if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
                    st.st_size != (off_t)sizeof(struct machine_file))
                        continue;
                if (st.st_dev != list->named_device || st.st_ino != list->named_inode)
                        list_machine(list, path);
        }
        closedir(directory);
}

static void list_machines(struct listing *list)
{
        const char *named = getenv("VGPU_SIM");
        const char *folders[PATHS_FOLDERS];
        const size_t count = paths_run_folders(folders);
        struct stat st;

        if (named && stat(named, &st) == 0) {
                list->named_device = st.st_dev;
                list->named_inode = st.st_ino;
                list_machine(list, named);
        }
        for (size_t i = 0; i < count; i++)
                list_folder(list, folders[i]);
}

static void print_tables(struct listing *list)
{
        static const char *const preset_titles[] = { "PRESET", "GPU",     "MEMORY",
                                                     "SMS",    "COMPUTE", "SUMMARY" };
        static const char *const machine_titles[] = { "MACHINE", "GPUS", "PROCESSES", "MADE BY" };

        table_init(&list->table, preset_titles, 6);
        list_presets(list);
        table_print(&list->table);
        table_init(&list->table, machine_titles, 4);
        list_machines(list);
        if (list->table.cell_count > 0) {
                putchar('\n');
                table_print(&list->table);
        }
}

static void print_json(struct listing *list)
{
        json_out_open(&list->json, NULL, '{');
        json_out_open(&list->json, "presets", '[');
        list_presets(list);
        json_out_close(&list->json, ']');
        json_out_open(&list->json, "machines", '[');
        list_machines(list);
        json_out_close(&list->json, ']');
        json_out_close(&list->json, '}');
}

int command_sim_list(const struct command *command, int argc, char **argv)
{
        struct listing list = { 0 };
        int code;

        if (!arg_parser_json(command, argc, argv, &list.is_json, &code))
                return code;
        if (list.is_json)
                print_json(&list);
        else
                print_tables(&list);
        return EXIT_OK;
}
