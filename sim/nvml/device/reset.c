/* SPDX-License-Identifier: Apache-2.0 */
/* reset: a GPU starts anew. */
#include "reset.h"

#include <stdlib.h>
#include <string.h>

#include "mig.h"
#include "pci_text.h"

struct reset_group {
        unsigned count;
        nvmlDevice_t devices[];
};

nvmlReturn_t reset_group_new(struct reset_group **ret_group, const nvmlDevice_t *devices,
                             unsigned count, unsigned flags)
{
        struct reset_group *group;

        (void)flags;
        if (!ret_group || !devices || count == 0 || count > MACHINE_GPUS)
                return NVML_ERROR_INVALID_ARGUMENT;
        group = malloc(sizeof *group + count * sizeof group->devices[0]);
        if (!group)
                return NVML_ERROR_MEMORY;
        group->count = count;
        memcpy(group->devices, devices, count * sizeof group->devices[0]);
        *ret_group = group;
        return NVML_SUCCESS;
}

nvmlReturn_t reset_group_names(const struct reset_group *group, char **names, unsigned *ret_count)
{
        for (unsigned i = 0; i < group->count; i++) {
                struct target t;
                nvmlReturn_t r = target_gpu(group->devices[i], names[i], &t);
                if (r != NVML_SUCCESS)
                        return r;
                pci_text_long(t.gpu, names[i]);
        }
        *ret_count = group->count;
        return NVML_SUCCESS;
}

nvmlReturn_t reset_group_free(struct reset_group *group)
{
        free(group);
        return NVML_SUCCESS;
}

nvmlReturn_t reset_is_fabric_managed(unsigned *ret_is_managed)
{
        if (!ret_is_managed)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_is_managed = 0;
        return NVML_SUCCESS;
}

static nvmlReturn_t reset_gpu(nvmlDevice_t device)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, device, &t);

        if (r == NVML_SUCCESS)
                r = session_result(mig_reset(t.machine, t.index));
        if (r != NVML_SUCCESS)
                return r;
        t.gpu->is_ecc_off = t.gpu->is_ecc_off_pending;
        t.gpu->application_sm_mhz = t.gpu->application_memory_mhz = t.gpu->locked_sm_mhz = 0;
        atomic_store(&t.gpu->ecc_corrected, 0);
        atomic_store(&t.gpu->ecc_uncorrected, 0);
        return NVML_SUCCESS;
}

nvmlReturn_t reset_gpus(unsigned count, const nvmlDevice_t *devices, nvmlReturn_t *ret_results,
                        unsigned *ret_has_switches)
{
        nvmlReturn_t r = NVML_SUCCESS;

        if (!devices || !ret_results || !ret_has_switches)
                return NVML_ERROR_INVALID_ARGUMENT;
        *ret_has_switches = 0;
        for (unsigned i = 0; i < count; i++) {
                ret_results[i] = reset_gpu(devices[i]);
                if (ret_results[i] != NVML_SUCCESS)
                        r = ret_results[i];
        }
        return r;
}
