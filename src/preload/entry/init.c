/* SPDX-License-Identifier: Apache-2.0 */
/* The doors by which a program comes in: cuInit, which wires the library, and look-ups through the driver
 * itself. */
#include <pthread.h>

#include "admission.h"
#include "batch.h"
#include "clock.h"
#include "dead_figure.h"
#include "devices.h"
#include "gate_memory.h"
#include "graph_charge.h"
#include "limits.h"
#include "log.h"
#include "pool_charge.h"
#include "real.h"
#include "reconcile.h"
#include "start.h"
#include "virtual.h"
#include "virtual_heat.h"

static bool init_has_nvml; /* initialised by us */

/* Before a refusal: what pools can do without, and streams have freed meanwhile. */
static bool relieve(void)
{
        bool has_shrunk = pool_charge_trim();

        has_shrunk |= graph_charge_refresh();
        return virtual_reap() || has_shrunk;
}

static void forked(void)
{
        batch_forked();
        virtual_heat_forked();
}

static void fork_watch(void)
{
        static bool is_watched;

        if (!is_watched)
                pthread_atfork(NULL, NULL, forked);
        is_watched = true;
}

/* The lower layers call these functions of the upper ones. */
static void layers_connect(void)
{
        gate_memory_on_refusal(relieve);
        gate_memory_compare_by(reconcile);
        ledger_ask_driver(&dead_figure);
        fork_watch();
}

static void nvml_give_back(void)
{
        if (init_has_nvml)
                real_nvml.nvmlShutdown();
        init_has_nvml = false;
}

/* Before the driver's own: opens the container's region and initialises NVML. 0, or a negative errno: the
 * program gets no GPU, and the driver is not to be asked for one. */
static int admit(void)
{
        if (!limits_are_set())
                return 0;
        start_nvml();
        init_has_nvml = real_nvml.nvmlInit_v2 && real_nvml.nvmlInit_v2() == NVML_SUCCESS;
        const int r = admission_check(init_has_nvml);
        if (r < 0)
                nvml_give_back();
        return r;
}

/* After it. The same answers. */
static int begin(void)
{
        if (!limits_are_set())
                return 0;
        const int r = init_has_nvml ? 0 : admission_check_by_cuda();
        if (r < 0)
                return r;
        layers_connect();
        devices_map(init_has_nvml);
        /* What programs of a moment ago left to the GPU is charged before this one is given any time. Not earlier:
         * who takes memory back from the dead asks the driver whether it has let go. */
        ledger_reap_every(10 * NS_PER_MS);
        return 0;
}

CUresult hook_cuInit(cuInit_fn *real, unsigned int flags)
{
        CUresult r = start_refusal();

        /* Before the driver is asked: a program that ignores our answer must find it closed. */
        if (r == CUDA_SUCCESS && admit() < 0)
                r = CUDA_ERROR_NOT_PERMITTED;
        if (r != CUDA_SUCCESS)
                return r;
        r = real(flags);
        if (r != CUDA_SUCCESS) {
                nvml_give_back();
                return r;
        }
        return begin() < 0 ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

static void *shell_of(const char *symbol, int version, void *function)
{
        void *shell = real_to_shell(function);

        if (shell != function)
                log_detail("'%s' of version %d leads through libvgpu.so", symbol, version);
        return shell;
}

/* The driver decides which version of a function a program gets; we answer with our function for
 * that one. Also when the program asks for this function itself. */
CUresult hook_cuGetProcAddress(cuGetProcAddress_fn *real, const char *symbol, void **function,
                               int version, cuuint64_t flags)
{
        CUresult r = real(symbol, function, version, flags);

        if (r == CUDA_SUCCESS && function)
                *function = shell_of(symbol, version, *function);
        return r;
}

CUresult hook_cuGetProcAddress_v2(cuGetProcAddress_v2_fn *real, const char *symbol, void **function,
                                  int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *status)
{
        CUresult r = real(symbol, function, version, flags, status);

        if (r == CUDA_SUCCESS && function)
                *function = shell_of(symbol, version, *function);
        return r;
}
