/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetErrorName and cuGetErrorString: every result code, its name and a phrase. */
#include <stddef.h>
#include <stdlib.h>

#include "sim_cuda.h"

struct error_row {
        int code;
        const char *name;
        const char *phrase;
};

#define ROW(name, phrase)           \
        {                           \
                name, #name, phrase \
        }

/* Sorted by code. Programs and their users search for the short phrases. */
static const struct error_row error_rows[] = {
        ROW(CUDA_SUCCESS, "no error"),
        ROW(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
        ROW(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
        ROW(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
        ROW(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
        ROW(CUDA_ERROR_PROFILER_DISABLED, "profiler disabled"),
        ROW(CUDA_ERROR_PROFILER_NOT_INITIALIZED, "profiler not initialized"),
        ROW(CUDA_ERROR_PROFILER_ALREADY_STARTED, "profiler already started"),
        ROW(CUDA_ERROR_PROFILER_ALREADY_STOPPED, "profiler already stopped"),
        ROW(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
        ROW(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, "function needs a newer driver"),
        ROW(CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA-capable device(s) is/are busy or unavailable"),
        ROW(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
        ROW(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
        ROW(CUDA_ERROR_DEVICE_NOT_LICENSED, "device has no valid license"),
        ROW(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
        ROW(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
        ROW(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, "context already current"),
        ROW(CUDA_ERROR_MAP_FAILED, "mapping failed"),
        ROW(CUDA_ERROR_UNMAP_FAILED, "unmapping failed"),
        ROW(CUDA_ERROR_ARRAY_IS_MAPPED, "array is mapped"),
        ROW(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped"),
        ROW(CUDA_ERROR_NO_BINARY_FOR_GPU,
            "no kernel image is available for execution on the device"),
        ROW(CUDA_ERROR_ALREADY_ACQUIRED, "resource already acquired"),
        ROW(CUDA_ERROR_NOT_MAPPED, "resource not mapped"),
        ROW(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, "resource not mapped as array"),
        ROW(CUDA_ERROR_NOT_MAPPED_AS_POINTER, "resource not mapped as pointer"),
        ROW(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered"),
        ROW(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported"),
        ROW(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, "context is in use by another thread"),
        ROW(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported"),
        ROW(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
        ROW(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, "invalid graphics context"),
        ROW(CUDA_ERROR_NVLINK_UNCORRECTABLE, "uncorrectable NVLink error"),
        ROW(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "PTX JIT compiler library not found"),
        ROW(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "PTX is newer than the driver's compiler"),
        ROW(CUDA_ERROR_JIT_COMPILATION_DISABLED, "PTX JIT compilation was disabled"),
        ROW(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "execution affinity is not supported"),
        ROW(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, "PTX synchronizes on the device"),
        ROW(CUDA_ERROR_CONTAINED, "memory error that was contained"),
        ROW(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
        ROW(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
        ROW(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found"),
        ROW(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, "shared object initialization failed"),
        ROW(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
        ROW(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
        ROW(CUDA_ERROR_ILLEGAL_STATE, "not possible in the present state"),
        ROW(CUDA_ERROR_LOSSY_QUERY, "the answer would lose information"),
        ROW(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
        ROW(CUDA_ERROR_NOT_READY, "device not ready"),
        ROW(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
        ROW(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
        ROW(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
        ROW(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, "incompatible texturing mode"),
        ROW(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
        ROW(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
        ROW(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "primary context is active already"),
        ROW(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
        ROW(CUDA_ERROR_ASSERT, "device-side assert triggered"),
        ROW(CUDA_ERROR_TOO_MANY_PEERS, "too many peers"),
        ROW(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "host memory is already registered"),
        ROW(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "host memory is not registered"),
        ROW(CUDA_ERROR_HARDWARE_STACK_ERROR, "hardware stack error"),
        ROW(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
        ROW(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
        ROW(CUDA_ERROR_INVALID_ADDRESS_SPACE, "wrong address space"),
        ROW(CUDA_ERROR_INVALID_PC, "invalid program counter"),
        ROW(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
        ROW(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
        ROW(CUDA_ERROR_TENSOR_MEMORY_LEAK, "tensor memory was not freed"),
        ROW(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
        ROW(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
        ROW(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
        ROW(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "display driver and CUDA driver do not match"),
        ROW(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "no forward compatibility on this device"),
        ROW(CUDA_ERROR_MPS_CONNECTION_FAILED, "MPS connection failed"),
        ROW(CUDA_ERROR_MPS_RPC_FAILURE, "MPS call failed"),
        ROW(CUDA_ERROR_MPS_SERVER_NOT_READY, "MPS server is not ready"),
        ROW(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, "too many MPS clients"),
        ROW(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, "too many MPS connections"),
        ROW(CUDA_ERROR_MPS_CLIENT_TERMINATED, "MPS client was terminated"),
        ROW(CUDA_ERROR_CDP_NOT_SUPPORTED, "dynamic parallelism is not supported here"),
        ROW(CUDA_ERROR_CDP_VERSION_MISMATCH, "versions of dynamic parallelism differ"),
        ROW(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            "operation not permitted when stream is capturing"),
        ROW(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "capture is invalid after an earlier error"),
        ROW(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would merge two captures"),
        ROW(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture began in another stream"),
        ROW(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
        ROW(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency on work that is not captured"),
        ROW(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "legacy stream would depend on a capture"),
        ROW(CUDA_ERROR_CAPTURED_EVENT, "event was last recorded in a capture"),
        ROW(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "capture belongs to another thread"),
        ROW(CUDA_ERROR_TIMEOUT, "wait operation timed out"),
        ROW(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "graph cannot be updated that way"),
        ROW(CUDA_ERROR_EXTERNAL_DEVICE, "error in an external device"),
        ROW(CUDA_ERROR_INVALID_CLUSTER_SIZE, "invalid cluster size"),
        ROW(CUDA_ERROR_FUNCTION_NOT_LOADED, "function is not loaded"),
        ROW(CUDA_ERROR_INVALID_RESOURCE_TYPE, "invalid resource type"),
        ROW(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "invalid resource configuration"),
        ROW(CUDA_ERROR_KEY_ROTATION, "key rotation in progress"),
        ROW(CUDA_ERROR_STREAM_DETACHED, "stream is detached"),
        ROW(CUDA_ERROR_UNKNOWN, "unknown error"),
};

static int error_compare(const void *code, const void *row)
{
        int a = *(const int *)code, b = ((const struct error_row *)row)->code;

        return (a > b) - (a < b);
}

static const struct error_row *error_find(CUresult error)
{
        int code = (int)error;

        return bsearch(&code, error_rows, sizeof error_rows / sizeof *error_rows,
                       sizeof *error_rows, error_compare);
}

CUresult sim_cuGetErrorName(CUresult error, const char **pStr)
{
        const struct error_row *row = error_find(error);

        if (!pStr)
                return CUDA_ERROR_INVALID_VALUE;
        *pStr = row ? row->name : NULL;
        return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGetErrorString(CUresult error, const char **pStr)
{
        const struct error_row *row = error_find(error);

        if (!pStr)
                return CUDA_ERROR_INVALID_VALUE;
        *pStr = row ? row->phrase : NULL;
        return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
