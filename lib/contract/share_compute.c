/* SPDX-License-Identifier: Apache-2.0 */
/* The compute of a share as options ask for it. */
#include "share_compute.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "quantity.h"

int share_compute_cores(const char *text, struct share_compute *compute, struct err *e)
{
        compute->has_cores = true;
        return quantity_parse_cap(text, "--cores", &compute->cores_percent, e);
}

int share_compute_most(const char *text, struct share_compute *compute, struct err *e)
{
        compute->has_most = true;
        return quantity_parse_cap(text, "--cores-max", &compute->most_percent, e);
}

int share_compute_priority(const char *text, struct share_compute *compute, struct err *e)
{
        if (strcmp(text, "high") != 0 && strcmp(text, "low") != 0)
                return err_set(e, -EINVAL,
                               "invalid value '%.60s' of --priority (expected high or low)", text);
        compute->is_latency = strcmp(text, "high") == 0 ? SHARE_YES : SHARE_NO;
        return 0;
}

int share_compute_copies(const char *text, struct share_compute *compute, struct err *e)
{
        if (strcmp(text, "count") != 0 && strcmp(text, "exempt") != 0)
                return err_set(e, -EINVAL,
                               "invalid value '%.60s' of --copies (expected count or exempt)",
                               text);
        compute->copies_count = strcmp(text, "count") == 0 ? SHARE_YES : SHARE_NO;
        return 0;
}

bool share_compute_is_said(const struct share_compute *compute)
{
        return compute->has_cores || compute->has_most || compute->is_latency != SHARE_UNSET ||
               compute->copies_count != SHARE_UNSET;
}

static void flag_put(enum share_tristate value, uint32_t flag, struct share_device *device)
{
        if (value == SHARE_YES)
                device->flags |= flag;
        if (value == SHARE_NO)
                device->flags &= ~flag;
}

int share_compute_put(const struct share_compute *compute, struct share_device *device,
                      struct err *e)
{
        const unsigned cores = compute->has_cores ? compute->cores_percent : device->cores_percent;
        unsigned most = compute->has_most ? compute->most_percent : device->cores_max_percent;

        if (compute->has_cores && cores == 0 && !compute->has_most)
                most = 0; /* no limit at all */
        if (most && most < cores)
                return err_set(e, -EINVAL, "--cores-max %u is below --cores %u", most, cores);
        device->cores_percent = cores;
        device->cores_max_percent = most;
        if (compute->has_cores || compute->has_most)
                device->policy = most ? SHARE_POLICY_BALANCE : SHARE_POLICY_FIXED;
        flag_put(compute->is_latency, SHARE_LATENCY, device);
        flag_put(compute->copies_count, SHARE_COPIES_COUNT, device);
        return 0;
}

void share_compute_text(unsigned cores_percent, unsigned cap_percent,
                        char text[static SHARE_COMPUTE_TEXT])
{
        if (!cap_percent)
                snprintf(text, SHARE_COMPUTE_TEXT, "no limit");
        else if (cap_percent > cores_percent && cores_percent)
                snprintf(text, SHARE_COMPUTE_TEXT, "%u%% to %u%%", cores_percent, cap_percent);
        else
                snprintf(text, SHARE_COMPUTE_TEXT, "%u%%", cap_percent);
}
