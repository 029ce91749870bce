/* SPDX-License-Identifier: Apache-2.0 */
/* node_option: kinds of options that vgpu-node has beyond those of option_row.h. */
#pragma once

#include "node_options.h"
#include "option_row.h"

/* A field of struct node_options. */
#define OPTION_TARGET(type, field) OPTION_FIELD(struct node_options, type, field)

/* unsigned, from 1 to `most`. */
int option_take_whole(void *options, const struct option_row *row, const char *value,
                      struct err *e);
/* unsigned: milliseconds, of seconds from 1 to `most`. */
int option_take_seconds(void *options, const struct option_row *row, const char *value,
                        struct err *e);
/* double, from 1 to 100. */
int option_take_scaling(void *options, const struct option_row *row, const char *value,
                        struct err *e);
/* uint64_t. */
int option_take_bytes(void *options, const struct option_row *row, const char *value,
                      struct err *e);
/* struct address. */
int option_take_address(void *options, const struct option_row *row, const char *value,
                        struct err *e);
