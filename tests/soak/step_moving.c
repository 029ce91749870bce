/* SPDX-License-Identifier: Apache-2.0 */
/* What a process does whose memory moves: part of it is on the host, the GPU is crowded, and an arbiter has given it the
 * time slice. With libvgpu.so preloaded; the share is made by hand. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu_page.h"
#include "region.h"
#include "share.h"
#include "step_acts.h"

#define MIB (UINT64_C(1) << 20)

/* Half of it is on the GPU, less a sixteenth: two blocks. The other two are on the host. */
enum { LIMIT_MIB = 40, PHYSICAL_MIB = 20, BLOCK_MIB = 8, PATH_BYTES = 128 };
enum { BLOCK_HERE, BLOCK_HERE_TOO, BLOCK_THERE, BLOCK_THERE_TOO, BLOCK_MANAGED };

static void must(CUresult result)
{
        if (result != CUDA_SUCCESS)
                _exit(2);
}

static void open_tenant(struct actor *actor)
{
        static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                                  ".visible .entry step_timed(.param .u64 out)\n{\nret;\n}\n";
        CUmodule module;

        if (cuInit(0) || cuCtxCreate_v2(&actor->context, 0, 0) || cuModuleLoadData(&module, ptx) ||
            cuModuleGetFunction(&actor->kernels[0], module, "step_timed"))
                _exit(1);
}

static void use(struct actor *actor, unsigned block, unsigned times)
{
        void *params[] = { &actor->buffers[block] };

        for (unsigned i = 0; i < times; i++)
                must(cuLaunchKernel(actor->kernels[0], 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
}

static void act_here(struct actor *actor)
{
        must(cuMemAlloc_v2(&actor->buffers[BLOCK_HERE], BLOCK_MIB * MIB));
        must(cuMemAlloc_v2(&actor->buffers[BLOCK_HERE_TOO], BLOCK_MIB * MIB));
}

static void act_there(struct actor *actor)
{
        must(cuMemAlloc_v2(&actor->buffers[BLOCK_THERE], BLOCK_MIB * MIB));
        must(cuMemAlloc_v2(&actor->buffers[BLOCK_THERE_TOO], BLOCK_MIB * MIB));
}

static void act_managed(struct actor *actor)
{
        must(cuMemAllocManaged(&actor->buffers[BLOCK_MANAGED], BLOCK_MIB / 2 * MIB,
                               CU_MEM_ATTACH_GLOBAL));
}

/* The first launch: the time slice begins, and brings onto the GPU what belongs there. */
static void act_begin(struct actor *actor)
{
        use(actor, BLOCK_HERE, 1);
}

static void act_warm(struct actor *actor)
{
        use(actor, BLOCK_THERE, 3);
}

static void act_exchange(struct actor *actor)
{
        use(actor, BLOCK_THERE, 3);
}

static void act_copy(struct actor *actor)
{
        char bytes[4096] = "";

        must(cuMemcpyDtoH_v2(bytes, actor->buffers[BLOCK_THERE], sizeof bytes));
        must(cuMemcpyHtoD_v2(actor->buffers[BLOCK_HERE], bytes, sizeof bytes));
}

static void act_free(struct actor *actor)
{
        must(cuMemFree_v2(actor->buffers[BLOCK_THERE]));
        must(cuMemFree_v2(actor->buffers[BLOCK_MANAGED]));
}

static void act_free_async(struct actor *actor)
{
        must(cuMemFreeAsync(actor->buffers[BLOCK_THERE_TOO], NULL));
        must(cuCtxSynchronize());
}

static void act_end(struct actor *actor)
{
        must(cuCtxDestroy_v2(actor->context));
}

static const struct act acts[] = {
        { "memory on the GPU", act_here, false },
        { "memory beyond its part of the GPU", act_there, false },
        { "managed memory", act_managed, false },
        { "a time slice begins", act_begin, false },
        { "use of memory on the host", act_warm, false },
        { "two ranges exchange places", act_exchange, false },
        { "copies from and to what moved", act_copy, false },
        { "cuMemFree of what moved", act_free, false },
        { "cuMemFreeAsync of what is on the host", act_free_async, false },
        { "the context ends", act_end, false },
};

static void path_of(const char *name, char ret_path[PATH_BYTES])
{
        snprintf(ret_path, PATH_BYTES, "%s-share/%s", getenv("VGPU_SIM"), name);
}

/* The time slice is its own for good, and what is on the GPU is more than fits: so it has to come back first. */
static int grant_write(const char *path, struct err *e)
{
        struct gpu_grant_file *grants;
        int r = gpu_grant_map(path, PROT_READ | PROT_WRITE, &grants, e);

        if (r < 0)
                return r;
        atomic_store(&grants->devices[0].flags, GPU_GRANT_CROWDED);
        atomic_store(&grants->devices[0].deadline_ns, GPU_NO_DEADLINE);
        atomic_store(&grants->devices[0].timeslice, 1 << GPU_STATE_BITS | GPU_OPEN);
        gpu_grant_unmap(grants);
        return 0;
}

static int share_make(const struct machine_gpu *gpu, const char *path, struct err *e)
{
        struct share_copy copy = { .device_count = 1, .name = "step" };
        struct share_device *device = &copy.devices[0];
        struct share share;

        path_of("region", copy.region);
        snprintf(device->uuid, sizeof device->uuid, "%.47s", gpu->uuid);
        device->limit_bytes = device->limit_max_bytes = LIMIT_MIB * MIB;
        device->physical_bytes = PHYSICAL_MIB * MIB;
        device->device_bytes = gpu->memory_bytes;
        device->flags = SHARE_CONTEXT_EXEMPT;
        unlink(path);
        unlink(copy.region);
        int r = region_create(copy.region, &copy.region_inode, e);
        if (r == 0)
                r = share_create(path, &copy, e);
        if (r == 0)
                r = share_open(path, true, &share, e);
        if (r < 0)
                return r;
        share_set_timeslices(&share, true);
        share_close(&share);
        return 0;
}

static int tenant_prepare(struct machine *machine, struct err *e)
{
        const struct gpu_device device = { .memory_bytes = machine_gpu(machine, 0)->memory_bytes };
        char folder[PATH_BYTES], path[PATH_BYTES], region[PATH_BYTES];
        char grant[SHARE_TEXT], want[SHARE_TEXT];

        path_of("", folder);
        path_of("share", path);
        path_of("region", region);
        mkdir(folder, 0700);
        gpu_page_grant_path(path, grant);
        gpu_page_want_path(region, want);
        unlink(grant);
        unlink(want);
        int r = share_make(machine_gpu(machine, 0), path, e);
        if (r == 0)
                r = gpu_page_create(grant, want, "here", &device, 1, e);
        if (r == 0)
                r = grant_write(grant, e);
        setenv("VGPU_SHARE", path, 1);
        return r;
}

static void tenant_clean(void)
{
        static const char *const names[] = { "share", "region", "grant", "want", "" };
        char path[PATH_BYTES];

        for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
                path_of(names[i], path);
                remove(path);
        }
}

/* Another process of the container comes. */
static const char *region_damage(void)
{
        static struct region region;
        const char *damage = NULL;
        char path[PATH_BYTES];

        path_of("region", path);
        if (region_open(path, 1, &region, NULL) < 0 || region_join(&region) < 0)
                return "nobody can join the region";
        region_reap(&region);
        if (region_used_bytes(&region, 0) != 0)
                damage = "the container is charged for the dead";
        else if (region_used_bytes(&region, region_virtual(0)) != 0)
                damage = "the container is charged for memory of the dead on the host";
        region_close(&region);
        return damage;
}

const struct play play_moving = {
        .name = "moving memory",
        .open = open_tenant,
        .acts = acts,
        .act_count = sizeof acts / sizeof acts[0],
        .prepare = tenant_prepare,
        .find_damage = region_damage,
        .clean = tenant_clean,
};
