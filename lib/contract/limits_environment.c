/* Limits by environment. Everything that is set is read and must mean something, whether it limits
 * anything here or not: a slip of the pen is told at once. */
#include "limits_environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "setting.h"

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

static int cores_check(struct share_device *row, bool had_policy, struct err *e)
{
        if (row->cores_max_percent && row->cores_max_percent < row->cores_percent)
                return err_set(e, -EINVAL, "%s: %u is below %s, which is %u",
                               setting_name(SETTING_CORES_MAX), row->cores_max_percent,
                               setting_name(SETTING_CORES), row->cores_percent);
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
        return r < 0 ? r : cores_check(row, had_policy, e);
}

/* The devices that some variable names by number: bit i, NAME_i. Most programs have none, and to ask for
 * every name of every device takes a millisecond. */
static uint64_t numbers_named(void)
{
        uint64_t named = 0;

        for (char *const *entry = setting_variables(); entry && *entry; entry++) {
                const char *end = strchr(*entry, '='), *p = end;
                while (p && p > *entry && p[-1] >= '0' && p[-1] <= '9')
                        p--;
                if (!p || p == end || p == *entry || p[-1] != '_')
                        continue;
                unsigned long number = strtoul(p, NULL, 10);
                if (number < SHARE_DEVICES)
                        named |= UINT64_C(1) << number;
        }
        return named;
}

/* "all", "none" and numbers have been acted upon by the container's runtime. */
static bool list_has_uuids(const char *list)
{
        return strchr(list, '-') != NULL;
}

/* The UUIDs of a list with commas become those of the rows. */
static void list_read(const char *list, struct share_copy *copy)
{
        for (unsigned i = 0; *list && i < SHARE_DEVICES; i++) {
                size_t length = strcspn(list, ",");
                snprintf(copy->devices[i].uuid, SHARE_UUID, "%.*s", (int)length, list);
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
                        snprintf(copy->devices[i].uuid, SHARE_UUID, "%s", one);
        }
}

int limits_environment_read(struct share_copy *ret_copy, struct err *e)
{
        struct share_device plain = { 0 };
        struct setting_value value;
        uint64_t numbers = numbers_named();
        int r = device_read(-1, &plain, e);

        ret_copy->device_count = SHARE_DEVICES;
        for (int i = 0; i < SHARE_DEVICES && r >= 0; i++)
                if (numbers >> i & 1)
                        r = device_read(i, &ret_copy->devices[i], e);
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

void limits_environment_card(struct share_copy *copy, unsigned position, uint64_t bytes)
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
                if (strcmp(copy->devices[i].uuid, uuid) == 0)
                        return i;
                named = i + 1;
        }
        return named + position; /* those that nobody named come last */
}

void limits_environment_region(char ret_path[SHARE_TEXT])
{
        char name[64];
        const char *path = setting_get(SETTING_REGION, -1, name);

        if (path && *path)
                snprintf(ret_path, SHARE_TEXT, "%s", path);
        else
                snprintf(ret_path, SHARE_TEXT, "/tmp/vgpu-region-%u", getuid());
}
