/* SPDX-License-Identifier: Apache-2.0 */
/* clock: frequencies: now, at most, on demand; and why they are not higher. */
#include "board.h"
#include "load.h"

enum { CLOCK_STEP_MHZ = 15 };

static nvmlReturn_t pick(nvmlClockType_t type, unsigned sm, unsigned memory, unsigned video,
                         unsigned *ret_mhz)
{
        switch (type) {
        case NVML_CLOCK_GRAPHICS:
        case NVML_CLOCK_SM:
                *ret_mhz = sm;
                return NVML_SUCCESS;
        case NVML_CLOCK_MEM:
                *ret_mhz = memory;
                return NVML_SUCCESS;
        case NVML_CLOCK_VIDEO:
                *ret_mhz = video;
                return NVML_SUCCESS;
        default:
                return NVML_ERROR_INVALID_ARGUMENT;
        }
}

nvmlReturn_t sim_nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                        unsigned int *mhz)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_any(device, mhz, &t);

        if (r != NVML_SUCCESS)
                return r;
        load_of_gpu(&t, &load);
        return pick(type, load.sm_mhz, load.memory_mhz, load.video_mhz, mhz);
}

nvmlReturn_t sim_nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                           unsigned int *mhz)
{
        struct target t;
        nvmlReturn_t r = target_any(device, mhz, &t);

        if (r != NVML_SUCCESS)
                return r;
        return pick(type, t.gpu->sm_clock_mhz, t.gpu->memory_clock_mhz, t.gpu->video_clock_mhz,
                    mhz);
}

/* Clocks for applications exist on data centre GPUs only. */
static nvmlReturn_t target_with_applications(nvmlDevice_t device, const void *answer,
                                             struct target *ret)
{
        nvmlReturn_t r = target_gpu(device, answer, ret);

        return r == NVML_SUCCESS && ret->gpu->brand == NVML_BRAND_GEFORCE ? NVML_ERROR_NOT_SUPPORTED
                                                                          : r;
}

static nvmlReturn_t pick_applications(nvmlClockType_t type, unsigned sm, unsigned memory,
                                      unsigned *ret_mhz)
{
        if (type == NVML_CLOCK_VIDEO)
                return NVML_ERROR_NOT_SUPPORTED;
        return pick(type, sm, memory, 0, ret_mhz);
}

nvmlReturn_t sim_nvmlDeviceGetApplicationsClock(nvmlDevice_t device, nvmlClockType_t type,
                                                unsigned int *mhz)
{
        struct target t;
        nvmlReturn_t r = target_with_applications(device, mhz, &t);

        if (r != NVML_SUCCESS)
                return r;
        const struct machine_gpu *gpu = t.gpu;
        return pick_applications(
                type, gpu->application_sm_mhz ? gpu->application_sm_mhz : gpu->sm_clock_mhz,
                gpu->application_memory_mhz ? gpu->application_memory_mhz : gpu->memory_clock_mhz,
                mhz);
}

nvmlReturn_t sim_nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, nvmlClockType_t type,
                                                       unsigned int *mhz)
{
        struct target t;
        nvmlReturn_t r = target_with_applications(device, mhz, &t);

        return r != NVML_SUCCESS
                       ? r
                       : pick_applications(type, t.gpu->sm_clock_mhz, t.gpu->memory_clock_mhz, mhz);
}

nvmlReturn_t sim_nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t device, nvmlClockType_t type,
                                                    unsigned int *mhz)
{
        struct target t;
        nvmlReturn_t r = target_with_applications(device, mhz, &t);

        if (r != NVML_SUCCESS)
                return r;
        return type == NVML_CLOCK_MEM ? NVML_ERROR_NOT_SUPPORTED
                                      : pick_applications(type, t.gpu->sm_clock_mhz, 0, mhz);
}

nvmlReturn_t sim_nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t id,
                                    unsigned int *mhz)
{
        switch (id) {
        case NVML_CLOCK_ID_CURRENT:
                return sim_nvmlDeviceGetClockInfo(device, type, mhz);
        case NVML_CLOCK_ID_APP_CLOCK_TARGET:
                return sim_nvmlDeviceGetApplicationsClock(device, type, mhz);
        case NVML_CLOCK_ID_APP_CLOCK_DEFAULT:
                return sim_nvmlDeviceGetDefaultApplicationsClock(device, type, mhz);
        case NVML_CLOCK_ID_CUSTOMER_BOOST_MAX:
                return sim_nvmlDeviceGetMaxCustomerBoostClock(device, type, mhz);
        default:
                return NVML_ERROR_INVALID_ARGUMENT;
        }
}

static bool is_memory_clock(const struct machine_gpu *gpu, unsigned mhz)
{
        return mhz == gpu->memory_clock_mhz || mhz == board_of(gpu)->idle_memory_mhz;
}

nvmlReturn_t sim_nvmlDeviceSetApplicationsClocks(nvmlDevice_t device, unsigned int memory_mhz,
                                                 unsigned int sm_mhz)
{
        struct target t;
        nvmlReturn_t r = target_with_applications(device, device, &t);

        if (r != NVML_SUCCESS)
                return r;
        unsigned lowest = board_of(t.gpu)->idle_sm_mhz;
        if (!is_memory_clock(t.gpu, memory_mhz) || sm_mhz < lowest ||
            sm_mhz > t.gpu->sm_clock_mhz || (t.gpu->sm_clock_mhz - sm_mhz) % CLOCK_STEP_MHZ)
                return NVML_ERROR_INVALID_ARGUMENT;
        t.gpu->application_sm_mhz = sm_mhz;
        t.gpu->application_memory_mhz = memory_mhz;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceResetApplicationsClocks(nvmlDevice_t device)
{
        struct target t;
        nvmlReturn_t r = target_with_applications(device, device, &t);

        if (r == NVML_SUCCESS)
                t.gpu->application_sm_mhz = t.gpu->application_memory_mhz = 0;
        return r;
}

nvmlReturn_t sim_nvmlDeviceSetGpuLockedClocks(nvmlDevice_t device, unsigned int min_mhz,
                                              unsigned int max_mhz)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, device, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (min_mhz > max_mhz || max_mhz == 0)
                return NVML_ERROR_INVALID_ARGUMENT;
        t.gpu->locked_sm_mhz = max_mhz < t.gpu->sm_clock_mhz ? max_mhz : t.gpu->sm_clock_mhz;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceResetGpuLockedClocks(nvmlDevice_t device)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, device, &t);

        if (r == NVML_SUCCESS)
                t.gpu->locked_sm_mhz = 0;
        return r;
}

nvmlReturn_t sim_nvmlDeviceSetMemoryLockedClocks(nvmlDevice_t device, unsigned int min_mhz,
                                                 unsigned int max_mhz)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, device, &t);

        (void)min_mhz, (void)max_mhz;
        return r != NVML_SUCCESS ? r : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t sim_nvmlDeviceResetMemoryLockedClocks(nvmlDevice_t device)
{
        return sim_nvmlDeviceSetMemoryLockedClocks(device, 0, 0);
}

nvmlReturn_t sim_nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned int *count,
                                                    unsigned int *mhz)
{
        struct target t;
        nvmlReturn_t r = target_with_applications(device, count, &t);

        if (r != NVML_SUCCESS)
                return r;
        unsigned idle = board_of(t.gpu)->idle_memory_mhz;
        unsigned needed = idle == t.gpu->memory_clock_mhz ? 1 : 2;
        if (target_list_fits(count, needed, mhz, &r)) {
                mhz[0] = t.gpu->memory_clock_mhz;
                if (needed == 2)
                        mhz[1] = idle;
        }
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned int memory_mhz,
                                                      unsigned int *count, unsigned int *mhz)
{
        struct target t;
        nvmlReturn_t r = target_with_applications(device, count, &t);

        if (r != NVML_SUCCESS)
                return r;
        if (!is_memory_clock(t.gpu, memory_mhz))
                return NVML_ERROR_NOT_FOUND;
        unsigned top = t.gpu->sm_clock_mhz, low = board_of(t.gpu)->idle_sm_mhz;
        unsigned needed = (top - low) / CLOCK_STEP_MHZ + 1;
        if (target_list_fits(count, needed, mhz, &r))
                for (unsigned i = 0; i < needed; i++)
                        mhz[i] = top - i * CLOCK_STEP_MHZ;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetPerformanceState(nvmlDevice_t device, nvmlPstates_t *state)
{
        return sim_nvmlDeviceGetPowerState(device, state);
}

nvmlReturn_t sim_nvmlDeviceGetSupportedPerformanceStates(nvmlDevice_t device, nvmlPstates_t *states,
                                                         unsigned int bytes)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, states, &t);
        unsigned capacity = bytes / (unsigned)sizeof *states;

        if (r != NVML_SUCCESS)
                return r;
        unsigned idle = board_of(t.gpu)->idle_pstate;
        if (capacity < (idle ? 2u : 1u))
                return NVML_ERROR_INSUFFICIENT_SIZE;
        for (unsigned i = 0; i < capacity; i++)
                states[i] = NVML_PSTATE_UNKNOWN;
        states[0] = NVML_PSTATE_0;
        if (idle)
                states[1] = (nvmlPstates_t)idle;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetMinMaxClockOfPState(nvmlDevice_t device, nvmlClockType_t type,
                                                  nvmlPstates_t state, unsigned int *min_mhz,
                                                  unsigned int *max_mhz)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, min_mhz, &t);

        if (r != NVML_SUCCESS)
                return r;
        const struct board *board = board_of(t.gpu);
        const struct machine_gpu *gpu = t.gpu;
        if (!max_mhz || (state != NVML_PSTATE_0 && (unsigned)state != board->idle_pstate))
                return NVML_ERROR_INVALID_ARGUMENT;
        unsigned low = state == NVML_PSTATE_0 ? gpu->memory_clock_mhz : board->idle_memory_mhz;
        r = pick(type, board->idle_sm_mhz, low, board->idle_video_mhz, min_mhz);
        return r != NVML_SUCCESS
                       ? r
                       : pick(type, gpu->sm_clock_mhz, low, gpu->video_clock_mhz, max_mhz);
}

static nvmlReturn_t give_reasons(nvmlDevice_t device, unsigned long long *reasons)
{
        struct target t;
        struct load load;
        nvmlReturn_t r = target_gpu(device, reasons, &t);

        if (r != NVML_SUCCESS)
                return r;
        load_of_gpu(&t, &load);
        *reasons = load.compute > 0 ? 0 : NVML_CLOCKS_IDLE;
        if (t.gpu->application_sm_mhz && t.gpu->application_sm_mhz < t.gpu->sm_clock_mhz)
                *reasons |= NVML_CLOCKS_APPLICATION_SETTING;
        return NVML_SUCCESS;
}

nvmlReturn_t sim_nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                           unsigned long long *reasons)
{
        return give_reasons(device, reasons);
}

nvmlReturn_t sim_nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                        unsigned long long *reasons)
{
        return give_reasons(device, reasons);
}

static nvmlReturn_t give_all_reasons(nvmlDevice_t device, unsigned long long *reasons)
{
        struct target t;
        nvmlReturn_t r = target_gpu(device, reasons, &t);

        if (r == NVML_SUCCESS)
                *reasons = NVML_CLOCKS_ALL;
        return r;
}

nvmlReturn_t sim_nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t device,
                                                             unsigned long long *reasons)
{
        return give_all_reasons(device, reasons);
}

nvmlReturn_t sim_nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t device,
                                                          unsigned long long *reasons)
{
        return give_all_reasons(device, reasons);
}
