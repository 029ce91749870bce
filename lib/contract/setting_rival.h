/* SPDX-License-Identifier: Apache-2.0 */
/* Two names of one setting, which say different things. */
#pragma once

#include "err.h"

/* Of all names with this device's number (−1: without one). -EINVAL: the name that counts says 0, no limit, and
 * another sets one; or another means nothing. Another difference is a sentence in *warning, if it has none. */
int setting_rival_check(int device, struct err *warning, struct err *e);
