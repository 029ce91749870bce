/* SPDX-License-Identifier: Apache-2.0 */
/* profiled MIB: a program that is linked with the driver and built for gprof. Its start code brings a function of its
 * own, where that of other programs calls libvgpu.so; with the driver preloaded its calls go past us. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cuda_prototypes.h"

int main(int argc, char **argv)
{
        CUdeviceptr address;
        CUcontext context;
        char ignored[64];
        CUresult r = cuInit(0);

        if (r == CUDA_SUCCESS)
                r = cuCtxCreate_v2(&context, 0, 0);
        if (r == CUDA_SUCCESS && argc == 2)
                r = cuMemAlloc_v2(&address, (size_t)strtoul(argv[1], NULL, 10) << 20);
        printf("%d\n", (int)r);
        fflush(stdout);
        while (read(STDIN_FILENO, ignored, sizeof ignored) > 0)
                continue;
        return 0;
}
