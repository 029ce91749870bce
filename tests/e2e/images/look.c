/* SPDX-License-Identifier: Apache-2.0 */
/* look: what a container sees of its GPUs, and what it can hold.
 *
 *     look                 a line per GPU: UUID, MiB by CUDA, MiB by NVML
 *     look hold MIB [S]    takes memory of GPU 0 in pieces until it has so much or is refused, looks
 *                          whether every piece holds what was written, and keeps it for S seconds */
#include "cuda_types.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvml_device_types.h"

CUresult cuInit(unsigned flags);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);
CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);

enum { PIECE_MIB = 32, PIECES_MOST = 4096 };
#define MIB ((size_t)1 << 20)

static void check(CUresult result, const char *what)
{
        if (result == CUDA_SUCCESS)
                return;
        printf("%s: error %d\n", what, (int)result);
        exit(1);
}

static void uuid_text(const CUuuid *uuid, char *text)
{
        text += sprintf(text, "GPU-");
        for (int i = 0; i < 16; i++)
                text += sprintf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                (unsigned char)uuid->bytes[i]);
}

static void *nvml_symbol(void *library, const char *name)
{
        void *symbol = library ? dlsym(library, name) : NULL;

        if (!symbol) {
                printf("no %s: %s\n", name, dlerror());
                exit(1);
        }
        return symbol;
}

/* MiB of the GPU, as monitors see it. */
static unsigned long nvml_total(const char *uuid)
{
        void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
        nvmlReturn_t (*init)(void) = nvml_symbol(library, "nvmlInit_v2");
        nvmlReturn_t (*handle)(const char *, nvmlDevice_t *) =
                nvml_symbol(library, "nvmlDeviceGetHandleByUUID");
        nvmlReturn_t (*info)(nvmlDevice_t, nvmlMemory_t *) =
                nvml_symbol(library, "nvmlDeviceGetMemoryInfo");
        nvmlMemory_t memory;
        nvmlDevice_t device;

        if (init() != NVML_SUCCESS || handle(uuid, &device) != NVML_SUCCESS ||
            info(device, &memory) != NVML_SUCCESS)
                return 0;
        return memory.total / MIB;
}

static int look(void)
{
        int count = 0;

        check(cuDeviceGetCount(&count), "cuDeviceGetCount");
        for (int i = 0; i < count; i++) {
                size_t free_bytes = 0, total_bytes = 0;
                CUcontext context;
                CUdevice device;
                CUuuid uuid;
                char text[48];

                check(cuDeviceGet(&device, i), "cuDeviceGet");
                check(cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
                check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
                check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
                check(cuMemGetInfo_v2(&free_bytes, &total_bytes), "cuMemGetInfo");
                uuid_text(&uuid, text);
                printf("gpu %s cuda %zu nvml %lu\n", text, total_bytes / MIB, nvml_total(text));
        }
        printf("%d GPUs\n", count);
        return 0;
}

/* Both ends of a piece are of its own kind. */
static void piece_write(CUdeviceptr piece, unsigned number)
{
        check(cuMemcpyHtoD_v2(piece, &number, sizeof number), "write");
        check(cuMemcpyHtoD_v2(piece + PIECE_MIB * MIB - sizeof number, &number, sizeof number),
              "write");
}

static int piece_is_right(CUdeviceptr piece, unsigned number)
{
        unsigned first = 0, last = 0;

        check(cuMemcpyDtoH_v2(&first, piece, sizeof first), "read");
        check(cuMemcpyDtoH_v2(&last, piece + PIECE_MIB * MIB - sizeof last, sizeof last), "read");
        return first == number && last == number;
}

static int hold(unsigned mib, unsigned seconds)
{
        static CUdeviceptr pieces[PIECES_MOST];
        unsigned count = 0, right = 0;
        CUresult result = CUDA_SUCCESS;
        CUcontext context;
        CUdevice device;

        check(cuDeviceGet(&device, 0), "cuDeviceGet");
        check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
        check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
        while (count * PIECE_MIB < mib && count < PIECES_MOST) {
                result = cuMemAlloc_v2(&pieces[count], PIECE_MIB * MIB);
                if (result != CUDA_SUCCESS)
                        break;
                piece_write(pieces[count], count + 1);
                count++;
        }
        for (unsigned i = 0; i < count; i++)
                right += (unsigned)piece_is_right(pieces[i], i + 1);
        printf("%s %u MiB, %s\n", result == CUDA_SUCCESS ? "holds" : "refused after",
               count * PIECE_MIB, right == count ? "all right" : "data is wrong");
        fflush(stdout);
        sleep(seconds);
        return right == count ? 0 : 1;
}

int main(int argc, char **argv)
{
        setvbuf(stdout, NULL, _IOLBF, 0);
        check(cuInit(0), "cuInit");
        if (argc > 2 && strcmp(argv[1], "hold") == 0)
                return hold((unsigned)atoi(argv[2]), argc > 3 ? (unsigned)atoi(argv[3]) : 0);
        return look();
}
