/* SPDX-License-Identifier: Apache-2.0 */
/* What several commands ask for alike: a machine, kernel times. */
#include "machine_option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arg_parser.h"
#include "nearest.h"
#include "preset.h"
#include "quantity.h"
#include "slot.h"
#include "str.h"

const char *machine_option_path(const char *path)
{
        if (!path)
                path = getenv("VGPU_SIM");
        if (path && *path)
                return path;
        complain(0, "missing --machine PATH (or VGPU_SIM)");
        return NULL;
}

int machine_option_open(const char *path, struct machine *ret_machine)
{
        struct err e = { 0 };

        path = machine_option_path(path);
        if (!path)
                return EXIT_USAGE;
        if (machine_open_own(path, ret_machine, &e) < 0)
                return complain(EXIT_FAILED, "%s", e.text);
        return EXIT_OK;
}

bool machine_option_parse(const struct command *command, int argc, char **argv, bool *flags,
                          const char **ret_path, int *ret_exit)
{
        const char *path = NULL;
        struct arg_parser parser;
        int option;

        arg_parser_init(&parser, command, argc, argv);
        while ((option = arg_parser_next(&parser)) >= 0 || option == ARG_PLAIN) {
                if (option >= 0 && !command->options[option].argument) {
                        flags[option] = true;
                        continue;
                }
                if (path) {
                        *ret_exit =
                                complain(EXIT_USAGE,
                                         "unexpected argument '%s' (one machine at a time: '%s')",
                                         parser.value, path);
                        return false;
                }
                path = parser.value;
        }
        if (option != ARG_END)
                *ret_exit = arg_parser_exit(&parser, option);
        *ret_path = path;
        return option == ARG_END;
}

bool machine_option_begin(const struct command *command, int argc, char **argv, bool *flags,
                          struct machine *ret_machine, int *ret_exit)
{
        const char *path;

        if (!machine_option_parse(command, argc, argv, flags, &path, ret_exit))
                return false;
        *ret_exit = machine_option_open(path, ret_machine);
        return *ret_exit == EXIT_OK;
}

bool machine_option_begin_view(const struct command *command, int argc, char **argv, bool *flags,
                               struct machine_view *ret_view, int *ret_exit)
{
        struct err e = { 0 };
        const char *path;

        if (!machine_option_parse(command, argc, argv, flags, &path, ret_exit))
                return false;
        path = machine_option_path(path);
        *ret_exit = path ? EXIT_OK : EXIT_USAGE;
        if (path && machine_view_open(path, ret_view, &e) < 0)
                *ret_exit = complain(EXIT_FAILED, "%s", e.text);
        return *ret_exit == EXIT_OK;
}

int machine_option_kernel(char *text, struct vec *kernels, struct err *e)
{
        struct machine_kernel_time kernel = { .name = text };
        char *equals = strrchr(text, '=');
        int r;

        if (!equals || equals == text)
                return err_set(e, -EINVAL, "'--kernel %.80s' must be NAME=MICROSECONDS", text);
        *equals = '\0';
        if (strlen(text) >= sizeof((struct machine_kernel *)0)->name)
                return err_set(e, -EINVAL, "the kernel name '%.40s…' is too long", text);
        r = quantity_parse_number(equals + 1, "a kernel's time in microseconds", 0, 1e12,
                                  &kernel.microseconds, e);
        if (r < 0)
                return r;
        if (vec_push(kernels, &kernel) < 0)
                return err_set(e, -ENOMEM, "out of memory");
        return 0;
}

/* The name appears whole or not at all to those who look without the lock. */
static int kernel_set(struct machine_header *header, const struct machine_kernel_time *time)
{
        const uint64_t duration_ns = (uint64_t)(time->microseconds * 1000 + 0.5);

        for (unsigned i = 0; i < MACHINE_KERNELS; i++) {
                struct machine_kernel *kernel = &header->kernels[i];

                if (kernel->name[0] && strcmp(kernel->name, time->name) != 0)
                        continue;
                __atomic_store_n(&kernel->duration_ns, duration_ns, __ATOMIC_RELEASE);
                if (kernel->name[0])
                        return 0;
                str_copy(kernel->name + 1, sizeof kernel->name - 1, time->name + 1);
                __atomic_store_n(&kernel->name[0], time->name[0], __ATOMIC_RELEASE);
                return 0;
        }
        return -ENOSPC;
}

int machine_option_set_kernels(struct machine *machine, const struct vec *kernels, struct err *e)
{
        struct machine_header *header = &machine->file->header;
        int r = 0;

        if (kernels->count == 0)
                return 0;
        machine_lock(&header->lock);
        for (size_t i = 0; i < kernels->count && r == 0; i++)
                r = kernel_set(header, vec_at(kernels, i));
        machine_unlock(&header->lock);
        if (r < 0)
                return err_set(e, r, "the machine cannot hold more kernel times (at most %d)",
                               MACHINE_KERNELS);
        return 0;
}

unsigned machine_option_users(struct machine *machine)
{
        const uint32_t high = atomic_load(&machine->file->header.slots_high);
        unsigned users = 0;

        slot_reap(machine);
        for (uint32_t i = 0; i < high; i++)
                users += slot_is_alive(machine, i);
        return users;
}

int machine_option_check_preset(const char *preset, struct err *e)
{
        struct nearest nearest = { 0 };
        char hint[96];

        if (preset_find(preset))
                return 0;
        for (size_t i = 0; i < preset_count(); i++)
                nearest_offer(&nearest, preset, preset_at(i)->name);
        return err_set(e, -EINVAL, "there is no preset '%.60s'%s; see 'vgpu sim list'", preset,
                       nearest_text(&nearest, "", hint, sizeof hint));
}

int machine_option_gpu(const struct machine *machine, const char *text, unsigned *ret_gpu,
                       struct err *e)
{
        const unsigned count = machine->file->header.gpu_count;
        uint64_t index;

        for (unsigned i = 0; i < count; i++) {
                if (strcmp(machine_gpu(machine, i)->uuid, text) == 0) {
                        *ret_gpu = i;
                        return 0;
                }
        }
        if (str_parse_u64(text, &index) < 0 || index >= count)
                return err_set(e, -ENODEV, "there is no GPU '%.60s' (the machine has %s%u)", text,
                               count > 1 ? "0 to " : "only ", count - 1);
        *ret_gpu = (unsigned)index;
        return 0;
}
