/* SPDX-License-Identifier: Apache-2.0 */
/* group_share: the share of the container that a control group belongs to. */
#pragma once

#include "control_group.h"
#include "share_book.h"

/* NULL: the container has none. */
struct held_share *group_share_find(struct share_book *book, const struct control_group *group);
