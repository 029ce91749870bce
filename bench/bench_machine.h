/* SPDX-License-Identifier: Apache-2.0 */
/* bench_machine: a machine whose time runs so fast that no call ever waits for the GPU. */
#pragma once

/* Makes it at the path, with "bench_timed" as a kernel that takes a microsecond; ends the program,
 * with a sentence, if it cannot. */
void bench_machine_make(const char *path);
