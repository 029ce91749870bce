/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress: which function a program gets for a name, a CUDA version and a kind of default
 * stream; and the version of the driver itself. */
#include "getproc.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "driver.h"
#include "scope.h"
#include "sim_cuda.h"

enum { VERSION_WITHOUT_MACHINE = 13000 };
enum { FLAG_PER_THREAD = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, FLAGS_KNOWN = 3 };

/* Runtimes ask before cuInit: the machine is opened for the answer, nothing is attached. */
unsigned driver_version(void)
{
        autounlock pthread_mutex_t *held = scope_lock(&driver.lock);
        struct err e;

        if (!driver.machine.file && machine_open_default(&driver.machine, &e) < 0)
                return VERSION_WITHOUT_MACHINE;
        return driver.machine.file->header.driver_version;
}

/* The first row of the name, or NULL. */
static const struct getproc_row *row_find(const char *name)
{
        size_t low = 0, high = getproc_row_count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (strcmp(getproc_rows[middle].name, name) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == getproc_row_count || strcmp(getproc_rows[low].name, name) != 0)
                return NULL;
        return &getproc_rows[low];
}

/* Looks through the rows of one name. A function that has a twin for the per-thread default stream
 * answers with twins alone when they are asked for, however old the version is. */
static const struct getproc_row *row_choose(const struct getproc_row *first, unsigned version,
                                            unsigned driver_version, bool is_per_thread,
                                            bool *ret_is_known)
{
        const struct getproc_row *end = getproc_rows + getproc_row_count;
        const struct getproc_row *best = NULL;
        bool has_twin = false;

        *ret_is_known = false;
        for (const struct getproc_row *row = first;
             row < end && strcmp(row->name, first->name) == 0; row++) {
                bool is_twin = row->flag == FLAG_PER_THREAD;

                if ((unsigned)row->version > driver_version || (is_twin && !is_per_thread))
                        continue;
                if (is_twin && !has_twin) {
                        has_twin = true;
                        best = NULL;
                }
                *ret_is_known = true;
                if ((unsigned)row->version <= version)
                        best = row;
        }
        return best;
}

/* The version counts as unsigned: the real driver takes a negative one for a very new one. */
static CUdriverProcAddressQueryResult proc_find(const char *name, int version, cuuint64_t flags,
                                                void **ret_function)
{
        const struct getproc_row *first = row_find(name);
        bool is_known = false;

        *ret_function = NULL;
        if (!first)
                return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;

        const struct getproc_row *row = row_choose(first, (unsigned)version, driver_version(),
                                                   flags & FLAG_PER_THREAD, &is_known);
        if (row) {
                *ret_function = (void *)row->function;
                return CU_GET_PROC_ADDRESS_SUCCESS;
        }
        return is_known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                        : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

CUresult sim_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
        void *function;

        if (!symbol || !pfn || flags & ~(cuuint64_t)FLAGS_KNOWN)
                return CUDA_ERROR_INVALID_VALUE;
        if (proc_find(symbol, cudaVersion, flags, &function) != CU_GET_PROC_ADDRESS_SUCCESS)
                return CUDA_ERROR_NOT_FOUND;
        *pfn = function;
        return CUDA_SUCCESS;
}

/* Says why in `symbolStatus`, so that a missing function is no error of the call. */
CUresult sim_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *symbolStatus)
{
        if (!symbol || !pfn || flags & ~(cuuint64_t)FLAGS_KNOWN)
                return CUDA_ERROR_INVALID_VALUE;

        CUdriverProcAddressQueryResult status = proc_find(symbol, cudaVersion, flags, pfn);

        if (symbolStatus)
                *symbolStatus = status;
        return CUDA_SUCCESS;
}

CUresult sim_cuDriverGetVersion(int *driverVersion)
{
        if (!driverVersion)
                return CUDA_ERROR_INVALID_VALUE;
        *driverVersion = (int)driver_version();
        return CUDA_SUCCESS;
}
