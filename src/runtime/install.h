/* SPDX-License-Identifier: Apache-2.0 */
/* vgpu-runtime install: puts this program and its library on a node, for the container engine. */
#pragma once

/* The words after "install"; the exit status. */
int install_command(int argc, char **argv);
