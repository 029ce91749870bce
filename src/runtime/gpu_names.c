/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_names: the driver's folder in /proc, or a simulated machine. */
#include "gpu_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "machine.h"
#include "scope.h"
#include "str.h"

#define DRIVER_FOLDER "/proc/driver/nvidia/gpus"

static int machine_read(const char *path, struct gpu_names *names, struct err *e)
{
        struct machine machine;
        const int r = machine_open(path, &machine, e);

        if (r < 0)
                return r;
        for (; names->count < machine.file->header.gpu_count && names->count < SHARE_DEVICES;
             names->count++) {
                const struct machine_gpu *gpu = machine_gpu(&machine, names->count);
                struct gpu_name *name = &names->gpus[names->count];

                str_copy(name->uuid, sizeof name->uuid, gpu->uuid);
                name->device_bytes = gpu->memory_bytes - gpu->reserved_bytes;
        }
        machine_close(&machine);
        return 0;
}

/* "GPU UUID:    GPU-…" */
static void gpu_read(const char *folder, struct gpu_names *names)
{
        char path[512], *line;
        autofree char *text = NULL;

        snprintf(path, sizeof path, DRIVER_FOLDER "/%.200s/information", folder);
        if (file_read(path, &text) < 0 || !(line = strstr(text, "GPU UUID:")))
                return;
        line += strlen("GPU UUID:");
        line += strspn(line, " \t");
        line[strcspn(line, " \t\r\n")] = '\0';
        if (names->count < SHARE_DEVICES)
                str_copy(names->gpus[names->count++].uuid, SHARE_UUID, line);
}

/* Folders are called by PCI address, and that is the driver's order. */
static void driver_read(struct gpu_names *names)
{
        struct dirent **entries;
        const int count = scandir(DRIVER_FOLDER, &entries, NULL, alphasort);

        for (int i = 0; i < count; i++) {
                if (entries[i]->d_name[0] != '.')
                        gpu_read(entries[i]->d_name, names);
                free(entries[i]);
        }
        if (count >= 0)
                free(entries);
}

int gpu_names_read(const char *machine, struct gpu_names *ret_names, struct err *e)
{
        struct gpu_names names = { 0 };
        const int r = machine ? machine_read(machine, &names, e) : 0;

        if (r < 0)
                return r;
        if (!machine)
                driver_read(&names);
        if (names.count == 0)
                return err_set(e, -ENODEV, "limits are set, but this machine has no GPU");
        *ret_names = names;
        return 0;
}

static const struct gpu_name *find(const struct gpu_names *names, const char *name)
{
        uint64_t number;

        if (str_parse_u64(name, &number) == 0)
                return number < names->count ? &names->gpus[number] : NULL;
        for (unsigned i = 0; i < names->count; i++)
                if (strcmp(names->gpus[i].uuid, name) == 0)
                        return &names->gpus[i];
        return NULL;
}

int gpu_names_choose(const struct gpu_names *names, const char *list, struct gpu_names *ret_chosen,
                     struct err *e)
{
        struct gpu_names chosen = { 0 };

        if (!*list || strcmp(list, "all") == 0) {
                *ret_chosen = *names;
                return 0;
        }
        while (*list) {
                const size_t length = strcspn(list, ",");
                char name[SHARE_UUID];

                const size_t blank = strspn(list, " \t");

                snprintf(name, sizeof name, "%.*s", blank < length ? (int)(length - blank) : 0,
                         list + blank);
                name[strcspn(name, " \t")] = '\0';
                const struct gpu_name *gpu = find(names, name);
                if (!gpu || chosen.count == SHARE_DEVICES)
                        return err_set(e, -EINVAL, "there is no GPU '%s' on this machine", name);
                chosen.gpus[chosen.count++] = *gpu;
                list += length + (list[length] == ',');
        }
        *ret_chosen = chosen;
        return 0;
}
