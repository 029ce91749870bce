/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels print: two texts, each as long as the context's buffer at most. */
#include "kernel_print.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void kernel_print_append(const char *bytes, size_t length, size_t buffer_bytes)
{
        text_append(&kernel_print.printed, bytes, length, buffer_bytes);
}

void kernel_print_complain(const char *bytes, size_t length, size_t buffer_bytes)
{
        text_append(&kernel_print.complaint, bytes, length, buffer_bytes);
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
