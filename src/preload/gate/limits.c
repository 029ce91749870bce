/* Limits. The share is mapped, so that a change by its owner holds from the next call on. */
#include "limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "quantity.h"
#include "setting.h"
#include "share.h"

static struct {
        struct share share;            /* file ≠ NULL: the authority */
        struct share_copy environment; /* otherwise */
        bool is_set;
        char region[SHARE_TEXT];
} limits;

static const struct share_device *limits_device(unsigned account)
{
        const struct share_copy *copy =
                limits.share.file ? share_current(&limits.share) : &limits.environment;

        return account < copy->device_count ? &copy->devices[account] : NULL;
}

static int value_error(struct err *e, const char *name, const struct err *why)
{
        return err_set(e, -EINVAL, "%s: %.200s", name, why->text);
}

static int size_read(enum setting setting, int device, uint64_t *bytes, bool *is_set, struct err *e)
{
        char name[64];
        const char *text = setting_get(setting, device, name);
        struct err why = { 0 };

        if (!text)
                return 0;
        if (quantity_parse_bytes(text, bytes, &why) < 0)
                return value_error(e, name, &why);
        *is_set = true;
        return 0;
}

static int ratio_read(int device, struct share_device *row, struct err *e)
{
        char name[64];
        const char *text = setting_get(SETTING_MEMORY_RATIO, device, name);
        struct err why = { 0 };
        double ratio;

        if (!text)
                return 0;
        if (quantity_parse_number(text, "memory ratio", 1, 1024, &ratio, &why) < 0)
                return value_error(e, name, &why);
        if (row->limit_bytes != SHARE_UNLIMITED)
                row->physical_bytes = (uint64_t)((double)row->limit_bytes / ratio);
        return 0;
}

static int flag_read(enum setting setting, int device, const char *yes, const char *no,
                     uint32_t flag, struct share_device *row, struct err *e)
{
        char name[64];
        const char *text = setting_get(setting, device, name);

        if (!text)
                return 0;
        if (strcasecmp(text, yes) == 0 || strcmp(text, "1") == 0)
                row->flags |= flag;
        else if (strcasecmp(text, no) != 0 && strcmp(text, "0") != 0)
                return err_set(e, -EINVAL, "%s: '%.40s' is neither '%s' nor '%s'", name, text, yes,
                               no);
        return 0;
}

static int device_read(int device, struct share_device *row, struct err *e)
{
        uint64_t limit = SHARE_UNLIMITED;
        int r = size_read(SETTING_MEMORY_LIMIT, device, &limit, &limits.is_set, e);

        if (r < 0)
                return r;
        /* 0 means no limit, as in the systems users come from. */
        row->limit_bytes = limit ? limit : SHARE_UNLIMITED;
        row->physical_bytes = row->limit_bytes;
        r = ratio_read(device, row, e);
        if (r == 0)
                r = flag_read(SETTING_MEMORY_OVERSOLD, device, "true", "false", SHARE_OVERSOLD, row,
                              e);
        if (r == 0)
                r = flag_read(SETTING_CONTEXT_MEMORY, device, "exempt", "count",
                              SHARE_CONTEXT_EXEMPT, row, e);
        return r;
}

static int environment_read(struct err *e)
{
        char name[64];

        limits.environment.device_count = SHARE_DEVICES;
        for (int i = 0; i < SHARE_DEVICES; i++) {
                int r = device_read(i, &limits.environment.devices[i], e);
                if (r < 0)
                        return r;
        }
        const char *path = setting_get(SETTING_REGION, -1, name);
        if (path && *path)
                snprintf(limits.region, sizeof limits.region, "%s", path);
        else
                snprintf(limits.region, sizeof limits.region, "/tmp/vgpu-region-%u", getuid());
        return 0;
}

int limits_start(struct err *e)
{
        const char *path = SHARE_PATH;

        /* In a container the mount decides; the variable is the tenant's to edit. */
        if (access(path, F_OK) < 0)
                path = getenv("VGPU_SHARE");
        if (!path || !*path)
                return environment_read(e);
        int r = share_open(path, false, &limits.share, e);
        if (r < 0)
                return r;
        limits.is_set = true;
        snprintf(limits.region, sizeof limits.region, "%s", share_current(&limits.share)->region);
        return 0;
}

bool limits_are_set(void)
{
        return limits.is_set;
}

int limits_account(const char *uuid, unsigned position)
{
        if (limits.share.file)
                return share_find_device(share_current(&limits.share), uuid);
        return position < SHARE_DEVICES ? (int)position : -1;
}

unsigned limits_device_count(void)
{
        return SHARE_DEVICES;
}

const char *limits_region_path(void)
{
        return limits.region;
}

uint64_t limits_bytes(unsigned account)
{
        const struct share_device *device = limits_device(account);

        return device ? atomic_load_explicit(&device->limit_bytes, memory_order_relaxed) : 0;
}

uint64_t limits_physical_bytes(unsigned account)
{
        const struct share_device *device = limits_device(account);

        return device ? device->physical_bytes : 0;
}

bool limits_context_is_exempt(unsigned account)
{
        const struct share_device *device = limits_device(account);

        return device && (device->flags & SHARE_CONTEXT_EXEMPT);
}
