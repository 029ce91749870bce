/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU driver as vgpu-burn uses it: found at run time, so that a machine without one gets a
 * sentence instead of a loader error. */
#pragma once

#include "cuda_prototypes.h"
#include "err.h"

/* clang-format off: a function is a row. */
#define DRIVER_FUNCTIONS(X)             \
        X(cuInit)                       \
        X(cuDeviceGetCount)             \
        X(cuDeviceGet)                  \
        X(cuDeviceGetName)              \
        X(cuDeviceGetAttribute)         \
        X(cuDeviceGetPCIBusId)          \
        X(cuDevicePrimaryCtxRetain)     \
        X(cuDevicePrimaryCtxRelease_v2) \
        X(cuCtxSetCurrent)              \
        X(cuModuleLoadData)             \
        X(cuModuleGetFunction)          \
        X(cuModuleUnload)               \
        X(cuMemGetInfo_v2)              \
        X(cuMemAlloc_v2)                \
        X(cuMemFree_v2)                 \
        X(cuMemcpyHtoD_v2)              \
        X(cuMemcpyDtoH_v2)              \
        X(cuMemsetD8_v2)                \
        X(cuStreamCreate)               \
        X(cuStreamDestroy_v2)           \
        X(cuStreamSynchronize)          \
        X(cuEventCreate)                \
        X(cuEventRecord)                \
        X(cuEventSynchronize)           \
        X(cuEventDestroy_v2)            \
        X(cuLaunchKernel)               \
        X(cuGetErrorName)
/* clang-format on */

struct burn_driver {
#define DRIVER_POINTER(name) __typeof__(&name) name;
        DRIVER_FUNCTIONS(DRIVER_POINTER)
#undef DRIVER_POINTER
};

/* Loads and initialises it. */
int burn_driver_open(struct burn_driver *ret_driver, struct err *e);

/* "CUDA_ERROR_OUT_OF_MEMORY" */
const char *burn_driver_error(const struct burn_driver *driver, CUresult result);

/* Degrees, or -1 where NVML is absent or does not say. Opens NVML on first use; one thread only. */
int burn_temperature(const char *pci_bus_id);
