/* The doors by which a program comes in: cuInit, and look-ups through the driver itself. */
#include "devices.h"
#include "limits.h"
#include "real.h"
#include "start.h"

CUresult hook_cuInit(cuInit_fn *real, unsigned int flags)
{
        CUresult r = start_refusal();

        if (r == CUDA_SUCCESS)
                r = real(flags);
        if (r != CUDA_SUCCESS)
                return r;
        return devices_start() < 0 ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

/* The driver decides which version of a function a program gets; we answer with our function for
 * that one. Also when the program asks for this function itself. */
CUresult hook_cuGetProcAddress(cuGetProcAddress_fn *real, const char *symbol, void **function,
                               int version, cuuint64_t flags)
{
        CUresult r = real(symbol, function, version, flags);

        if (r == CUDA_SUCCESS && function)
                *function = real_to_shell(*function);
        return r;
}

CUresult hook_cuGetProcAddress_v2(cuGetProcAddress_v2_fn *real, const char *symbol, void **function,
                                  int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *status)
{
        CUresult r = real(symbol, function, version, flags, status);

        if (r == CUDA_SUCCESS && function)
                *function = real_to_shell(*function);
        return r;
}
