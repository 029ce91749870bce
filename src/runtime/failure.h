/* SPDX-License-Identifier: Apache-2.0 */
/* failure: why a container does not start, in one sentence, where its user looks: standard error,
 * and the runtime's log file, out of which containerd, CRI-O and Docker take what `kubectl
 * describe` shows. */
#pragma once

#include "command_line.h"

/* The exit status for it. */
int failure_tell(const struct command_line *line, const char *sentence);

/* What a container that starts should know: lines, which are cut up. Into the log file; to standard error
 * with VGPU_LOG=info. NULL is fine. */
void failure_note(const struct command_line *line, char *sentences);
