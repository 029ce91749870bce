/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels print: two texts, each as long as the context's buffer at most. */
#include "kernel_print.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "scope.h"

struct text {
        char *bytes;
        size_t length, capacity;
};

static struct {
        pthread_mutex_t lock;
        struct text printed, complaint;
        _Atomic bool has_text;
} kernel_print = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void text_append(struct text *text, const char *bytes, size_t length, size_t limit)
{
        autounlock pthread_mutex_t *held = scope_lock(&kernel_print.lock);
        size_t capacity = text->capacity ? text->capacity : 4096;

        /* Like the real buffer: what does not fit is lost. */
        if (text->length + length > limit)
                return;
        while (capacity < text->length + length)
                capacity *= 2;
        if (capacity != text->capacity) {
                char *grown = realloc(text->bytes, capacity);

                if (!grown)
                        return;
                text->bytes = grown;
                text->capacity = capacity;
        }
        memcpy(text->bytes + text->length, bytes, length);
        text->length += length;
        kernel_print.has_text = true;
}

void kernel_print_append(struct context *context, const char *bytes, size_t length)
{
        text_append(&kernel_print.printed, bytes, length,
                    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE]);
}

void kernel_print_complain(struct context *context, const char *bytes, size_t length)
{
        text_append(&kernel_print.complaint, bytes, length,
                    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE]);
}

void kernel_print_flush(void)
{
        if (!atomic_load_explicit(&kernel_print.has_text, memory_order_acquire))
                return;

        autounlock pthread_mutex_t *held = scope_lock(&kernel_print.lock);
        if (kernel_print.printed.length)
                fwrite(kernel_print.printed.bytes, 1, kernel_print.printed.length, stdout);
        if (kernel_print.complaint.length)
                fwrite(kernel_print.complaint.bytes, 1, kernel_print.complaint.length, stderr);
        kernel_print.printed.length = 0;
        kernel_print.complaint.length = 0;
        kernel_print.has_text = false;
}
