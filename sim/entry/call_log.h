/* SPDX-License-Identifier: Apache-2.0 */
/* call_log: which functions were called, in order; the main instrument of the tests.
 * One line per call, `pid seq name result`, appended with one write(2). */
#pragma once

#include <stdbool.h>

/* False when path is NULL or cannot be opened (said once on stderr). */
bool call_log_open(const char *path);
void call_log_write(const char *function, int result);
