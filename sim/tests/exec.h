/* SPDX-License-Identifier: Apache-2.0 */
/* exec: what tests of streams, events, launches and graphs share: kernels of known length. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "cuda_prototypes.h"
#include "sim.h"

#define OK(call) CHECK_EQ((call), CUDA_SUCCESS)

/* Kernels that take their time and compute nothing, and one that adds `n` to a word. */
static const char exec_ptx[] =
        ".version 7.0\n.target sm_50\n.address_size 64\n"
        ".visible .entry short_kernel() { ret; }\n"
        ".visible .entry kernel_2ms() { ret; }\n"
        ".visible .entry kernel_20ms() { ret; }\n"
        ".visible .entry kernel_50ms() { ret; }\n"
        ".visible .entry with_params(.param .u64 p, .param .u32 n) { ret; }\n"
        ".visible .entry add(.param .u64 p, .param .u32 n)\n"
        "{ .reg .u64 %a; .reg .u32 %v, %n;\n"
        "  ld.param.u64 %a, [p]; ld.param.u32 %n, [n];\n"
        "  ld.global.u32 %v, [%a]; add.u32 %v, %v, %n;\n"
        "  st.global.u32 [%a], %v; ret; }\n";

static const struct machine_kernel_time exec_kernels[] = {
        { "short_kernel", 10 },   { "kernel_2ms", 2000 }, { "kernel_20ms", 20000 },
        { "kernel_50ms", 50000 }, { "with_params", 10 },
};

struct exec_fixture {
        CUdevice device;
        CUcontext context;
        CUmodule module;
};

static inline void exec_machine(unsigned gpu_count)
{
        struct machine_spec spec;

        machine_spec_init(&spec);
        spec.preset = "a100-40gb";
        spec.gpu_count = gpu_count;
        spec.kernels = exec_kernels;
        spec.kernel_count = sizeof exec_kernels / sizeof *exec_kernels;
        sim_machine_from(&spec);
}

/* The process's side: a context on the device and the kernels in it. */
static inline struct exec_fixture exec_attach(int ordinal)
{
        struct exec_fixture exec;

        OK(cuInit(0));
        OK(cuDeviceGet(&exec.device, ordinal));
        OK(cuCtxCreate_v2(&exec.context, 0, exec.device));
        OK(cuModuleLoadData(&exec.module, exec_ptx));
        return exec;
}

static inline struct exec_fixture exec_start(void)
{
        exec_machine(1);
        return exec_attach(0);
}

static inline CUfunction exec_function(const struct exec_fixture *exec, const char *name)
{
        CUfunction function = NULL;

        OK(cuModuleGetFunction(&function, exec->module, name));
        return function;
}

static inline CUresult exec_run(CUfunction function, CUstream stream)
{
        return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
}

static inline double exec_now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static inline void exec_sleep_ms(unsigned ms)
{
        struct timespec span = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

        nanosleep(&span, NULL);
}
