/* SPDX-License-Identifier: Apache-2.0 */
/* probe: a GPU program inside a container that does as it is told, one command per line:
 *
 *      alloc MIB       prints the CUresult; the memory is kept
 *      info            prints free and total MiB
 *      pids            prints the pids that NVML lists on the device
 *      uuid            prints the device's UUID
 *      pid             prints its own
 *      root FOLDER     makes the folder its root; prints 0, or -1
 *      mounts          has mounts of its own, and another file at /etc/vgpu/region; prints 0, or -1
 *
 * First it prints the CUresult of its start. The driver is looked up, as most programs do. */
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

typedef int call_fn();

static void *cuda, *nvml;

static call_fn *find(void *library, const char *name)
{
        call_fn *found = library ? (call_fn *)dlsym(library, name) : NULL;

        if (!found) {
                printf("no %s\n", name);
                fflush(stdout);
                _exit(1);
        }
        return found;
}

static int start(void)
{
        void *context;
        int r;

        cuda = dlopen("libcuda.so.1", RTLD_NOW);
        if ((r = find(cuda, "cuInit")(0)) != 0)
                return r;
        return find(cuda, "cuCtxCreate_v2")(&context, 0, 0);
}

static void print_pids(void)
{
        struct {
                unsigned pid;
                unsigned long long bytes;
                unsigned ids[2];
        } list[64];
        unsigned count = 64;
        void *device;

        if (!nvml)
                nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
        find(nvml, "nvmlInit_v2")();
        find(nvml, "nvmlDeviceGetHandleByIndex_v2")(0, &device);
        if (find(nvml, "nvmlDeviceGetComputeRunningProcesses_v3")(device, &count, list) != 0)
                count = 0;
        printf("pids");
        for (unsigned i = 0; i < count; i++)
                printf(" %u", list[i].pid);
        printf("\n");
}

static void print_info(void)
{
        size_t free_bytes = 0, total = 0;

        find(cuda, "cuMemGetInfo_v2")(&free_bytes, &total);
        printf("%zu %zu\n", free_bytes >> 20, total >> 20);
}

static void print_uuid(void)
{
        unsigned char bytes[16] = { 0 };

        find(cuda, "cuDeviceGetUuid")(bytes, 0);
        printf("GPU-");
        for (unsigned i = 0; i < sizeof bytes; i++)
                printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
        printf("\n");
}

static int mounts_leave(void)
{
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                return -1;
        return mount("/dev/null", "/etc/vgpu/region", NULL, MS_BIND, NULL);
}

int main(void)
{
        char line[64], folder[64];

        printf("%d\n", start());
        fflush(stdout);
        while (fgets(line, sizeof line, stdin)) {
                unsigned long long mib, address;
                if (sscanf(line, "alloc %llu", &mib) == 1)
                        printf("%d\n", find(cuda, "cuMemAlloc_v2")(&address, (size_t)mib << 20));
                else if (sscanf(line, "root %63s", folder) == 1)
                        printf("%d\n", chroot(folder));
                else if (strcmp(line, "mounts\n") == 0)
                        printf("%d\n", mounts_leave());
                else if (strcmp(line, "info\n") == 0)
                        print_info();
                else if (strcmp(line, "pids\n") == 0)
                        print_pids();
                else if (strcmp(line, "uuid\n") == 0)
                        print_uuid();
                else
                        printf("%d\n", (int)getpid());
                fflush(stdout);
        }
        return 0;
}
