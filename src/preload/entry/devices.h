/* devices: CUDA's numbers for devices, and the accounts they are charged to. */
#pragma once

enum { DEVICES_NONE = -1 };

/* Asks the driver for its devices and opens the container's account. Once, after cuInit. 0, or a
 * negative errno: the account cannot be used. */
int devices_start(void);

/* The account of a CUDA device; DEVICES_NONE: the share does not name it. */
int devices_account(int ordinal);
/* The same for the current context's device. */
int devices_current_account(void);
