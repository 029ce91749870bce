/* SPDX-License-Identifier: Apache-2.0 */
/* The compute of a share as options ask for it: how much of a GPU's time, and how soon. */
#pragma once

#include <stdbool.h>

#include "err.h"
#include "share_layout.h"
#include "share_memory.h"

struct share_compute {
        bool has_cores, has_most; /* said */
        unsigned cores_percent;   /* 0: no limit */
        unsigned most_percent;    /* --cores-max; 0: nothing is borrowed */
        enum share_tristate is_latency;
        enum share_tristate copies_count;
};

/* The values of --cores, --cores-max, --priority and --copies. */
int share_compute_cores(const char *text, struct share_compute *compute, struct err *e);
int share_compute_most(const char *text, struct share_compute *compute, struct err *e);
int share_compute_priority(const char *text, struct share_compute *compute, struct err *e);
int share_compute_copies(const char *text, struct share_compute *compute, struct err *e);

/* Is anything asked for? */
bool share_compute_is_said(const struct share_compute *compute);

/* Puts it into a device of a share; what is not said stays as it is there. -EINVAL: the two together
 * make no sense. */
int share_compute_put(const struct share_compute *compute, struct share_device *device,
                      struct err *e);

/* "30%", "30% to 100%", "no limit": for share_cap_percent(), the second. */
enum { SHARE_COMPUTE_TEXT = 32 };
void share_compute_text(unsigned cores_percent, unsigned cap_percent,
                        char text[static SHARE_COMPUTE_TEXT]);
