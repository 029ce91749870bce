/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of modules: loading, looking up, variables, linking, and what bad images get. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_prototypes.h"
#include "file.h"
#include "sim.h"

#define PTX_HEAD ".version 7.0\n.target sm_52\n.address_size 64\n"

static const char plain_ptx[] =
        PTX_HEAD ".visible .global .align 4 .u32 counter = 7;\n"
                 ".visible .global .align 8 .b8 zeros[100];\n"
                 ".visible .const .align 4 .f32 factors[4] = {1.0, 2.0, 3.0, 4.0};\n"
                 ".visible .entry store(.param .u64 to, .param .u32 value)\n"
                 "{\n"
                 "  .reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
                 "  ld.param.u64 %rd1, [to];\n"
                 "  ld.param.u32 %r1, [value];\n"
                 "  cvta.to.global.u64 %rd2, %rd1;\n"
                 "  st.global.u32 [%rd2], %r1;\n"
                 "  ret;\n"
                 "}\n"
                 ".visible .entry count()\n"
                 "{\n"
                 "  .reg .b32 %r<3>;\n"
                 "  ld.global.u32 %r1, [counter];\n"
                 "  add.u32 %r2, %r1, 1;\n"
                 "  st.global.u32 [counter], %r2;\n"
                 "  ret;\n"
                 "}\n"
                 ".visible .entry narrow() .maxntid 128, 1, 1 { ret; }\n";

static void start(void)
{
        CUcontext context;

        sim_machine("a100-40gb", 2);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        CHECK_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
}

static CUmodule load(const char *ptx)
{
        CUmodule module = NULL;

        CHECK_EQ(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
        CHECK(module != NULL);
        return module;
}

static CUfunction function_of(CUmodule module, const char *name)
{
        CUfunction function = NULL;

        CHECK_EQ(cuModuleGetFunction(&function, module, name), CUDA_SUCCESS);
        return function;
}

static int attribute(CUfunction function, CUfunction_attribute which)
{
        int value = -99;

        CHECK_EQ(cuFuncGetAttribute(&value, which, function), CUDA_SUCCESS);
        return value;
}

static uint32_t word_at(CUdeviceptr address)
{
        uint32_t word = 0;

        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        CHECK_EQ(cuMemcpyDtoH_v2(&word, address, sizeof word), CUDA_SUCCESS);
        return word;
}

SIM_TEST(functions_are_found_by_name)
{
        start();
        CUmodule module = load(plain_ptx), owner = NULL;
        CUfunction function = function_of(module, "store"), other;
        const char *name = NULL;
        unsigned count = 0;

        CHECK_EQ(cuModuleGetFunction(&other, module, "stor"), CUDA_ERROR_NOT_FOUND);
        CHECK_EQ(cuModuleGetFunction(&other, module, ""), CUDA_ERROR_NOT_FOUND);
        CHECK_EQ(cuModuleGetFunction(&other, module, NULL), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuFuncGetName(&name, function), CUDA_SUCCESS);
        CHECK_STR(name, "store");
        CHECK_EQ(cuFuncGetModule(&owner, function), CUDA_SUCCESS);
        CHECK(owner == module);
        CHECK_EQ(cuModuleGetFunctionCount(&count, module), CUDA_SUCCESS);
        CHECK_EQ(count, 3);
}

SIM_TEST(all_functions_can_be_listed)
{
        start();
        CUmodule module = load(plain_ptx);
        CUfunction all[3] = { 0 };
        unsigned seen = 0;

        CHECK_EQ(cuModuleEnumerateFunctions(all, 3, module), CUDA_SUCCESS);
        for (unsigned i = 0; i < 3; i++)
                seen += all[i] == function_of(module, "count") ||
                        all[i] == function_of(module, "store") ||
                        all[i] == function_of(module, "narrow");
        CHECK_EQ(seen, 3);
        CHECK(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
}

SIM_TEST(attributes_are_plausible)
{
        start();
        CUmodule module = load(plain_ptx);
        CUfunction store = function_of(module, "store"), narrow = function_of(module, "narrow");

        CHECK(attribute(store, CU_FUNC_ATTRIBUTE_NUM_REGS) > 0);
        CHECK_EQ(attribute(store, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
        CHECK_EQ(attribute(narrow, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 128);
        CHECK_EQ(attribute(store, CU_FUNC_ATTRIBUTE_PTX_VERSION), 52);
        CHECK_EQ(attribute(store, CU_FUNC_ATTRIBUTE_BINARY_VERSION), 80);
        CHECK_EQ(attribute(store, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES), 16);
        CHECK_EQ(attribute(store, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 49152);
        CHECK_EQ(attribute(store, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), -1);
}

SIM_TEST(what_describes_a_kernel_cannot_be_set_and_the_others_have_limits)
{
        start();
        CUfunction function = function_of(load(plain_ptx), "store");

        CHECK_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 8),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    163 << 10),
                 CUDA_SUCCESS);
        CHECK_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    (163 << 10) + 1),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 163 << 10);
        CHECK_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                    101),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_L1), CUDA_SUCCESS);
        CHECK_EQ(cuFuncSetCacheConfig(NULL, CU_FUNC_CACHE_PREFER_L1), CUDA_ERROR_INVALID_HANDLE);
}

SIM_TEST(parameters_are_described)
{
        start();
        CUfunction function = function_of(load(plain_ptx), "store");
        size_t offset = 99, size = 99;

        CHECK_EQ(cuFuncGetParamInfo(function, 1, &offset, &size), CUDA_SUCCESS);
        CHECK_EQ(offset, 8);
        CHECK_EQ(size, 4);
        CHECK_EQ(cuFuncGetParamInfo(function, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(variables_have_their_initial_bytes_and_kernels_see_them)
{
        start();
        CUmodule module = load(plain_ptx);
        CUdeviceptr counter, zeros, factors;
        size_t bytes;
        float values[4];
        char contents[100];

        CHECK_EQ(cuModuleGetGlobal_v2(&counter, &bytes, module, "counter"), CUDA_SUCCESS);
        CHECK_EQ(bytes, 4);
        CHECK_EQ(word_at(counter), 7);
        CHECK_EQ(cuModuleGetGlobal_v2(&zeros, &bytes, module, "zeros"), CUDA_SUCCESS);
        CHECK_EQ(bytes, 100);
        memset(contents, 1, sizeof contents);
        CHECK_EQ(cuMemcpyDtoH_v2(contents, zeros, bytes), CUDA_SUCCESS);
        for (size_t i = 0; i < bytes; i++)
                CHECK_EQ(contents[i], 0);
        CHECK_EQ(cuModuleGetGlobal_v2(&factors, NULL, module, "factors"), CUDA_SUCCESS);
        CHECK_EQ(cuMemcpyDtoH_v2(values, factors, sizeof values), CUDA_SUCCESS);
        CHECK(values[0] == 1 && values[3] == 4);

        CHECK_EQ(
                cuLaunchKernel(function_of(module, "count"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                CUDA_SUCCESS);
        CHECK_EQ(word_at(counter), 8);
        CHECK_EQ(cuModuleGetGlobal_v2(&counter, &bytes, module, "nothing"), CUDA_ERROR_NOT_FOUND);
        CHECK_EQ(cuMemFree_v2(counter), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(a_variable_cleared_by_one_module_is_not_seen_by_the_next)
{
        start();
        CUdeviceptr address;
        size_t bytes;

        for (int round = 0; round < 3; round++) {
                CUmodule module = load(plain_ptx);

                CHECK_EQ(cuModuleGetGlobal_v2(&address, &bytes, module, "zeros"), CUDA_SUCCESS);
                CHECK_EQ(word_at(address), 0);
                CHECK_EQ(cuMemsetD8_v2(address, 0xee, bytes), CUDA_SUCCESS);
                CHECK_EQ(cuModuleUnload(module), CUDA_SUCCESS);
        }
}

SIM_TEST(unloading_gives_the_memory_back_and_ends_the_handles)
{
        static const char large_ptx[] = PTX_HEAD ".visible .global .b8 large[104857600];\n"
                                                 ".visible .entry nothing() { ret; }\n";
        size_t before, loaded, after, total;

        start();
        CHECK_EQ(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
        CUmodule module = load(large_ptx);
        CUfunction function = function_of(module, "nothing");
        int value;

        CHECK_EQ(cuMemGetInfo_v2(&loaded, &total), CUDA_SUCCESS);
        CHECK(before - loaded >= 104857600);
        CHECK_EQ(cuModuleUnload(module), CUDA_SUCCESS);
        CHECK_EQ(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
        CHECK(after == before);
        CHECK_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
        CHECK_EQ(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function),
                 CUDA_ERROR_INVALID_HANDLE);
        CHECK_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                 CUDA_ERROR_INVALID_HANDLE);
}

SIM_TEST(a_module_that_does_not_fit_is_refused_and_leaves_nothing)
{
        static const char huge_ptx[] = PTX_HEAD ".visible .global .b8 huge[107374182400];\n";
        size_t before, after, total;
        CUmodule module;

        start();
        CHECK_EQ(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
        CHECK_EQ(cuModuleLoadData(&module, huge_ptx), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
        CHECK(after == before);
}

SIM_TEST(a_context_takes_its_modules_along)
{
        CUcontext context;

        start();
        CHECK_EQ(cuCtxCreate_v2(&context, 0, 1), CUDA_SUCCESS);
        CUmodule module = load(plain_ptx);

        CHECK_EQ(cuCtxDestroy_v2(context), CUDA_SUCCESS);
        CHECK_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

SIM_TEST(what_is_no_image_is_refused)
{
        char noise[64] = "\x01\x02\x03 noise";
        CUmodule module = NULL;

        start();
        CHECK_EQ(cuModuleLoadData(&module, noise), CUDA_ERROR_INVALID_IMAGE);
        CHECK_EQ(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuModuleLoadData(NULL, plain_ptx), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuModuleLoad(&module, "/nowhere/at/all.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
        CHECK(module == NULL);
        CHECK_EQ(cuCtxSetCurrent(NULL), CUDA_SUCCESS);
        CHECK_EQ(cuModuleLoadData(&module, plain_ptx), CUDA_ERROR_INVALID_CONTEXT);
}

SIM_TEST(a_syntax_error_is_explained_in_the_log)
{
        static const char bad_ptx[] = PTX_HEAD ".visible .entry broken(\n{ this is not ptx }\n";
        char log[256] = "untouched";
        CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                                   CU_JIT_WALL_TIME };
        void *values[] = { log, (void *)sizeof log, NULL };
        CUmodule module;

        start();
        CHECK_EQ(cuModuleLoadDataEx(&module, bad_ptx, 3, options, values), CUDA_ERROR_INVALID_PTX);
        CHECK(strlen(log) > 10);
        CHECK(strcmp(log, "untouched") != 0);
        CHECK_EQ((size_t)values[1], strlen(log));

        /* A log that is too small is cut, never overrun. */
        char tiny[9] = "12345678";

        values[0] = tiny;
        values[1] = (void *)4;
        CHECK_EQ(cuModuleLoadDataEx(&module, bad_ptx, 2, options, values), CUDA_ERROR_INVALID_PTX);
        CHECK_EQ(strlen(tiny), 3);
        CHECK_EQ(tiny[4], '5');
}

SIM_TEST(options_need_arrays_and_must_exist)
{
        CUjit_option unknown = (CUjit_option)4711;
        void *value = NULL;
        CUmodule module;

        start();
        CHECK_EQ(cuModuleLoadDataEx(&module, plain_ptx, 1, NULL, &value), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuModuleLoadDataEx(&module, plain_ptx, 1, &unknown, &value),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuModuleLoadDataEx(&module, plain_ptx, 0, NULL, NULL), CUDA_SUCCESS);
}

SIM_TEST(ptx_for_a_newer_driver_or_device_is_refused_as_such)
{
        static const char newer_language[] =
                ".version 9.9\n.target sm_52\n.address_size 64\n.visible .entry f() { ret; }\n";
        static const char newer_device[] =
                ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry f() { ret; }\n";
        CUmodule module;

        start();
        CHECK_EQ(cuModuleLoadData(&module, newer_language), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
        CHECK_EQ(cuModuleLoadData(&module, newer_device), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

SIM_TEST(a_module_loads_from_a_file)
{
        char path[80];
        CUmodule module = NULL;

        start();
        snprintf(path, sizeof path, "%s.ptx", getenv("VGPU_SIM"));
        CHECK_EQ(file_replace(path, plain_ptx, strlen(plain_ptx), 0600), 0);
        CHECK_EQ(cuModuleLoad(&module, path), CUDA_SUCCESS);
        function_of(module, "store");
        CHECK_EQ(file_replace(path, "", 0, 0600), 0);
        CHECK_EQ(cuModuleLoad(&module, path), CUDA_ERROR_INVALID_IMAGE);
        unlink(path);
}

static const char caller_ptx[] = PTX_HEAD ".extern .func (.param .b32 out) twice(.param .b32 in);\n"
                                          ".visible .entry run(.param .u64 to, .param .u32 value)\n"
                                          "{\n"
                                          "  .reg .b64 %rd<2>; .reg .b32 %r<3>;\n"
                                          "  ld.param.u64 %rd1, [to];\n"
                                          "  ld.param.u32 %r1, [value];\n"
                                          "  { .param .b32 a; .param .b32 b;\n"
                                          "    st.param.b32 [a], %r1;\n"
                                          "    call.uni (b), twice, (a);\n"
                                          "    ld.param.b32 %r2, [b]; }\n"
                                          "  st.global.u32 [%rd1], %r2;\n"
                                          "  ret;\n"
                                          "}\n";
static const char callee_ptx[] = PTX_HEAD ".visible .func (.param .b32 out) twice(.param .b32 in)\n"
                                          "{\n"
                                          "  .reg .b32 %r<3>;\n"
                                          "  ld.param.b32 %r1, [in];\n"
                                          "  add.u32 %r2, %r1, %r1;\n"
                                          "  st.param.b32 [out], %r2;\n"
                                          "  ret;\n"
                                          "}\n";

static CUresult add(CUlinkState state, const char *ptx)
{
        return cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)ptx, strlen(ptx) + 1, "part", 0,
                                NULL, NULL);
}

SIM_TEST(linked_parts_call_each_other)
{
        CUlinkState state;
        void *image = NULL;
        size_t bytes = 0;
        CUdeviceptr to;
        uint32_t value = 21;

        start();
        CHECK_EQ(cuLinkCreate_v2(0, NULL, NULL, &state), CUDA_SUCCESS);
        CHECK_EQ(add(state, caller_ptx), CUDA_SUCCESS);
        CHECK_EQ(add(state, callee_ptx), CUDA_SUCCESS);
        CHECK_EQ(cuLinkComplete(state, &image, &bytes), CUDA_SUCCESS);
        CHECK(image != NULL && bytes > 0);
        CUmodule module = load(image);

        CHECK_EQ(cuLinkDestroy(state), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&to, 4), CUDA_SUCCESS);
        void *params[] = { &to, &value };

        CHECK_EQ(
                cuLaunchKernel(function_of(module, "run"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
                CUDA_SUCCESS);
        CHECK_EQ(word_at(to), 42);
}

SIM_TEST(a_damaged_linked_image_is_refused)
{
        CUlinkState state;
        void *image;
        size_t bytes;
        CUmodule module;

        start();
        CHECK_EQ(cuLinkCreate_v2(0, NULL, NULL, &state), CUDA_SUCCESS);
        CHECK_EQ(add(state, plain_ptx), CUDA_SUCCESS);
        CHECK_EQ(cuLinkComplete(state, &image, &bytes), CUDA_SUCCESS);
        uint64_t *words = image;

        words[3] = UINT64_MAX - 8; /* where the first part begins */
        CHECK_EQ(cuModuleLoadData(&module, image), CUDA_ERROR_INVALID_IMAGE);
        CHECK_EQ(cuLinkDestroy(state), CUDA_SUCCESS);
}

SIM_TEST(linking_refuses_bad_parts_and_says_why)
{
        char log[200] = "";
        CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
        void *values[] = { log, (void *)sizeof log };
        CUlinkState state;

        start();
        CHECK_EQ(cuLinkCreate_v2(2, options, values, &state), CUDA_SUCCESS);
        CHECK_EQ(add(state, PTX_HEAD "what is this"), CUDA_ERROR_INVALID_PTX);
        CHECK(strstr(log, "part: ") == log);
        CHECK_EQ(cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, "/nowhere.ptx", 0, NULL, NULL),
                 CUDA_ERROR_FILE_NOT_FOUND);
        CHECK_EQ(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, NULL, 4, "", 0, NULL, NULL),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuLinkDestroy(state), CUDA_SUCCESS);
        CHECK_EQ(cuLinkDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
}

static const char texture_ptx[] =
        PTX_HEAD ".visible .global .texref image;\n"
                 ".visible .global .surfref sheet;\n"
                 ".visible .entry fetch(.param .u64 to, .param .u32 at)\n"
                 "{\n"
                 "  .reg .b64 %rd<2>; .reg .b32 %r<2>; .reg .f32 %f<5>;\n"
                 "  ld.param.u64 %rd1, [to];\n"
                 "  ld.param.u32 %r1, [at];\n"
                 "  tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [image, {%r1}];\n"
                 "  st.global.f32 [%rd1], %f1;\n"
                 "  ret;\n"
                 "}\n";

SIM_TEST(kernels_read_through_a_texture_reference)
{
        float values[4] = { 1.5f, 2.5f, 3.5f, 4.5f }, got = 0;
        CUtexref texture = NULL, none;
        CUsurfref surface = NULL;
        CUdeviceptr image, to;
        uint32_t at = 2;
        size_t offset;

        start();
        CUmodule module = load(texture_ptx);

        CHECK_EQ(cuModuleGetTexRef(&texture, module, "image"), CUDA_SUCCESS);
        CHECK_EQ(cuModuleGetSurfRef(&surface, module, "sheet"), CUDA_SUCCESS);
        CHECK_EQ(cuModuleGetTexRef(&none, module, "sheet"), CUDA_ERROR_NOT_FOUND);
        CHECK_EQ(cuModuleGetTexRef(&none, module, "nothing"), CUDA_ERROR_NOT_FOUND);
        CHECK_EQ(cuMemAlloc_v2(&image, sizeof values), CUDA_SUCCESS);
        CHECK_EQ(cuMemAlloc_v2(&to, sizeof got), CUDA_SUCCESS);
        CHECK_EQ(cuMemcpyHtoD_v2(image, values, sizeof values), CUDA_SUCCESS);
        CHECK_EQ(cuTexRefSetFormat(texture, CU_AD_FORMAT_FLOAT, 1), CUDA_SUCCESS);
        CHECK_EQ(cuTexRefSetAddress_v2(&offset, texture, image, sizeof values), CUDA_SUCCESS);
        void *params[] = { &to, &at };

        CHECK_EQ(cuLaunchKernel(function_of(module, "fetch"), 1, 1, 1, 1, 1, 1, 0, NULL, params,
                                NULL),
                 CUDA_SUCCESS);
        CHECK_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
        CHECK_EQ(cuMemcpyDtoH_v2(&got, to, sizeof got), CUDA_SUCCESS);
        CHECK(got == 3.5f);
        CHECK_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

int main(void)
{
        return RUN(CASE(functions_are_found_by_name), CASE(all_functions_can_be_listed),
                   CASE(attributes_are_plausible),
                   CASE(what_describes_a_kernel_cannot_be_set_and_the_others_have_limits),
                   CASE(parameters_are_described),
                   CASE(variables_have_their_initial_bytes_and_kernels_see_them),
                   CASE(a_variable_cleared_by_one_module_is_not_seen_by_the_next),
                   CASE(unloading_gives_the_memory_back_and_ends_the_handles),
                   CASE(a_module_that_does_not_fit_is_refused_and_leaves_nothing),
                   CASE(a_context_takes_its_modules_along), CASE(what_is_no_image_is_refused),
                   CASE(a_syntax_error_is_explained_in_the_log),
                   CASE(options_need_arrays_and_must_exist),
                   CASE(ptx_for_a_newer_driver_or_device_is_refused_as_such),
                   CASE(a_module_loads_from_a_file), CASE(linked_parts_call_each_other),
                   CASE(a_damaged_linked_image_is_refused),
                   CASE(linking_refuses_bad_parts_and_says_why),
                   CASE(kernels_read_through_a_texture_reference));
}
