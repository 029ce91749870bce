/* SPDX-License-Identifier: Apache-2.0 */
/* variable_charge: a list of them, short and seldom searched. */
#include "variable_charge.h"

#include "gate_memory.h"
#include "image_need.h"
#include "limits.h"
#include "lock.h"
#include "virtual.h"

enum { VARIABLES = 4096 };

static struct {
        struct lock lock;
        unsigned count;
        struct variable {
                const void *owner;
                CUdeviceptr address;
                uint64_t context; /* goes with it; 0: with its owner alone */
        } list[VARIABLES];
} variables;

static bool is_managed(CUdeviceptr address)
{
        unsigned managed = 0;

        return real_cuda.cuPointerGetAttribute &&
               real_cuda.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                               address) == CUDA_SUCCESS &&
               managed;
}

static bool is_known(CUdeviceptr address)
{
        for (unsigned i = 0; i < variables.count; i++)
                if (variables.list[i].address == address)
                        return true;
        return false;
}

static CUresult variable_charge(const struct target *target, uint64_t context, CUdeviceptr address,
                                size_t bytes)
{
        struct charge charge;
        CUresult r = gate_memory_admit(target->device_index, context, bytes, &charge);

        if (r != CUDA_SUCCESS)
                return r;
        if (virtual_has_rivals(target->ordinal))
                return virtual_keep(target, &charge, bytes, address);
        gate_memory_settle_as(&charge, CUDA_SUCCESS, address, HOLDING_MANAGED);
        return CUDA_SUCCESS;
}

CUresult variable_charge_note(const void *owner, CUdeviceptr address, size_t bytes,
                              bool is_everywhere)
{
        const struct target target = devices_current();
        const uint64_t context = is_everywhere ? 0 : target.context;
        CUresult r = CUDA_SUCCESS;

        if (!limits_are_set() || !ledger_is_open() || !target.context || !is_managed(address))
                return CUDA_SUCCESS;
        lock_take(&variables.lock);
        if (!is_known(address)) {
                r = variables.count < VARIABLES ? variable_charge(&target, context, address, bytes)
                                                : CUDA_ERROR_OUT_OF_MEMORY;
                if (r == CUDA_SUCCESS)
                        variables.list[variables.count++] =
                                (struct variable){ owner, address, context };
        }
        lock_give(&variables.lock);
        return r;
}

struct image_walk {
        const void *owner;
        variable_find_fn *find;
        bool is_everywhere;
        CUresult result;
};

static void name_visit(const char *name, void *user)
{
        struct image_walk *walk = user;
        CUdeviceptr address = 0;
        size_t bytes = 0;

        if (walk->result == CUDA_SUCCESS &&
            walk->find(&address, &bytes, walk->owner, name) == CUDA_SUCCESS && bytes)
                walk->result =
                        variable_charge_note(walk->owner, address, bytes, walk->is_everywhere);
}

CUresult variable_charge_image(const void *owner, const void *image, variable_find_fn *find,
                               bool is_everywhere)
{
        struct image_walk walk = { owner, find, is_everywhere, CUDA_SUCCESS };

        if (limits_are_set())
                image_managed(image, name_visit, &walk);
        return walk.result;
}

/* The driver has freed it with its module. */
static CUresult freed(CUdeviceptr address)
{
        (void)address;
        return CUDA_SUCCESS;
}

static void variable_release(CUdeviceptr address)
{
        CUresult r;

        if (!virtual_free(freed, address, &r))
                ledger_release(address);
}

void variable_charge_end(const void *owner)
{
        lock_take(&variables.lock);
        for (unsigned i = 0; i < variables.count; i++) {
                if (variables.list[i].owner != owner)
                        continue;
                variable_release(variables.list[i].address);
                variables.list[i--] = variables.list[--variables.count];
        }
        lock_give(&variables.lock);
}

/* What it held was released with it. */
void variable_charge_context_gone(uint64_t context)
{
        lock_take(&variables.lock);
        for (unsigned i = 0; i < variables.count; i++)
                if (variables.list[i].context == context)
                        variables.list[i--] = variables.list[--variables.count];
        lock_give(&variables.lock);
}
