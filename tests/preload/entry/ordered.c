/* SPDX-License-Identifier: Apache-2.0 */
/* ordered PLUGIN: asks for more memory than the limit of 100 MiB, by each way in which a program can be
 * bound to the driver, and prints the ways by which it got some. */
#include <dlfcn.h>
#include <stdio.h>

#include "cuda_prototypes.h"
#include "nvml_prototypes.h"

typedef CUresult alloc_fn(CUdeviceptr *address, size_t bytes);

/* Filled in by the loader, before anything runs; the second one is read-only by then. */
static alloc_fn *pointer = cuMemAlloc_v2;
static alloc_fn *const fixed_pointer = cuMemAlloc_v2;

enum { TOO_MUCH = 200 << 20 };

static void way(const char *name, alloc_fn *alloc)
{
        CUdeviceptr address;

        if (!alloc || alloc(&address, TOO_MUCH) != CUDA_ERROR_OUT_OF_MEMORY)
                printf("%s ", name);
}

static void look_up_ways(const char *plugin)
{
        void *library = dlopen("libcuda.so.1", RTLD_NOW), *late = dlopen(plugin, RTLD_NOW);
        void *program = dlopen(NULL, RTLD_NOW);

        dlerror();
        way("dlsym", (alloc_fn *)dlsym(library, "cuMemAlloc_v2"));
        way("program", (alloc_fn *)dlsym(program, "cuMemAlloc_v2"));
        way("default", (alloc_fn *)dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
        way("next", (alloc_fn *)dlsym(RTLD_NEXT, "cuMemAlloc_v2"));
        if (dlerror())
                printf("dlerror ");
        way("plugin", late ? (alloc_fn *)dlsym(late, "plugin_alloc") : NULL);
}

static void nvml_way(void)
{
        nvmlMemory_t memory = { 0 };
        nvmlDevice_t device;

        if (nvmlInit_v2() == NVML_SUCCESS &&
            nvmlDeviceGetHandleByIndex_v2(0, &device) == NVML_SUCCESS)
                nvmlDeviceGetMemoryInfo(device, &memory);
        if (memory.total != 100 << 20)
                printf("nvml ");
}

int main(int count, char **arguments)
{
        CUcontext context;
        CUdeviceptr address;

        if (count < 2 || cuInit(0) || cuCtxCreate_v2(&context, 0, 0))
                return 1;
        way("call", cuMemAlloc_v2);
        way("pointer", pointer);
        way("fixed", fixed_pointer);
        look_up_ways(arguments[1]);
        nvml_way();
        printf(cuMemAlloc_v2(&address, 100 << 20) ? "nothing at all\n" : "\n");
        return 0;
}
