/* SPDX-License-Identifier: Apache-2.0 */
/* Limits by environment. Everything that is set is read and must mean something, whether it limits
 * anything here or not: a slip of the pen is told at once. */
#include "limits_environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device_list.h"
#include "region.h"
#include "scope.h"
#include "setting.h"
#include "setting_rival.h"
#include "str.h"

static int memory_read(int device, struct share_device *row, struct err *e)
{
        struct setting_value value;
        int r = setting_read(SETTING_MEMORY_LIMIT, device, &value, e);

        if (r < 0)
                return r;
        /* 0 means no limit, as in the systems users come from. */
        row->limit_bytes = r && value.number ? value.number : SHARE_UNLIMITED;
        row->physical_bytes = row->limit_bytes;
        r = setting_read(SETTING_MEMORY_RATIO, device, &value, e);
        if (r > 0 && row->limit_bytes != SHARE_UNLIMITED)
                row->physical_bytes = (uint64_t)((double)row->limit_bytes / value.ratio);
        if (r < 0)
                return r;
        r = setting_read(SETTING_OVERSOLD_HOST_MEMORY, device, &value, e);
        if (r > 0)
                row->host_bytes = value.number;
        return r;
}

static int flag_read(enum setting setting, int device, uint32_t flag, struct share_device *row,
                     struct err *e)
{
        struct setting_value value;
        int r = setting_read(setting, device, &value, e);

        if (r > 0 && value.number)
                row->flags |= flag;
        return r;
}

static int number_read(enum setting setting, int device, uint32_t *number, struct err *e)
{
        struct setting_value value;
        int r = setting_read(setting, device, &value, e);

        if (r > 0)
                *number = (uint32_t)value.number;
        return r;
}

static int cores_check(int device, struct share_device *row, bool had_policy, struct err *e)
{
        char most[64], cores[64];

        if (row->cores_max_percent && row->cores_max_percent < row->cores_percent) {
                setting_get(SETTING_CORES_MAX, device, most);
                setting_get(SETTING_CORES, device, cores);
                return err_set(e, -EINVAL, "%s: %u is below %s, which is %u", most,
                               row->cores_max_percent, cores, row->cores_percent);
        }
        /* Who says how much may be borrowed wants to borrow. */
        if (!had_policy && row->cores_max_percent)
                row->policy = SHARE_POLICY_BALANCE;
        return 0;
}

static int device_read(int device, struct share_device *row, struct err *e)
{
        uint32_t priority = 1;
        int r = memory_read(device, row, e);

        if (r >= 0)
                r = flag_read(SETTING_MEMORY_OVERSOLD, device, SHARE_OVERSOLD, row, e);
        if (r >= 0)
                r = flag_read(SETTING_CONTEXT_MEMORY, device, SHARE_CONTEXT_EXEMPT, row, e);
        if (r >= 0)
                r = flag_read(SETTING_COPIES, device, SHARE_COPIES_COUNT, row, e);
        if (r >= 0)
                r = number_read(SETTING_CORES, device, &row->cores_percent, e);
        if (r >= 0)
                r = number_read(SETTING_CORES_MAX, device, &row->cores_max_percent, e);
        if (r >= 0)
                r = number_read(SETTING_CORES_POLICY, device, &row->policy, e);
        const bool had_policy = r > 0;
        if (r >= 0)
                r = number_read(SETTING_PRIORITY, device, &priority, e);
        if (priority == 0)
                row->flags |= SHARE_LATENCY;
        return r < 0 ? r : cores_check(device, row, had_policy, e);
}

/* "all", "none" and numbers have been acted upon by the container's runtime. */
static bool list_has_uuids(const char *list)
{
        return strchr(list, '-') != NULL;
}

static void uuid_read(const char *text, size_t length, char ret_uuid[SHARE_UUID])
{
        for (; length && (*text == ' ' || *text == '\t'); length--)
                text++;
        while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
                length--;
        snprintf(ret_uuid, SHARE_UUID, "%.*s", (int)length, text);
}

/* The UUIDs of a list with commas become those of the rows. */
static void list_read(const char *list, struct share_copy *copy)
{
        for (unsigned i = 0; *list && i < SHARE_DEVICES; i++) {
                size_t length = strcspn(list, ",");
                uuid_read(list, length, copy->devices[i].uuid);
                list += length + (list[length] == ',');
        }
}

/* A list for all devices, or names with a number and one UUID each. */
static void uuids_read(uint64_t numbers, struct share_copy *copy)
{
        char name[64];
        const char *list = setting_get(SETTING_DEVICES, -1, name);

        if (list && list_has_uuids(list))
                list_read(list, copy);
        for (int i = 0; i < SHARE_DEVICES; i++) {
                const char *one = numbers >> i & 1 ? setting_get(SETTING_DEVICES, i, name) : NULL;
                if (one && one != list && list_has_uuids(one))
                        uuid_read(one, strlen(one), copy->devices[i].uuid);
        }
}

static int numbered_read(int device, struct share_device *row, struct err *rivals, struct err *e)
{
        const int r = device_read(device, row, e);

        return r < 0 ? r : setting_rival_check(device, rivals, e);
}

int limits_environment_read(struct share_copy *ret_copy, struct variable_names *ret_names,
                            struct err *e)
{
        struct share_device plain = { 0 };
        struct setting_value value;
        int r = variable_walk(ret_names, e);

        if (r == 0)
                r = device_read(-1, &plain, e);
        if (r >= 0)
                r = setting_rival_check(-1, &ret_names->rivals, e);
        /* Most programs name no device by number, and to ask for every name of every device takes a
         * millisecond. */
        const uint64_t numbers = r < 0 ? 0 : ret_names->numbers;
        ret_copy->device_count = SHARE_DEVICES;
        for (int i = 0; i < SHARE_DEVICES && r >= 0; i++)
                if (numbers >> i & 1)
                        r = numbered_read(i, &ret_copy->devices[i], &ret_names->rivals, e);
                else
                        ret_copy->devices[i] = plain;
        uuids_read(numbers, ret_copy);
        if (r >= 0)
                r = setting_read(SETTING_COMPATIBILITY, -1, &value, e);
        if (r > 0)
                ret_copy->compatibility = (uint32_t)value.number + 1;
        return r < 0 ? r : 0;
}

static double ratio_of(unsigned position)
{
        struct setting_value value;
        int r = setting_read(SETTING_MEMORY_RATIO, (int)position, &value, NULL);

        return r > 0 ? value.ratio : 1;
}

bool limits_environment_is_set(const struct share_copy *copy)
{
        for (unsigned i = 0; i < copy->device_count; i++)
                if (copy->devices[i].limit_bytes != SHARE_UNLIMITED ||
                    copy->devices[i].flags & SHARE_OVERSOLD || ratio_of(i) > 1 ||
                    share_cap_percent(&copy->devices[i]))
                        return true;
        return false;
}

void limits_environment_device_size(struct share_copy *copy, unsigned position, uint64_t bytes)
{
        struct share_device *row = &copy->devices[position];
        double ratio = ratio_of(position);

        if (row->limit_bytes != SHARE_UNLIMITED || (ratio <= 1 && !(row->flags & SHARE_OVERSOLD)))
                return;
        row->physical_bytes = bytes;
        row->limit_bytes = (uint64_t)((double)bytes * ratio);
}

unsigned limits_environment_position(const struct share_copy *copy, const char *uuid,
                                     unsigned position)
{
        unsigned named = 0;

        for (unsigned i = 0; i < SHARE_DEVICES; i++) {
                if (!copy->devices[i].uuid[0])
                        continue;
                if (strcasecmp(copy->devices[i].uuid, uuid) == 0)
                        return i;
                named = i + 1;
        }
        return named + position; /* those that nobody named come last */
}

bool limits_environment_names(const struct share_copy *copy, const char *uuid)
{
        for (unsigned i = 0; i < SHARE_DEVICES; i++)
                if (copy->devices[i].uuid[0] && strcasecmp(copy->devices[i].uuid, uuid) == 0)
                        return true;
        return false;
}

/* 0 and "no" limit nothing: of these nothing is lost. */
static bool says_something(enum setting setting, int device)
{
        struct setting_value value = { 0 };

        if (setting == SETTING_DEVICES || setting_read(setting, device, &value, NULL) <= 0)
                return false;
        return setting == SETTING_MEMORY_RATIO ? value.ratio > 1 : value.number != 0;
}

/* The list of devices by which the row goes. */
static const char *list_name(int device, char name[64])
{
        return setting_get(SETTING_DEVICES, device, name) ? name : "the list of devices";
}

static int row_complain(const char *variable, const struct share_copy *copy, int device,
                        unsigned count, struct err *e)
{
        const int length = (int)strcspn(variable, "=");
        char name[64];

        if (copy->devices[device].uuid[0])
                return err_set(e, -ENODEV, "%.*s is for GPU '%s' of %s, which is not here", length,
                               variable, copy->devices[device].uuid, list_name(device, name));
        for (int i = 0; i < SHARE_DEVICES; i++)
                if (copy->devices[i].uuid[0])
                        return err_set(e, -ENODEV, "%.*s: %s has no GPU %d", length, variable,
                                       list_name(i, name), device);
        return err_set(e, -ENODEV, "%.*s: there is no GPU %d here, only %u GPU%s", length, variable,
                       device, count, count == 1 ? "" : "s");
}

static bool list_is_used(const struct share_copy *copy)
{
        for (unsigned i = 0; i < SHARE_DEVICES; i++)
                if (copy->devices[i].uuid[0])
                        return true;
        return false;
}

/* The rows that have a GPU. With a list of devices a number counts its names: what the list leaves out has
 * no number, though its row has one. */
static uint64_t rows_present(const struct share_copy *copy, const struct limits_gpu *gpus,
                             unsigned count)
{
        const bool has_list = list_is_used(copy);
        uint64_t rows = 0;

        for (unsigned i = 0; i < count; i++) {
                const unsigned row =
                        limits_environment_position(copy, gpus[i].uuid, gpus[i].position);
                if (row < SHARE_DEVICES && (!has_list || copy->devices[row].uuid[0]))
                        rows |= UINT64_C(1) << row;
        }
        return rows;
}

int limits_environment_check(const struct share_copy *copy, const struct limits_gpu *gpus,
                             unsigned count, struct err *e)
{
        const uint64_t rows = rows_present(copy, gpus, count);
        unsigned whole = 0;

        for (unsigned i = 0; i < count; i++)
                whole += strncmp(gpus[i].uuid, "MIG-", 4) != 0;
        for (char *const *entry = setting_variables(); entry && *entry; entry++) {
                enum setting setting;
                int device;

                if (!setting_find(*entry, &setting, &device) || device < 0 ||
                    device >= SHARE_DEVICES || rows >> device & 1)
                        continue;
                if (says_something(setting, device))
                        return row_complain(*entry, copy, device, whole, e);
        }
        return 0;
}

/* The numbers that names have: of limits, which go by the order of devices, or of devices. */
static uint64_t numbers_find(bool of_devices)
{
        uint64_t numbers = 0;

        for (char *const *entry = setting_variables(); entry && *entry; entry++) {
                enum setting setting;
                int device;

                if (setting_find(*entry, &setting, &device) && device >= 0 &&
                    device < SHARE_DEVICES && (setting == SETTING_DEVICES) == of_devices)
                        numbers |= UINT64_C(1) << device;
        }
        return numbers;
}

/* A list as the sentence may have it: whoever wrote it may have written a line's end. */
static int list_refuse(const char *name, const char *list, const char *why, struct err *e)
{
        char text[61];

        snprintf(text, sizeof text, "%s", list);
        str_tame(text);
        return err_set(e, -EINVAL, "%s is '%s': %s", name, text, why);
}

/* A name with a number has one UUID. */
static int one_by_one_check(uint64_t numbers, struct err *e)
{
        char name[64];

        for (int device = 0; device < SHARE_DEVICES; device++)
                for (unsigned i = 0; numbers >> device & 1 && setting_alias(SETTING_DEVICES, i);
                     i++) {
                        const char *one = setting_get_as(SETTING_DEVICES, i, device, name);

                        if (one && (strchr(one, ',') || device_list_kind(one) != DEVICE_LIST_UUIDS))
                                return list_refuse(name, one, "it takes one UUID", e);
                }
        return 0;
}

/* "all" beside a list of UUIDs under another name: by which order do the numbers go? */
static int other_lists_check(const char *name, const char *list, struct err *e)
{
        char other[64];

        for (unsigned i = 0; setting_alias(SETTING_DEVICES, i); i++) {
                const char *text = setting_get_as(SETTING_DEVICES, i, -1, other);

                if (text && device_list_kind(text) == DEVICE_LIST_UUIDS)
                        return err_set(e, -EINVAL,
                                       "%s is '%s', and %s lists UUIDs: unset one of them", name,
                                       list, other);
        }
        return 0;
}

int limits_environment_list_check(bool has_runtime, struct err *e)
{
        const bool is_numbered = numbers_find(false) != 0;
        char name[64];
        const int r = is_numbered || has_runtime ? one_by_one_check(numbers_find(true), e) : 0;
        const char *list = setting_get(SETTING_DEVICES, -1, name);

        if (r < 0 || !list || !is_numbered)
                return r;
        const enum device_list kind = device_list_kind(list);
        if (kind == DEVICE_LIST_WORD)
                return other_lists_check(name, list, e);
        if (kind == DEVICE_LIST_UUIDS || has_runtime)
                return 0;
        if (kind != DEVICE_LIST_NUMBERS)
                return list_refuse(name, list,
                                   "beside a limit with a number it takes UUIDs, all, none or void",
                                   e);
        /* What NVIDIA's variable chooses by number, its runtime has chosen before we start. */
        if (strncmp(name, "NVIDIA_", strlen("NVIDIA_")) == 0)
                return 0;
        return list_refuse(name, list, "outside a container it takes UUIDs, not numbers", e);
}

void limits_environment_memory_name(unsigned position, char ret_name[64])
{
        if (!setting_get(SETTING_MEMORY_LIMIT, (int)position, ret_name))
                ret_name[0] = '\0';
}

/* A digest of the path that was asked for: who asks for the same shares one region. */
static uint32_t path_digest(const char *path)
{
        uint32_t digest = 2166136261u;

        for (; *path; path++)
                digest = (digest ^ (unsigned char)*path) * 16777619u;
        return digest;
}

/* Every folder above the file that is missing; others must be able to open it. */
static void folders_make(const char *path)
{
        char folder[SHARE_TEXT];

        snprintf(folder, sizeof folder, "%s", path);
        for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
                *slash = '\0';
                mkdir(folder, 0777);
                *slash = '/';
        }
}

/* Can the region be there? Opens, or makes, the file as region_open() would. */
static int file_try(const char *path)
{
        autoclose int fd =
                open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, REGION_MODE);

        return fd < 0 ? -errno : 0;
}

bool limits_environment_region(char ret_path[SHARE_TEXT], struct err *why)
{
        char name[64];
        const char *path = setting_get(SETTING_REGION, -1, name);
        const unsigned user = getuid();

        if (!path || !*path) {
                snprintf(ret_path, SHARE_TEXT, "/tmp/vgpu-region-%u", user);
                return true;
        }
        int r = strlen(path) < SHARE_TEXT ? file_try(path) : -ENAMETOOLONG;
        if (r == -ENOENT) {
                folders_make(path);
                r = file_try(path);
        }
        if (r == 0) {
                snprintf(ret_path, SHARE_TEXT, "%s", path);
                return true;
        }
        snprintf(ret_path, SHARE_TEXT, "/tmp/vgpu-region-%u-%08x", user, path_digest(path));
        err_set(why, r, "%s: cannot open '%.100s': %s; the region is '%s' instead", name, path,
                strerror(-r), ret_path);
        return false;
}
