/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of launches: limits, arguments, results, errors, and what a launch costs. */
#include "exec.h"

SIM_TEST(dimensions_beyond_the_limits_are_refused)
{
        struct exec_fixture exec = exec_start();
        CUfunction f = exec_function(&exec, "short_kernel");

        CHECK_EQ(cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 0, 1, 0, NULL, NULL, NULL),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuLaunchKernel(f, 1, 1, 1, 64, 32, 1, 0, NULL, NULL, NULL),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 65, 0, NULL, NULL, NULL),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuLaunchKernel(f, 1, 65536, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuLaunchKernel(f, 1u << 31, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 50000, NULL, NULL, NULL),
                 CUDA_ERROR_INVALID_VALUE);
        OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
        OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 50000, NULL, NULL, NULL));
        OK(cuLaunchKernel(f, (1u << 31) - 1, 65535, 65535, 1024, 1, 1, 0, NULL, NULL, NULL));
        OK(cuCtxSynchronize());
}

SIM_TEST(arguments_come_one_by_one_or_in_a_buffer)
{
        struct exec_fixture exec = exec_start();
        CUfunction add = exec_function(&exec, "add");
        unsigned n = 5, result = 0;
        CUdeviceptr word;
        struct {
                CUdeviceptr p;
                unsigned n;
        } packed;
        size_t size = 12;
        void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
                          &size, CU_LAUNCH_PARAM_END };
        void *params[] = { &word, &n };

        OK(cuMemAlloc_v2(&word, 4));
        OK(cuMemsetD32_v2(word, 100, 1));
        OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        n = 0; /* arguments are taken when the call is made */
        packed.p = word;
        packed.n = 20;
        OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
        OK(cuMemcpyDtoH_v2(&result, word, 4));
        CHECK_EQ(result, 125);
        CHECK_EQ(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
                 CUDA_ERROR_INVALID_HANDLE);
}

SIM_TEST(the_first_launch_interface_still_works)
{
        struct exec_fixture exec = exec_start();
        CUfunction add = exec_function(&exec, "add");
        unsigned result = 0;
        CUdeviceptr word;

        OK(cuMemAlloc_v2(&word, 4));
        OK(cuMemsetD32_v2(word, 1, 1));
        OK(cuFuncSetBlockShape(add, 1, 1, 1));
        OK(cuParamSetv(add, 0, &word, sizeof word));
        OK(cuParamSeti(add, 8, 41));
        OK(cuParamSetSize(add, 12));
        OK(cuLaunchGrid(add, 1, 1));
        OK(cuLaunchGridAsync(add, 1, 1, NULL));
        OK(cuMemcpyDtoH_v2(&result, word, 4));
        CHECK_EQ(result, 83);
        CHECK_EQ(cuFuncSetBlockShape(add, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuParamSetv(add, 4095, &word, sizeof word), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(a_config_with_attributes_launches_and_records_its_event)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "kernel_2ms");
        CUlaunchAttribute attributes[2] = { { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE },
                                            { .id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT } };
        CUlaunchConfig config = { .gridDimX = 4,
                                  .gridDimY = 1,
                                  .gridDimZ = 1,
                                  .blockDimX = 32,
                                  .blockDimY = 1,
                                  .blockDimZ = 1,
                                  .attrs = attributes,
                                  .numAttrs = 2 };
        CUevent event;

        OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        attributes[0].value.cooperative = 1;
        attributes[1].value.launchCompletionEvent.event = event;
        OK(cuLaunchKernelEx(&config, kernel, NULL, NULL));
        CHECK_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
        OK(cuEventSynchronize(event));
        attributes[1].id = (CUlaunchAttributeID)999;
        CHECK_EQ(cuLaunchKernelEx(&config, kernel, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(a_cooperative_grid_must_fit_the_gpu)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "short_kernel");

        OK(cuLaunchCooperativeKernel(kernel, 108, 1, 1, 1024, 1, 1, 0, NULL, NULL));
        CHECK_EQ(cuLaunchCooperativeKernel(kernel, 100000, 1, 1, 1024, 1, 1, 0, NULL, NULL),
                 CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

SIM_TEST(a_bad_address_breaks_the_context_for_good)
{
        struct exec_fixture exec = exec_start();
        CUfunction add = exec_function(&exec, "add");
        CUdeviceptr nowhere = 0x1000, word;
        unsigned n = 1;
        void *params[] = { &nowhere, &n };

        OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        CHECK_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK_EQ(exec_run(exec_function(&exec, "short_kernel"), NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK_EQ(cuMemAlloc_v2(&word, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
        CHECK_EQ(cuStreamSynchronize(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
}

SIM_TEST(a_function_belongs_to_its_device)
{
        struct exec_fixture first, second;
        CUfunction kernel;
        CUstream stream;

        exec_machine(2);
        first = exec_attach(0);
        kernel = exec_function(&first, "short_kernel");
        OK(cuStreamCreate(&stream, 0));
        second = exec_attach(1);
        CHECK_EQ(exec_run(kernel, NULL), CUDA_ERROR_INVALID_HANDLE);
        CHECK_EQ(exec_run(exec_function(&second, "short_kernel"), stream),
                 CUDA_ERROR_INVALID_HANDLE);
}

SIM_TEST(noise_spreads_the_times_around_the_models)
{
        enum { COUNT = 64 };
        struct machine_spec spec;
        struct exec_fixture exec;
        CUevent events[COUNT + 1];
        double sum = 0, squares = 0, mean, variance;
        unsigned n = 1;
        CUdeviceptr word;
        void *params[] = { &word, &n };
        CUfunction add;

        machine_spec_init(&spec);
        spec.preset = "a100-40gb";
        spec.gpu_count = 1;
        spec.noise = 0.2;
        spec.kernels = exec_kernels;
        spec.kernel_count = sizeof exec_kernels / sizeof *exec_kernels;
        sim_machine_from(&spec);
        exec = exec_attach(0);
        add = exec_function(&exec, "add");
        OK(cuMemAlloc_v2(&word, 4));
        OK(exec_run(exec_function(&exec, "kernel_50ms"), NULL));
        for (unsigned i = 0; i <= COUNT; i++) {
                OK(cuEventCreate(&events[i], 0));
                OK(cuEventRecord(events[i], NULL));
                OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        }
        OK(cuCtxSynchronize());
        for (unsigned i = 0; i < COUNT; i++) {
                float ms;

                OK(cuEventElapsedTime(&ms, events[i], events[i + 1]));
                sum += ms;
                squares += ms * ms;
        }
        mean = sum / COUNT;
        variance = squares / COUNT - mean * mean;
        CHECK(variance > 0.1 * 0.1 * mean * mean);
        CHECK(variance < 0.35 * 0.35 * mean * mean);
}

SIM_TEST(launches_are_counted)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "short_kernel");
        struct machine *machine = sim_machine_open();

        for (unsigned i = 0; i < 10; i++)
                OK(exec_run(kernel, NULL));
        CHECK_EQ(machine->file->header.counters[COUNTER_LAUNCHES], 10);
        CHECK_EQ(machine->file->header.counters[COUNTER_TIMED_ONLY], 0);
}

SIM_TEST(a_kernel_that_only_takes_time_costs_the_host_little)
{
        struct exec_fixture exec = exec_start();
        CUfunction kernel = exec_function(&exec, "with_params");
        CUdeviceptr p = 0;
        unsigned n = 0;
        void *params[] = { &p, &n };
        double best_ns = 1e9;

        for (unsigned round = 0; round < 20; round++) {
                double begin = exec_now_ms(), ns;

                for (unsigned i = 0; i < 200; i++)
                        OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
                ns = (exec_now_ms() - begin) * 1e6 / 200;
                if (ns < best_ns)
                        best_ns = ns;
                OK(cuCtxSynchronize());
        }
        print_message("# a launch takes %.0f ns\n", best_ns);
        CHECK(best_ns < 2000);
}

int main(void)
{
        return RUN(CASE(dimensions_beyond_the_limits_are_refused),
                   CASE(arguments_come_one_by_one_or_in_a_buffer),
                   CASE(the_first_launch_interface_still_works),
                   CASE(a_config_with_attributes_launches_and_records_its_event),
                   CASE(a_cooperative_grid_must_fit_the_gpu),
                   CASE(a_bad_address_breaks_the_context_for_good),
                   CASE(a_function_belongs_to_its_device), CASE(launches_are_counted),
                   CASE(noise_spreads_the_times_around_the_models),
                   CASE(a_kernel_that_only_takes_time_costs_the_host_little));
}
