/* SPDX-License-Identifier: Apache-2.0 */
/* What processes do to a machine, one act after the other: directly, or through the driver. */
#include "step_acts.h"

#include <stdlib.h>
#include <unistd.h>

#include "event.h"
#include "slot.h"
#include "unit_memory.h"

enum { BYTES = 64 << 20 };

static void open_machine(struct actor *actor)
{
        if (machine_open_default(&actor->machine, NULL) < 0)
                _exit(1);
}

static void act_attach(struct actor *actor)
{
        slot_attach(&actor->machine, &actor->slot);
}

static void act_charge(struct actor *actor)
{
        unit_charge(&actor->machine, 0, actor->slot, BYTES);
}

static void act_charge_context(struct actor *actor)
{
        unit_charge_context(&actor->machine, 0, actor->slot, BYTES);
}

static void act_managed_in(struct actor *actor)
{
        unit_managed_in(&actor->machine, 0, actor->slot, BYTES);
}

static void act_channel(struct actor *actor)
{
        timeline_channel(&actor->machine, actor->slot, 0, &actor->channel);
}

static void act_submit(struct actor *actor)
{
        const struct timeline_op op = { .engine = ENGINE_COMPUTE, .duration_ns = 1000 };

        timeline_submit(&actor->machine, actor->channel, &op, &actor->ref);
}

static void act_wait(struct actor *actor)
{
        usleep(100);
        timeline_wait(&actor->machine, actor->ref);
}

static void act_event(struct actor *actor)
{
        event_post(&actor->machine, 0, 8, 13);
}

static void act_release(struct actor *actor)
{
        unit_release_context(&actor->machine, 0, actor->slot, BYTES);
        unit_managed_out(&actor->machine, 0, actor->slot, BYTES);
        unit_release(&actor->machine, 0, actor->slot, BYTES);
}

/* Another process died before: the heir dies too. */
static void act_reap(struct actor *actor)
{
        slot_reap(&actor->machine);
}

static void act_detach(struct actor *actor)
{
        slot_detach(&actor->machine, actor->slot);
}

static const struct act machine_acts[] = {
        { "attach", act_attach, false },
        { "charge memory", act_charge, false },
        { "charge a context", act_charge_context, false },
        { "bring managed memory in", act_managed_in, false },
        { "take a queue", act_channel, false },
        { "submit work", act_submit, false },
        { "submit more", act_submit, false },
        { "wait for work", act_wait, false },
        { "post an event", act_event, false },
        { "reap the dead", act_reap, true },
        { "release memory", act_release, false },
        { "detach", act_detach, false },
};

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry step(.param .u64 out)\n{\n"
                          ".reg .b64 %rd<2>;\nld.param.u64 %rd1, [out];\n"
                          "cvta.to.global.u64 %rd1, %rd1;\nst.global.u32 [%rd1], 1;\nret;\n}\n"
                          ".visible .entry step_timed(.param .u64 out)\n{\nret;\n}\n";

static void open_driver(struct actor *actor)
{
        CUmodule module;

        if (cuInit(0) || cuDevicePrimaryCtxRetain(&actor->context, 0) ||
            cuCtxSetCurrent(actor->context) || cuModuleLoadData(&module, ptx) ||
            cuModuleGetFunction(&actor->kernels[0], module, "step") ||
            cuModuleGetFunction(&actor->kernels[1], module, "step_timed"))
                _exit(1);
}

static void must(CUresult result)
{
        if (result != CUDA_SUCCESS)
                _exit(2);
}

static void act_allocate(struct actor *actor)
{
        must(cuMemAlloc_v2(&actor->buffers[0], BYTES));
}

static void act_allocate_small(struct actor *actor)
{
        must(cuMemAlloc_v2(&actor->buffers[1], 4096));
}

static void act_allocate_async(struct actor *actor)
{
        must(cuMemAllocAsync(&actor->buffers[2], BYTES, NULL));
}

static void act_offer(struct actor *actor)
{
        CUipcMemHandle handle;

        must(cuIpcGetMemHandle(&handle, actor->buffers[1]));
}

static void act_copy(struct actor *actor)
{
        char bytes[4096] = "";

        must(cuMemcpyHtoD_v2(actor->buffers[0], bytes, sizeof bytes));
}

static void launch(struct actor *actor, unsigned kernel)
{
        void *params[] = { &actor->buffers[0] };

        must(cuLaunchKernel(actor->kernels[kernel], 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
}

static void act_launch(struct actor *actor)
{
        launch(actor, 1);
}

static void act_launch_interpreted(struct actor *actor)
{
        launch(actor, 0);
}

static void act_free(struct actor *actor)
{
        must(cuMemFree_v2(actor->buffers[0]));
        must(cuMemFree_v2(actor->buffers[1]));
}

static void act_free_async(struct actor *actor)
{
        must(cuMemFreeAsync(actor->buffers[2], NULL));
}

static void act_new_context(struct actor *actor)
{
        CUcontext context;

        (void)actor;
        must(cuCtxCreate_v2(&context, 0, 0));
        must(cuCtxDestroy_v2(context));
}

static const struct act driver_acts[] = {
        { "cuMemAlloc, large", act_allocate, false },
        { "cuMemAlloc, small", act_allocate_small, false },
        { "cuMemAllocAsync", act_allocate_async, false },
        { "cuIpcGetMemHandle", act_offer, false },
        { "cuMemcpyHtoD", act_copy, false },
        { "cuLaunchKernel, timed", act_launch, false },
        { "cuLaunchKernel, interpreted", act_launch_interpreted, false },
        { "cuMemFree", act_free, false },
        { "cuMemFreeAsync", act_free_async, false },
        { "cuCtxCreate and cuCtxDestroy", act_new_context, false },
};

const struct play plays[PLAYS] = {
        { .name = "machine",
          .open = open_machine,
          .acts = machine_acts,
          .act_count = sizeof machine_acts / sizeof machine_acts[0] },
        { .name = "driver",
          .open = open_driver,
          .acts = driver_acts,
          .act_count = sizeof driver_acts / sizeof driver_acts[0] },
};
