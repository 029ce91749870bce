/* SPDX-License-Identifier: Apache-2.0 */
/* glibc_old: before every other header. From 2.38 on, glibc's headers lead strtol() and sscanf() to functions that
 * older ones lack; libvgpu.so, built there, would not load in an older container. */
#pragma once

#include <features.h>

#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0
