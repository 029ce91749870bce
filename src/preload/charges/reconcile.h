/* SPDX-License-Identifier: Apache-2.0 */
/* reconcile: the charges against the driver's own figure for this process. */
#pragma once

#include <stdbool.h>

/* Compares, if no thread is between a charge and its settlement. True: something was given back. At most
 * ten times a second. */
bool reconcile(unsigned device_index);
