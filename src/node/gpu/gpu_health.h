/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_health: is a GPU fit to be handed out? Errors of programs are not the GPU's; after a trouble of
 * its own it must stay quiet for a while before it counts again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct gpu_health {
        bool had_trouble;
        uint64_t trouble_ns; /* when it was seen last */
};

/* Of the Xid numbers, those that a program causes and a program's end cures. */
bool gpu_health_xid_is_programs(uint64_t xid);

void gpu_health_trouble(struct gpu_health *health, uint64_t now_ns);
bool gpu_health_is_good(const struct gpu_health *health, uint64_t quiet_ns, uint64_t now_ns);
