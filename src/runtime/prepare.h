/* SPDX-License-Identifier: Apache-2.0 */
/* prepare: what a container that is about to start is given, and whether it may start at all. */
#pragma once

#include "command_line.h"
#include "err.h"
#include "runtime_options.h"

/* Completes its configuration. < 0: it must not start, and the sentence says why. */
int prepare_container(const struct command_line *line, const struct runtime_options *options,
                      struct err *e);
