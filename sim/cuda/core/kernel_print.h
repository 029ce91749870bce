/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels print, kept until the host waits for the GPU. */
#pragma once

#include <stddef.h>

/* Both take what a kernel says; what does not fit the buffer of its context is lost. */
void kernel_print_append(const char *bytes, size_t length, size_t buffer_bytes);
void kernel_print_complain(const char *bytes, size_t length, size_t buffer_bytes);

/* Writes it out: what was printed to stdout, failed assertions to stderr. */
void kernel_print_flush(void);
