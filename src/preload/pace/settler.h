/* SPDX-License-Identifier: Apache-2.0 */
/* settler: a thread of ours that settles work which nobody waits for, and notes that it still runs. It
 * exists once something was launched under a limit, and sleeps while all is settled. */
#pragma once

/* Work was submitted: somebody has to look after it. No system call while the thread is awake. */
void settler_watch(void);
/* In a forked child. */
void settler_forked(void);
