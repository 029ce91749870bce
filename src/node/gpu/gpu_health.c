/* SPDX-License-Identifier: Apache-2.0 */
/* When a GPU is unhealthy, and when it is healthy again. */
#include "gpu_health.h"

#include <stddef.h>

bool gpu_health_xid_is_programs(uint64_t xid)
{
        static const uint64_t programs[] = {
                13,  /* an exception of a kernel */
                31,  /* a page fault of a kernel */
                43,  /* the program stopped */
                45,  /* its channel was taken down, after another error */
                68,  /* an exception of the video decoder */
                109, /* it was switched away too slowly */
        };

        for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
                if (programs[i] == xid)
                        return true;
        return false;
}

void gpu_health_trouble(struct gpu_health *health, uint64_t now_ns)
{
        health->had_trouble = true;
        health->trouble_ns = now_ns;
}

bool gpu_health_is_good(const struct gpu_health *health, uint64_t quiet_ns, uint64_t now_ns)
{
        return !health->had_trouble || now_ns - health->trouble_ns >= quiet_ns;
}
