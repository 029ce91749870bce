/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices a process sees: CUDA_VISIBLE_DEVICES, and MIG. */
#pragma once

/* Fills driver.devices and driver.device_count from the machine and the environment. */
void visible_devices(void);
