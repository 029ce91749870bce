/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels print, kept until the host waits for the GPU. */
#pragma once

#include <stddef.h>

struct context;

/* Both take what a kernel of the context says; what does not fit its buffer is lost. */
void kernel_print_append(struct context *context, const char *bytes, size_t length);
void kernel_print_complain(struct context *context, const char *bytes, size_t length);

/* Writes it out: what was printed to stdout, failed assertions to stderr. */
void kernel_print_flush(void);
