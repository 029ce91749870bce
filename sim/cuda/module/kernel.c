/* SPDX-License-Identifier: Apache-2.0 */
/* The handles of a library's kernels. */
#include "kernel.h"

#include <pthread.h>
#include <stdlib.h>

#include "scope.h"

static struct {
        pthread_mutex_t lock;
        struct kernel *pool;
} kernels = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct kernel *kernel_get(CUkernel handle)
{
        struct kernel *kernel = (struct kernel *)handle;

        if ((uintptr_t)handle < 4096 || (uintptr_t)handle % _Alignof(struct kernel) != 0)
                return NULL;
        return kernel->magic == KERNEL_MAGIC ? kernel : NULL;
}

struct kernel *kernel_new(struct library *library, const struct program_kernel *program,
                          size_t index)
{
        pthread_mutex_lock(&kernels.lock);
        struct kernel *kernel = kernels.pool;

        if (kernel)
                kernels.pool = kernel->next;
        pthread_mutex_unlock(&kernels.lock);
        if (!kernel)
                kernel = malloc(sizeof *kernel);
        if (kernel)
                *kernel = (struct kernel){
                        .magic = KERNEL_MAGIC,
                        .library = library,
                        .program = program,
                        .index = index,
                };
        return kernel;
}

void kernel_free(struct kernel *kernel)
{
        if (!kernel)
                return;

        autounlock pthread_mutex_t *held = scope_lock(&kernels.lock);

        free(kernel->settings);
        kernel->settings = NULL;
        kernel->magic = 0;
        kernel->next = kernels.pool;
        kernels.pool = kernel;
}
