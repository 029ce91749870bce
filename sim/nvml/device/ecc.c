/* SPDX-License-Identifier: Apache-2.0 */
/* ecc: error correction: modes, counters, retired pages, remapped rows.
 *
 * The machine counts corrected and uncorrected errors; all are taken to be in device memory. */
#include "ecc.h"

#include "board.h"

static bool ecc_is_on(const struct machine_gpu *gpu)
{
        return gpu->has_ecc && !gpu->is_ecc_off;
}

uint64_t ecc_total(const struct machine_gpu *gpu, nvmlMemoryErrorType_t type)
{
        return atomic_load(type == NVML_MEMORY_ERROR_TYPE_CORRECTED ? &gpu->ecc_corrected
                                                                    : &gpu->ecc_uncorrected);
}

static nvmlReturn_t target_with_ecc(nvmlDevice_t device, const void *answer, struct target *ret)
{
        nvmlReturn_t r = target_any(device, answer, ret);

        return r == NVML_SUCCESS && !ret->gpu->has_ecc ? NVML_ERROR_NOT_SUPPORTED : r;
}

/* Counters exist only while the mode is on. */
static nvmlReturn_t target_with_counters(nvmlDevice_t device, const void *answer,
                                         nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter,
                                         struct target *ret)
{
        nvmlReturn_t r = target_with_ecc(device, answer, ret);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)type >= NVML_MEMORY_ERROR_TYPE_COUNT ||
            (unsigned)counter >= NVML_ECC_COUNTER_TYPE_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        return ecc_is_on(ret->gpu) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t sim_nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current,
                                      nvmlEnableState_t *pending)
{
        struct target t;
        nvmlReturn_t r = target_with_ecc(device, current, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!pending)
                return NVML_ERROR_INVALID_ARGUMENT;
        *current = (nvmlEnableState_t)!t.gpu->is_ecc_off;
        *pending = (nvmlEnableState_t)!t.gpu->is_ecc_off_pending;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetDefaultEccMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
        struct target t;
        nvmlReturn_t r = target_with_ecc(device, mode, &t);

        if (r == NVML_SUCCESS)
                *mode = NVML_FEATURE_ENABLED;
        return r;
}

/* It takes effect at the next reset of the GPU. */
nvmlReturn_t sim_nvmlDeviceSetEccMode(nvmlDevice_t device, nvmlEnableState_t mode)
{
        struct target t;
        nvmlReturn_t r = target_with_ecc(device, device, &t);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)mode > NVML_FEATURE_ENABLED)
                return NVML_ERROR_INVALID_ARGUMENT;
        t.gpu->is_ecc_off_pending = mode == NVML_FEATURE_DISABLED;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceClearEccErrorCounts(nvmlDevice_t device, nvmlEccCounterType_t counter)
{
        struct target t;
        nvmlReturn_t r =
                target_with_counters(device, device, NVML_MEMORY_ERROR_TYPE_CORRECTED, counter, &t);

        if (r != NVML_SUCCESS)
                return r;
        atomic_store(&t.gpu->ecc_corrected, 0);
        atomic_store(&t.gpu->ecc_uncorrected, 0);
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                             nvmlEccCounterType_t counter,
                                             unsigned long long *count)
{
        struct target t;
        nvmlReturn_t r = target_with_counters(device, count, type, counter, &t);

        if (r == NVML_SUCCESS)
                *count = ecc_total(t.gpu, type);
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetDetailedEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                                nvmlEccCounterType_t counter,
                                                nvmlEccErrorCounts_t *counts)
{
        struct target t;
        nvmlReturn_t r = target_with_counters(device, counts, type, counter, &t);

        if (r == NVML_SUCCESS)
                *counts = (nvmlEccErrorCounts_t){ .deviceMemory = ecc_total(t.gpu, type) };
        return r;
}

/* Ampere and later count device memory and SRAM; those before, each kind of memory. */
static bool has_location(const struct machine_gpu *gpu, nvmlMemoryLocation_t location)
{
        if (gpu->architecture >= NVML_DEVICE_ARCH_AMPERE)
                return location == NVML_MEMORY_LOCATION_DEVICE_MEMORY ||
                       location == NVML_MEMORY_LOCATION_SRAM;
        return location <= NVML_MEMORY_LOCATION_TEXTURE_MEMORY ||
               location == NVML_MEMORY_LOCATION_CBU;
}

nvmlReturn_t sim_nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                                 nvmlEccCounterType_t counter,
                                                 nvmlMemoryLocation_t location,
                                                 unsigned long long *count)
{
        struct target t;
        nvmlReturn_t r = target_with_counters(device, count, type, counter, &t);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)location >= NVML_MEMORY_LOCATION_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        if (!has_location(t.gpu, location))
                return NVML_ERROR_NOT_SUPPORTED;
        *count = location == NVML_MEMORY_LOCATION_DEVICE_MEMORY ? ecc_total(t.gpu, type) : 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device,
                                                 nvmlEccSramErrorStatus_t *status)
{
        struct target t;
        nvmlReturn_t r = target_with_ecc(device, status, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (status->version != NVML_VERSION_OF(nvmlEccSramErrorStatus_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (t.gpu->architecture < NVML_DEVICE_ARCH_AMPERE)
                return NVML_ERROR_NOT_SUPPORTED;
        *status = (nvmlEccSramErrorStatus_t){ .version = status->version };
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts(
        nvmlDevice_t device, nvmlEccSramUniqueUncorrectedErrorCounts_t *counts)
{
        struct target t;
        nvmlReturn_t r = target_with_ecc(device, counts, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (counts->version != NVML_VERSION_OF(nvmlEccSramUniqueUncorrectedErrorCounts_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        counts->entryCount = 0;
        return NVML_SUCCESS;
}

/* GPUs either retire pages (before Ampere) or remap rows. */
static nvmlReturn_t target_with_pages(nvmlDevice_t device, const void *answer, struct target *ret)
{
        nvmlReturn_t r = target_with_ecc(device, answer, ret);

        return r == NVML_SUCCESS && board_of(ret->gpu)->has_row_remapper ? NVML_ERROR_NOT_SUPPORTED
                                                                         : r;
}

static nvmlReturn_t target_with_rows(nvmlDevice_t device, const void *answer, struct target *ret)
{
        nvmlReturn_t r = target_gpu(device, answer, ret);

        return r == NVML_SUCCESS && !board_of(ret->gpu)->has_row_remapper ? NVML_ERROR_NOT_SUPPORTED
                                                                          : r;
}

static nvmlReturn_t give_pages(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
                               unsigned *count)
{
        struct target t;
        nvmlReturn_t r = target_with_pages(device, count, &t);

        if (r != NVML_SUCCESS)
                return r;
        if ((unsigned)cause >= NVML_PAGE_RETIREMENT_CAUSE_COUNT)
                return NVML_ERROR_INVALID_ARGUMENT;
        *count = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
                                           unsigned int *count, unsigned long long *addresses)
{
        (void)addresses;
        return give_pages(device, cause, count);
}

nvmlReturn_t sim_nvmlDeviceGetRetiredPages_v2(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
                                              unsigned int *count, unsigned long long *addresses,
                                              unsigned long long *timestamps)
{
        (void)addresses, (void)timestamps;
        return give_pages(device, cause, count);
}

nvmlReturn_t sim_nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device,
                                                        nvmlEnableState_t *is_pending)
{
        struct target t;
        nvmlReturn_t r = target_with_pages(device, is_pending, &t);

        if (r == NVML_SUCCESS)
                *is_pending = NVML_FEATURE_DISABLED;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrected,
                                           unsigned int *uncorrected, unsigned int *is_pending,
                                           unsigned int *is_failed)
{
        struct target t;
        nvmlReturn_t r = target_with_rows(device, corrected, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!uncorrected || !is_pending || !is_failed)
                return NVML_ERROR_INVALID_ARGUMENT;
        *corrected = *uncorrected = *is_pending = *is_failed = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetRemappedRows_v2(nvmlDevice_t device, nvmlRemappedRowsInfo_v2_t *info)
{
        struct target t;
        nvmlReturn_t r = target_with_rows(device, info, &t);

        if (r == NVML_SUCCESS)
                *info = (nvmlRemappedRowsInfo_v2_t){ 0 };
        return r;
}

/* Banks by how many spare rows they have left. */
nvmlReturn_t sim_nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device,
                                                   nvmlRowRemapperHistogramValues_t *values)
{
        struct target t;
        nvmlReturn_t r = target_with_rows(device, values, &t);

        if (r == NVML_SUCCESS)
                *values = (nvmlRowRemapperHistogramValues_t){ .max = t.gpu->memory_bus_bits / 8 };
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetRepairStatus(nvmlDevice_t device, nvmlRepairStatus_t *status)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, status, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (status->version != NVML_VERSION_OF(nvmlRepairStatus_t, 1))
                return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        status->bChannelRepairPending = status->bTpcRepairPending = 0;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetUnrepairableMemoryFlag_v1(nvmlDevice_t device,
                                                        nvmlUnrepairableMemoryStatus_v1_t *status)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, status, &t);

        if (r == NVML_SUCCESS)
                status->bUnrepairableMemory = 0;
        return r;
}
