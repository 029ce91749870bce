/* SPDX-License-Identifier: Apache-2.0 */
/* cdi: `vgpu-runtime cdi`, which makes a share and prints it as a device of the Container Device
 * Interface, for engines that inject such devices themselves. */
#pragma once

/* The words after "cdi". The exit status. */
int cdi_command(int argc, char **argv);
