/* SPDX-License-Identifier: Apache-2.0 */
/* own_thread: a thread of ours in the program's process. */
#pragma once

#include <stdbool.h>

/* It never ends. False: there is none, and the log says what for. */
bool own_thread_start(void *(*run)(void *), void *argument, const char *purpose);
