/* SPDX-License-Identifier: Apache-2.0 */
/* variable: a limit under a name that nobody reads would be no limit, so names are judged, too. */
#include "variable.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"
#include "setting.h"
#include "share_layout.h"
#include "str.h"
#include "variable_known.h"

/* So long a name with one slip of the pen is no other name. */
enum { LONG_NAME = 12 };

/* Has it what a slip in the first letter leaves of VGPU_, CUDA_ and MANAGER_? */
static bool has_our_tail(const char *variable)
{
        if (!variable[0] || !variable[1])
                return false;
        for (const char *p = variable + 2; *p && p < variable + 9; p++)
                if (*p == '_' || *p == '-' || *p == '.') {
                        const char before = p[-2] | 0x20, last = p[-1] | 0x20;

                        return (before == 'p' && last == 'u') || (before == 'd' && last == 'a') ||
                               (before == 'e' && last == 'r');
                }
        return false;
}

/* Few variables begin like ours: all others are passed over at their first letters. */
static bool is_candidate(const char *variable)
{
        switch (*variable | 0x20) {
        case 'v': /* VGPU_ */
        case 'c': /* CUDA_ */
        case 'g': /* GPU_DEVICES_UUID */
        case 'm': /* MANAGER_VISIBLE_DEVICES */
        case 'n': /* NVIDIA_VISIBLE_DEVICES */
                return true;
        default:
                return *variable == ' ' || *variable == '\t' ||
                       (has_our_tail(variable) && strcspn(variable, "=") >= LONG_NAME);
        }
}

/* As it should have been written: "vgpu-cores " becomes VGPU_CORES. */
static void name_normalise(const char *variable, char ret_name[VARIABLE_NAME])
{
        size_t length = 0;

        for (const char *p = variable; *p && *p != '=' && length < VARIABLE_NAME - 1; p++) {
                if (*p == ' ' || *p == '\t' || *p == '\r')
                        continue;
                const char upper = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
                ret_name[length++] = upper == '-' || upper == '.' ? '_' : upper;
        }
        ret_name[length] = '\0';
}

/* Takes "_0" off the end; returns what was taken off, "" if nothing. */
static const char *number_split(char name[VARIABLE_NAME], char number[8])
{
        char *end = name + strlen(name), *p = end;

        number[0] = '\0';
        while (p > name && p[-1] >= '0' && p[-1] <= '9')
                p--;
        if (p == end || end - p > 6)
                return number;
        while (p[0] == '0' && p[1])
                p++;
        snprintf(number, 8, "_%.6s", p);
        while (p > name && (p[-1] == '0' || p[-1] == '_'))
                p--;
        *p = '\0';
        return number;
}

/* NVIDIA's own variable is spelt by everybody's scripts: what is near it is not ours to judge. */
static bool is_ours(const char *name)
{
        return strncmp(name, "NVIDIA_", strlen("NVIDIA_")) != 0;
}

/* Which letters there are: a slip of the pen changes two of the bits at most, and looking costs little. */
static uint32_t letters_of(const char *name)
{
        uint32_t letters = 0;

        for (; *name; name++)
                letters |= UINT32_C(1) << (*name & 31);
        return letters;
}

/* Two slips of the pen in a long name, one in a short one. */
static unsigned slips_allowed(const char *name)
{
        return 1 + (strlen(name) > 9);
}

/* In the first letter none: GPU_CORES and GPU_MEMORY are anybody's. A long name may have one there, and that is
 * all: CPU_MEMORY_LIMIT is anybody's, too. */
static const char *by_distance(const char *name, unsigned settings)
{
        const size_t length = strlen(name);
        const uint32_t letters = letters_of(name);
        const unsigned slips = slips_allowed(name),
                       first = length >= LONG_NAME && has_our_tail(name) ? 1 : 0;
        struct nearest nearest = { .distance = slips + 1 };

        for (enum setting i = 0; i < settings; i++)
                for (unsigned j = 0; setting_alias(i, j); j++) {
                        const char *alias = setting_alias(i, j);
                        const unsigned far = alias[0] == name[0] ? slips : first;
                        const size_t own = strlen(alias);

                        if (!far || !is_ours(alias) || own > length + far || length > own + far ||
                            __builtin_popcount(letters ^ letters_of(alias)) > 4)
                                continue;
                        const unsigned distance = nearest_distance(name, alias);
                        if (distance <= far && distance < nearest.distance)
                                nearest = (struct nearest){ alias, distance };
                }
        return nearest.word;
}

/* The nearest of the names with this beginning; `far` slips of the pen from all of them: the one that is
 * offered. */
static const char *nearest_of(const char *name, const char *begin, unsigned far,
                              const char *otherwise)
{
        struct nearest nearest = { 0 };

        for (enum setting i = 0; i < SETTING_COUNT; i++)
                for (unsigned j = 0; setting_alias(i, j); j++)
                        if (strncmp(setting_alias(i, j), begin, strlen(begin)) == 0)
                                nearest_offer(&nearest, name, setting_alias(i, j));
        return nearest.word && nearest.distance < far ? nearest.word : otherwise;
}

/* Beginnings that only a limit has, and the name that is meant where none is nearer. `written` letters of the
 * name are as it has them: CUDA's may be anybody's in lower case, ours may not. */
static const char *by_beginning(const char *name, size_t written)
{
        static const struct {
                const char *begin, *part, *meant;
        } rows[] = {
                { "VGPU_MEM", "", "VGPU_MEMORY_LIMIT" },
                { "VGPU_CORE", "", "VGPU_CORES" },
                { "VGPU_DEV", "", "VGPU_DEVICES" },
                { "VGPU_SM_", "", "VGPU_CORES" },
                { "VGPU_VRAM", "", "VGPU_MEMORY_LIMIT" },
                { "VGPU_RAM", "", "VGPU_MEMORY_LIMIT" },
                { "VGPU_COMPUTE", "", "VGPU_CORES" },
                { "VGPU_", "CORE", "VGPU_CORES" },
                { "VGPU_", "MEM", "VGPU_MEMORY_LIMIT" },
                { "VGPU_", "LIMIT", "VGPU_MEMORY_LIMIT" },
                { "CUDA_MEM_", "", "CUDA_MEM_LIMIT" },
                { "CUDA_CORE_", "", "CUDA_CORE_LIMIT" },
                { "CUDA_DEVICE_MEM", "", "CUDA_DEVICE_MEMORY_LIMIT" },
                { "CUDA_DEVICE_SM", "", "CUDA_DEVICE_SM_LIMIT" },
                { "CUDA_DEVICE_CORE", "", "CUDA_DEVICE_SM_LIMIT" },
                { "CUDA_DEVICE_", "LIMIT", "CUDA_DEVICE_MEMORY_LIMIT" },
                { "CUDA_", "MEMORY_LIMIT", "CUDA_MEM_LIMIT" },
                { "CUDA_", "SM_LIMIT", "CUDA_DEVICE_SM_LIMIT" },
                { "CUDA_", "CORE_LIMIT", "CUDA_CORE_LIMIT" },
        };

        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                const size_t length = strlen(rows[i].begin);
                const bool is_sure = name[0] == 'V' || written >= length;

                /* A beginning says which kind of limit it is; behind a part elsewhere, one letter more
                 * would be another kind. */
                if (is_sure && strncmp(name, rows[i].begin, length) == 0 &&
                    strstr(name + length, rows[i].part))
                        return nearest_of(name, rows[i].begin, rows[i].part[0] ? 2 : 4,
                                          rows[i].meant);
        }
        return NULL;
}

/* Whole names that only a limit can be. */
static const char *by_name(const char *name)
{
        static const char *const rows[][2] = {
                { "CUDA_MEM", "CUDA_MEM_LIMIT" },      { "CUDA_MEMORY", "CUDA_MEM_LIMIT" },
                { "CUDA_CORE", "CUDA_CORE_LIMIT" },    { "CUDA_CORES", "CUDA_CORE_LIMIT" },
                { "VGPU_RATIO", "VGPU_MEMORY_RATIO" }, { "VGPU_OVERSOLD", "VGPU_MEMORY_OVERSOLD" },
        };

        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                if (strcmp(name, rows[i][0]) == 0)
                        return rows[i][1];
        return NULL;
}

/* Of a name that nobody reads: which limit is meant? NULL: none. */
static const char *limit_meant(const char *name, size_t written)
{
        const bool is_as_written = written >= strlen(name);
        const char *near = is_as_written ? by_name(name) : by_distance(name, SETTING_DEVICES + 1);
        const char *meant = near ? near : by_beginning(name, written);

        return meant || !is_as_written ? meant : by_distance(name, SETTING_DEVICES + 1);
}

/* Applications have a GPU_MEMORY_LIMIT of their own. */
static bool is_anybodys(const char *name, const char *meant)
{
        return strncmp(name, "GPU_", 4) == 0 && strncmp(meant, "GPU_", 4) != 0;
}

static bool is_read(const char *variable)
{
        enum setting setting;
        int device;

        return setting_find(variable, &setting, &device) || variable_is_known(variable);
}

enum variable_kind variable_judge(const char *variable, char ret_meant[VARIABLE_NAME])
{
        char name[VARIABLE_NAME], base[VARIABLE_NAME], number[8];

        ret_meant[0] = '\0';
        if (!is_candidate(variable))
                return VARIABLE_FOREIGN;
        if (is_read(variable))
                return VARIABLE_READ;
        name_normalise(variable, name);
        if (variable_is_injected(name) || variable_is_known(name))
                return VARIABLE_FOREIGN;
        size_t written = 0;
        while (name[written] && name[written] == variable[written])
                written++;
        memcpy(base, name, sizeof base);
        number_split(base, number);
        const char *meant = limit_meant(base, written);
        if (meant) {
                snprintf(ret_meant, VARIABLE_NAME, "%.54s%s", meant, number);
                return is_anybodys(name, meant) ? VARIABLE_UNKNOWN : VARIABLE_MISSPELT;
        }
        if (written < 5 || strncmp(name, "VGPU_", 5) != 0)
                return VARIABLE_FOREIGN;
        const unsigned far = slips_allowed(name) + 1;
        meant = nearest_of(name, "VGPU_", far, variable_nearest_known(name, far));
        snprintf(ret_meant, VARIABLE_NAME, "%s", meant ? meant : "");
        return VARIABLE_UNKNOWN;
}

static void unknown_note(struct variable_names *names, const char *variable, const char *meant)
{
        if (names->unknown++ > 0)
                return;
        snprintf(names->unknown_first, sizeof names->unknown_first, "%.*s",
                 (int)strcspn(variable, "="), variable);
        snprintf(names->unknown_meant, sizeof names->unknown_meant, "%.63s", meant);
}

static int name_check(const char *variable, struct variable_names *names, struct err *e)
{
        char meant[VARIABLE_NAME];
        enum setting setting;
        int device;

        switch (variable_judge(variable, meant)) {
        case VARIABLE_MISSPELT:
                return err_set(e, -EINVAL, "unknown variable '%.*s' (did you mean '%s'?)",
                               (int)strcspn(variable, "="), variable, meant);
        case VARIABLE_UNKNOWN:
                unknown_note(names, variable, meant);
                return 0;
        case VARIABLE_FOREIGN:
                return 0;
        case VARIABLE_READ:
                break;
        }
        if (!setting_find(variable, &setting, &device) || device < 0)
                return 0;
        if (device >= SHARE_DEVICES)
                return err_set(e, -EINVAL, "%.*s: GPUs are numbered from 0 to %d",
                               (int)strcspn(variable, "="), variable, SHARE_DEVICES - 1);
        names->numbers |= UINT64_C(1) << device;
        return 0;
}

int variable_walk(struct variable_names *ret_names, struct err *e)
{
        struct variable_names names = { 0 };
        int r = 0;

        for (char *const *entry = setting_variables(); entry && *entry && r == 0; entry++)
                if (is_candidate(*entry))
                        r = name_check(*entry, &names, e);
        if (r == 0)
                *ret_names = names;
        return r;
}

void variable_unknown_text(const struct variable_names *names, char text[static VARIABLE_TEXT])
{
        char more[32] = "", meant[VARIABLE_NAME + 24] = "";

        if (names->unknown > 1)
                snprintf(more, sizeof more, ", and %u more", names->unknown - 1);
        if (names->unknown_meant[0])
                snprintf(meant, sizeof meant, " (did you mean '%s'?)", names->unknown_meant);
        snprintf(text, VARIABLE_TEXT, "unknown variable '%s'%s%s", names->unknown_first, meant,
                 more);
        str_tame(text); /* names are the user's, and a sentence is a line */
}
