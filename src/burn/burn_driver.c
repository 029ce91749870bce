/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU driver as vgpu-burn uses it: found at run time. */
#include "burn_driver.h"

#include <errno.h>
#include <stdbool.h>

#include "linkage.h"
#include "nvml_prototypes.h"

int burn_driver_open(struct burn_driver *ret_driver, struct err *e)
{
#define DRIVER_ROW(name) { &ret_driver->name, #name },
        const struct linkage_row rows[] = { DRIVER_FUNCTIONS(DRIVER_ROW) };
#undef DRIVER_ROW
        void *library = linkage_open("libcuda.so.1");
        const char *missing;
        CUresult r;

        if (!library)
                return err_set(e, -ENOENT,
                               "there is no GPU driver here (libcuda.so.1); without a "
                               "GPU, try: vgpu run --sim=a100-40gb -- vgpu-burn");
        missing = linkage_find(library, rows, sizeof rows / sizeof *rows);
        if (missing)
                return err_set(e, -ENOSYS, "the GPU driver is too old: it has no %s", missing);
        r = ret_driver->cuInit(0);
        if (r != CUDA_SUCCESS)
                return err_set(e, -ENODEV, "the GPU driver does not start: %s",
                               burn_driver_error(ret_driver, r));
        return 0;
}

const char *burn_driver_error(const struct burn_driver *driver, CUresult result)
{
        const char *name = NULL;

        if (driver->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
                return "an unknown error";
        return name;
}

struct nvml {
        __typeof__(&nvmlDeviceGetHandleByPciBusId_v2) handle_by_bus;
        __typeof__(&nvmlDeviceGetTemperature) temperature;
};

static bool nvml_open(struct nvml *ret_nvml)
{
        __typeof__(&nvmlInit_v2) start;
        const struct linkage_row rows[] = {
                { &start, "nvmlInit_v2" },
                { &ret_nvml->handle_by_bus, "nvmlDeviceGetHandleByPciBusId_v2" },
                { &ret_nvml->temperature, "nvmlDeviceGetTemperature" },
        };
        void *library = linkage_open("libnvidia-ml.so.1");

        return library && !linkage_find(library, rows, sizeof rows / sizeof *rows) &&
               start() == NVML_SUCCESS;
}

int burn_temperature(const char *pci_bus_id)
{
        static struct {
                int is_tried, is_open;
                struct nvml nvml;
        } state;
        nvmlDevice_t device;
        unsigned degrees;

        if (!state.is_tried) {
                state.is_tried = 1;
                state.is_open = nvml_open(&state.nvml);
        }
        if (!state.is_open || state.nvml.handle_by_bus(pci_bus_id, &device) != NVML_SUCCESS ||
            state.nvml.temperature(device, 0, &degrees) != NVML_SUCCESS)
                return -1;
        return (int)degrees;
}
