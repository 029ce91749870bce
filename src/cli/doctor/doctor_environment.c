/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu doctor: the values of VGPU_… and of the names that are understood in their place. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "gpus.h"
#include "limits_environment.h"
#include "run_folder.h"
#include "setting.h"
#include "share_memory.h"
#include "variable.h"

extern char **environ;

static bool value_is_right(struct doctor *doctor, enum setting setting, int device)
{
        struct setting_value value;
        struct err e = { 0 };
        char fix[160];

        if (setting_read(setting, device, &value, &e) >= 0)
                return true;
        if (setting == SETTING_LOG) {
                doctor_say(doctor, VERDICT_NOTE, NULL, "%s; using the default", e.text);
                return false;
        }
        snprintf(fix, sizeof fix,
                 "unset %.*s, or give it a valid value: libvgpu.so refuses all GPUs now",
                 (int)strcspn(e.text, ": "), e.text);
        doctor_say(doctor, VERDICT_WRONG, fix, "%s", e.text);
        return false;
}

static bool name_is_right(struct doctor *doctor, const char *variable)
{
        const int length = (int)strcspn(variable, "=");
        char meant[VARIABLE_NAME], fix[240];
        const enum variable_kind kind = variable_judge(variable, meant);

        if (kind == VARIABLE_FOREIGN || kind == VARIABLE_READ)
                return true;
        if (!meant[0]) {
                doctor_say(doctor, VERDICT_NOTE, NULL, "unknown variable '%.*s'", length, variable);
                return false;
        }
        /* It may be an application's own. */
        if (kind == VARIABLE_UNKNOWN && strncmp(variable, "VGPU_", 5) != 0) {
                doctor_say(doctor, VERDICT_NOTE, NULL,
                           "unknown variable '%.*s' (did you mean '%s'?)", length, variable, meant);
                return false;
        }
        snprintf(fix, sizeof fix, "rename '%.*s' to %s%s", length < 63 ? length : 63, variable,
                 meant, kind == VARIABLE_MISSPELT ? ": libvgpu.so refuses all GPUs now" : "");
        doctor_say(doctor, VERDICT_WRONG, fix, "unknown variable '%.*s' (did you mean '%s'?)",
                   length, variable, meant);
        return false;
}

static bool names_are_right(struct doctor *doctor)
{
        bool are_right = true;

        for (char **entry = environ; *entry; entry++)
                are_right = name_is_right(doctor, *entry) && are_right;
        return are_right;
}

/* The GPUs of a program that is started here. None: the checks of drivers and machines have said so. */
static int gpus_read(struct gpu_list *gpus)
{
        const char *machine = getenv("VGPU_SIM");
        struct err e = { 0 };

        return machine && *machine ? gpus_simulated(machine, gpus, &e) : gpus_real(gpus, &e);
}

/* Has every limit with a number its GPU? */
static int numbers_check(const struct share_copy *limits, const struct gpu_list *gpus,
                         struct err *e)
{
        if (access(SHARE_PATH, F_OK) < 0 && !getenv("VGPU_SHARE") &&
            limits_environment_list_check(false, e) < 0)
                return -EINVAL;
        return gpus ? limits_environment_check(limits, gpus->seen, gpus->seen_count, e) : 0;
}

static unsigned gpu_position(const struct gpu_list *gpus, const char *uuid)
{
        for (unsigned i = 0; i < gpus->seen_count; i++)
                if (strncmp(gpus->seen[i].uuid, uuid, SHARE_UUID) == 0)
                        return gpus->seen[i].position;
        return 0;
}

/* Whoever sets a limit that nothing reaches meant another. */
static bool sizes_are_right(struct doctor *doctor, const struct share_copy *limits,
                            const struct gpu_list *gpus)
{
        for (unsigned i = 0; i < gpus->count; i++) {
                const unsigned position = gpu_position(gpus, gpus->uuids[i]);
                const unsigned row = limits_environment_position(limits, gpus->uuids[i], position);
                char text[SHARE_EXCESS_TEXT], name[64] = "";

                if (row >= SHARE_DEVICES)
                        continue;
                struct share_device device = limits->devices[row];
                device.device_bytes = gpus->devices[i].memory_bytes;
                if (!share_memory_excess(&device, position, text))
                        continue;
                limits_environment_memory_name(row, name);
                doctor_say(doctor, VERDICT_NOTE, NULL, "%s%s%s", name, *name ? ": " : "", text);
                return false;
        }
        return true;
}

/* What only all variables together show: limits that contradict each other, numbers without a GPU. */
static bool limits_are_right(struct doctor *doctor, bool is_told)
{
        struct share_copy limits = { 0 };
        struct variable_names names = { 0 };
        struct gpu_list gpus;
        struct err e = { 0 };

        if (limits_environment_read(&limits, &names, &e) < 0) {
                if (!is_told)
                        doctor_say(doctor, VERDICT_WRONG,
                                   "change one of them: libvgpu.so refuses all GPUs now", "%s",
                                   e.text);
                return false;
        }
        const bool are_seen =
                (names.numbers || limits_environment_is_set(&limits)) && gpus_read(&gpus) == 0;

        if (names.rivals.text[0])
                doctor_say(doctor, VERDICT_NOTE, NULL, "%s", names.rivals.text);
        if (names.numbers && numbers_check(&limits, are_seen ? &gpus : NULL, &e) < 0) {
                doctor_say(
                        doctor, VERDICT_WRONG,
                        "change the number or the list of devices: libvgpu.so refuses all GPUs now",
                        "%s", e.text);
                return false;
        }
        return (!are_seen || sizes_are_right(doctor, &limits, &gpus)) && !names.rivals.text[0];
}

static bool share_is_right(struct doctor *doctor)
{
        const char *path = access(SHARE_PATH, F_OK) == 0 ? SHARE_PATH : getenv("VGPU_SHARE");
        struct share share = { 0 };
        struct err e = { 0 };

        if (!path || !*path || share_open(path, false, &share, &e) == 0) {
                share_close(&share);
                return true;
        }
        doctor_say(doctor, VERDICT_WRONG,
                   "unset VGPU_SHARE, or start the program with vgpu run again: libvgpu.so refuses "
                   "all GPUs now",
                   "%s", e.text);
        return false;
}

/* The region of limits by environment. */
static bool region_is_right(struct doctor *doctor)
{
        char name[64], path[64], fix[160];
        const char *chosen = setting_get(SETTING_REGION, -1, name);
        struct err e = { 0 };

        snprintf(path, sizeof path, "/tmp/vgpu-region-%u", getuid());
        if (!chosen || !*chosen) {
                chosen = path;
                snprintf(name, sizeof name, "%s", setting_name(SETTING_REGION));
        }
        if (access(chosen, F_OK) < 0 || doctor_region_try(chosen, &e) == 0)
                return true;
        snprintf(fix, sizeof fix, "remove the file, or let %s name another", name);
        doctor_say(doctor, VERDICT_WRONG, fix, "%s", e.text);
        return false;
}

void doctor_environment(struct doctor *doctor)
{
        const unsigned wrong = doctor->wrong;
        bool is_right = names_are_right(doctor);

        for (enum setting i = 0; i < SETTING_COUNT; i++) {
                bool is_told = !value_is_right(doctor, i, -1);

                for (int device = 0; device < SHARE_DEVICES && !is_told; device++)
                        is_told = !value_is_right(doctor, i, device);
                is_right = is_right && !is_told;
        }
        is_right = limits_are_right(doctor, doctor->wrong > wrong) && is_right;
        is_right = share_is_right(doctor) && is_right;
        is_right = region_is_right(doctor) && is_right;
        if (is_right)
                doctor_say(doctor, VERDICT_OK, NULL, "every variable has a valid value");
}
