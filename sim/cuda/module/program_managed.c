/* SPDX-License-Identifier: Apache-2.0 */
/* Managed variables belong to no context: runtimes ask for them before there is one. */
#include "program_managed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "program_source.h"
#include "ptx.h"
#include "scope.h"

/* Owns them: not on any list, never current, never ended. */
static struct {
        pthread_mutex_t lock;
        struct context owner;
} program_managed_all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct context *owner_get(void)
{
        struct context *owner = &program_managed_all.owner;

        if (!owner->device) {
                owner->device = &driver.devices[0];
                owner->magic = CONTEXT_MAGIC;
        }
        return owner;
}

static void managed_done(struct program *program)
{
        for (size_t i = 0; i < program->variable_count; i++)
                if (program->managed[i])
                        memory_free(program->managed[i]);
        free(program->managed);
}

static CUresult fill(struct program *program, size_t index, struct ptx_module *ptx,
                     CUdeviceptr address)
{
        const struct program_variable *variable = &program->variables[index];
        struct ptx_module *taken = NULL;
        CUresult r = ptx ? CUDA_SUCCESS : program_take_ptx(program, &taken);
        uint64_t low, high;
        void *bytes = memory_resolve(owner_get(), address, variable->bytes, true, &low, &high);

        ptx = ptx ? ptx : taken;
        if (bytes && r == CUDA_SUCCESS) {
                if (variable->has_ptx && ptx_module_has_initial(ptx, variable->ptx_index))
                        ptx_module_write_initial(ptx, variable->ptx_index, bytes);
                else
                        memset(bytes, 0, variable->bytes);
        }
        program_give_ptx(program, taken);
        return r;
}

CUresult program_managed(struct program *program, size_t index, struct ptx_module *ptx,
                         CUdeviceptr *ret_address)
{
        autounlock pthread_mutex_t *held = scope_lock(&program_managed_all.lock);
        CUresult r = CUDA_SUCCESS;

        if (!program->managed) {
                program->managed = calloc(program->variable_count, sizeof *program->managed);
                if (!program->managed)
                        return CUDA_ERROR_OUT_OF_MEMORY;
                program->managed_done = managed_done;
        }
        if (!program->managed[index]) {
                r = memory_alloc(owner_get(), program->variables[index].bytes, MEMORY_MANAGED,
                                 &program->managed[index]);
                if (r == CUDA_SUCCESS)
                        r = fill(program, index, ptx, program->managed[index]);
        }
        *ret_address = program->managed[index];
        return r;
}
