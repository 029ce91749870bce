/* Limits by environment. Everything that is set is read and must mean something, whether it limits
 * anything here or not: a slip of the pen is told at once. */
#include "limits_environment.h"

#include <errno.h>
#include <stdio.h>
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

int limits_environment_read(struct share_copy *ret_copy, struct err *e)
{
        struct setting_value value;

        ret_copy->device_count = SHARE_DEVICES;
        for (int i = 0; i < SHARE_DEVICES; i++) {
                int r = device_read(i, &ret_copy->devices[i], e);
                if (r < 0)
                        return r;
        }
        int r = setting_read(SETTING_COMPATIBILITY, -1, &value, e);
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

/* "all", "none" and numbers have been acted upon by the container's runtime. */
static bool list_has_uuids(const char *list)
{
        return strchr(list, '-') != NULL;
}

/* The place of the UUID in a list with commas, −1: it is not there; *count: how many there are. */
static int list_find(const char *list, const char *uuid, unsigned *count)
{
        int place = -1;

        for (*count = 0; *list; (*count)++) {
                size_t length = strcspn(list, ",");
                if (length == strlen(uuid) && strncmp(list, uuid, length) == 0)
                        place = (int)*count;
                list += length + (list[length] == ',');
        }
        return place;
}

unsigned limits_environment_position(const char *uuid, unsigned position)
{
        char name[64];
        unsigned count;

        for (int i = 0; i < SHARE_DEVICES; i++) {
                const char *text = setting_get(SETTING_DEVICES, i, name);
                if (!text || !list_has_uuids(text))
                        continue;
                /* One list for all; or a name with the number of the device, and its UUID alone. */
                int place = list_find(text, uuid, &count);
                bool is_list = name[strlen(name) - 1] < '0' || name[strlen(name) - 1] > '9';
                if (place >= 0)
                        return is_list ? (unsigned)place : (unsigned)i;
                if (is_list)
                        return count + position; /* those that nobody named come last */
        }
        return position;
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
