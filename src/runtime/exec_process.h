/* SPDX-License-Identifier: Apache-2.0 */
/* exec_process: a program that is started in a container that runs already (`exec --process FILE`).
 *
 * It is told of the share what the container's first program was told. Without --process there is
 * nothing to do: the runtime behind takes the environment out of the completed config.json. */
#pragma once

#include "command_line.h"
#include "err.h"
#include "runtime_options.h"

/* Replaces the file, at once or not at all. A container without a share: nothing is touched. < 0:
 * the file is as it was, and the program may start all the same: the share holds without. */
int exec_process_inject(const struct command_line *line, const struct runtime_options *options,
                        struct err *e);
