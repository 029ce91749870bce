/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of copies and fills: every shape against a reference in host memory. */
#include "memory_fixture.h"

enum { W = 40, H = 12, D = 6 };

SIM_TEST(what_goes_in_comes_out)
{
        enum { BYTES = 5 << 20 };
        char *sent = malloc(BYTES), *back = malloc(BYTES);
        CUdeviceptr a, b;

        one_gpu();
        scramble(sent, BYTES, 1);
        GOOD(cuMemAlloc_v2(&a, BYTES));
        GOOD(cuMemAlloc_v2(&b, BYTES));
        GOOD(cuMemcpyHtoD_v2(a, sent, BYTES));
        GOOD(cuMemcpyDtoD_v2(b, a, BYTES));
        GOOD(cuMemcpyDtoH_v2(back, b, BYTES));
        CHECK(!memcmp(sent, back, BYTES));
        GOOD(cuMemcpy(a + 3, b + 11, 4 << 20));
        GOOD(cuMemcpyDtoH_v2(back, a, BYTES));
        CHECK(!memcmp(back, sent, 3));
        CHECK(!memcmp(back + 3, sent + 11, 4 << 20));
        CHECK(!memcmp(back + 3 + (4 << 20), sent + 3 + (4 << 20), BYTES - 3 - (4 << 20)));
}

SIM_TEST(copies_stay_within_their_allocations)
{
        char bytes[4096];
        CUdeviceptr a;

        one_gpu();
        GOOD(cuMemAlloc_v2(&a, 1000));
        CHECK_EQ(cuMemcpyHtoD_v2(a, bytes, 1001), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemcpyHtoD_v2(a + 999, bytes, 2), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemcpyDtoH_v2(bytes, a + 1000, 1), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemcpyDtoH_v2(bytes, 0, 1), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemcpyHtoD_v2(a, NULL, 1), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemcpyHtoD_v2(a, bytes, 0));
        GOOD(cuMemcpyHtoD_v2(a, bytes, 1000));
        CHECK_EQ(cuMemsetD8_v2(a, 1, 1001), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemsetD32_v2(a + 2, 1, 1), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemFree_v2(a));
        CHECK_EQ(cuMemcpyHtoD_v2(a, bytes, 1), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(host_to_host_works)
{
        char from[100], to[100] = { 0 };

        one_gpu();
        scramble(from, sizeof from, 5);
        GOOD(cuMemcpy((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from, sizeof to));
        CHECK(!memcmp(from, to, sizeof to));
}

/* A box of bytes in host memory and the same on the GPU. */
struct box {
        unsigned char host[D][H][W];
        CUdeviceptr device;
};

static void box_init(struct box *box, uint32_t seed)
{
        scramble(box->host, sizeof box->host, seed);
        GOOD(cuMemAlloc_v2(&box->device, sizeof box->host));
        GOOD(cuMemcpyHtoD_v2(box->device, box->host, sizeof box->host));
}

static void box_check(const struct box *box)
{
        unsigned char back[D][H][W];

        GOOD(cuMemcpyDtoH_v2(back, box->device, sizeof back));
        CHECK(!memcmp(back, box->host, sizeof back));
}

static unsigned pick(uint32_t *seed, unsigned below)
{
        *seed = *seed * 1664525 + 1013904223;
        return (*seed >> 8) % below;
}

SIM_TEST(boxes_of_any_shape)
{
        struct box from, to;
        uint32_t seed = 42;

        one_gpu();
        box_init(&from, 1);
        box_init(&to, 2);
        for (int round = 0; round < 300; round++) {
                unsigned w = 1 + pick(&seed, W), h = 1 + pick(&seed, H), d = 1 + pick(&seed, D);
                CUDA_MEMCPY3D copy = {
                        .srcXInBytes = pick(&seed, W - w + 1),
                        .srcY = pick(&seed, H - h + 1),
                        .srcZ = pick(&seed, D - d + 1),
                        .srcPitch = W,
                        .srcHeight = H,
                        .dstXInBytes = pick(&seed, W - w + 1),
                        .dstY = pick(&seed, H - h + 1),
                        .dstZ = pick(&seed, D - d + 1),
                        .dstPitch = W,
                        .dstHeight = H,
                        .WidthInBytes = w,
                        .Height = h,
                        .Depth = d,
                };
                bool is_from_host = round & 1;
                copy.srcMemoryType = is_from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
                copy.srcHost = from.host;
                copy.srcDevice = from.device;
                copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
                copy.dstDevice = to.device;
                for (unsigned z = 0; z < d; z++)
                        for (unsigned y = 0; y < h; y++)
                                memcpy(&to.host[copy.dstZ + z][copy.dstY + y][copy.dstXInBytes],
                                       &from.host[copy.srcZ + z][copy.srcY + y][copy.srcXInBytes],
                                       w);
                GOOD(round & 2 ? cuMemcpy3D_v2(&copy) : cuMemcpy3DAsync_v2(&copy, NULL));
        }
        box_check(&to);
        box_check(&from);
}

SIM_TEST(rectangles_through_an_array)
{
        struct box box;
        unsigned char out[H][W];
        CUDA_ARRAY_DESCRIPTOR shape = {
                .Width = W / 4, .Height = H, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4
        };
        CUarray array;

        one_gpu();
        box_init(&box, 3);
        GOOD(cuArrayCreate_v2(&array, &shape));
        CUDA_MEMCPY2D in = {
                .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                .srcDevice = box.device,
                .srcPitch = W,
                .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                .dstArray = array,
                .WidthInBytes = W,
                .Height = H,
        };
        GOOD(cuMemcpy2D_v2(&in));
        CUDA_MEMCPY2D back = {
                .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                .srcArray = array,
                .srcXInBytes = 8,
                .srcY = 2,
                .dstMemoryType = CU_MEMORYTYPE_HOST,
                .dstHost = out,
                .dstPitch = W,
                .WidthInBytes = 16,
                .Height = 5,
        };
        GOOD(cuMemcpy2DUnaligned_v2(&back));
        for (int y = 0; y < 5; y++)
                CHECK(!memcmp(out[y], &box.host[0][y + 2][8], 16));
        back.srcXInBytes = 32;
        CHECK_EQ(cuMemcpy2D_v2(&back), CUDA_ERROR_INVALID_VALUE);
        back.srcXInBytes = 0;
        back.dstPitch = 8;
        CHECK_EQ(cuMemcpy2D_v2(&back), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuArrayDestroy(array));
        CHECK_EQ(cuMemcpy2D_v2(&(CUDA_MEMCPY2D){ .WidthInBytes = 1, .Height = 1 }),
                 CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(one_row_to_and_from_arrays)
{
        CUDA_ARRAY_DESCRIPTOR shape = { .Width = 256,
                                        .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                        .NumChannels = 1 };
        unsigned char sent[256], back[256];
        CUarray one, two;
        CUdeviceptr a;

        one_gpu();
        scramble(sent, sizeof sent, 9);
        GOOD(cuArrayCreate_v2(&one, &shape));
        GOOD(cuArrayCreate_v2(&two, &shape));
        GOOD(cuMemAlloc_v2(&a, 256));
        GOOD(cuMemcpyHtoA_v2(one, 0, sent, 256));
        GOOD(cuMemcpyAtoA_v2(two, 16, one, 0, 240));
        GOOD(cuMemcpyAtoD_v2(a, two, 16, 200));
        GOOD(cuMemcpyDtoA_v2(one, 56, a, 200));
        GOOD(cuMemcpyAtoH_v2(back, one, 0, 256));
        CHECK(!memcmp(back, sent, 56));
        CHECK(!memcmp(back + 56, sent, 200));
        CHECK_EQ(cuMemcpyAtoH_v2(back, one, 1, 256), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemcpyAtoH_v2(back, (CUarray)&shape, 0, 1), CUDA_ERROR_INVALID_HANDLE);
}

SIM_TEST(fills_of_each_width)
{
        unsigned char ref[4096], back[4096];
        CUdeviceptr a;

        one_gpu();
        GOOD(cuMemAlloc_v2(&a, sizeof ref));
        GOOD(cuMemsetD8_v2(a, 0xa5, sizeof ref));
        memset(ref, 0xa5, sizeof ref);
        GOOD(cuMemsetD16_v2(a + 2, 0x1234, 100));
        GOOD(cuMemsetD32Async(a + 400, 0xdeadbeef, 50, NULL));
        GOOD(cuMemsetD2D8_v2(a + 1024, 64, 7, 10, 8));
        GOOD(cuMemsetD2D16Async(a + 2048, 64, 0x0102, 10, 8, NULL));
        GOOD(cuMemsetD2D32_v2(a + 3072, 128, 0x01020304, 5, 4));
        for (unsigned i = 0; i < 100; i++)
                memcpy(ref + 2 + 2 * i, &(uint16_t){ 0x1234 }, 2);
        for (unsigned i = 0; i < 50; i++)
                memcpy(ref + 400 + 4 * i, &(uint32_t){ 0xdeadbeef }, 4);
        for (unsigned y = 0; y < 8; y++)
                for (unsigned x = 0; x < 10; x++) {
                        ref[1024 + y * 64 + x] = 7;
                        memcpy(ref + 2048 + y * 64 + 2 * x, &(uint16_t){ 0x0102 }, 2);
                }
        for (unsigned y = 0; y < 4; y++)
                for (unsigned x = 0; x < 5; x++)
                        memcpy(ref + 3072 + y * 128 + 4 * x, &(uint32_t){ 0x01020304 }, 4);
        GOOD(cuMemcpyDtoH_v2(back, a, sizeof back));
        CHECK(!memcmp(ref, back, sizeof ref));
}

/* Uniform pages are notes; parts of them must read and write like bytes all the same. */
SIM_TEST(uniform_pages_read_and_write_like_others)
{
        enum { BYTES = 9 << 20 };
        unsigned char *ref = malloc(BYTES), *back = malloc(BYTES);
        uint32_t seed = 11;
        CUdeviceptr a;

        one_gpu();
        GOOD(cuMemAlloc_v2(&a, BYTES));
        GOOD(cuMemsetD8_v2(a, 0, BYTES));
        memset(ref, 0, BYTES);
        for (int round = 0; round < 120; round++) {
                size_t from = 4 * (size_t)pick(&seed, BYTES / 4),
                       n = 4 + 4 * (size_t)pick(&seed, 700000);
                size_t to = 4 * (size_t)pick(&seed, BYTES / 4);
                if (round % 5 == 0)
                        from &= ~(size_t)0x1fffff, to &= ~(size_t)0x1fffff, n = 4 << 20;
                if (n > BYTES - from)
                        n = BYTES - from;
                if (n > BYTES - to)
                        n = BYTES - to;
                if (round % 3 == 0) {
                        uint32_t value = round % 2 ? 0x01020304u * (unsigned)round : 0;
                        GOOD(cuMemsetD32_v2(a + to, value, n / 4));
                        for (size_t i = 0; i < n; i += 4)
                                memcpy(ref + to + i, &value, 4);
                } else if (round % 3 == 1) {
                        unsigned char some[100];
                        scramble(some, sizeof some, (uint32_t)round);
                        if (to > BYTES - sizeof some)
                                continue;
                        GOOD(cuMemcpyHtoD_v2(a + to, some, sizeof some));
                        memcpy(ref + to, some, sizeof some);
                } else if (from + n <= to || to + n <= from) {
                        GOOD(cuMemcpyDtoD_v2(a + to, a + from, n));
                        memcpy(ref + to, ref + from, n);
                }
                if (round % 20 == 7) {
                        GOOD(cuMemcpyDtoH_v2(back, a, BYTES));
                        CHECK(!memcmp(ref, back, BYTES));
                }
        }
        GOOD(cuMemcpyDtoH_v2(back, a, BYTES));
        CHECK(!memcmp(ref, back, BYTES));
}

SIM_TEST(what_exceeds_the_budget_is_dropped_and_counted)
{
        enum { BYTES = 32 << 20 };
        char *sent = malloc(BYTES), *back = malloc(BYTES);
        struct machine *machine;
        CUdeviceptr a, b;

        machine_small(1, 1024 * MIB, 8 * MIB);
        GOOD(cuInit(0));
        context_on(0);
        machine = sim_machine_open();
        scramble(sent, BYTES, 1);
        GOOD(cuMemAlloc_v2(&a, BYTES));
        GOOD(cuMemcpyHtoD_v2(a, sent, BYTES));
        CHECK_EQ(atomic_load(&machine->file->header.counters[COUNTER_CONTENT_DROPPED_BYTES]),
                 BYTES - 8 * MIB);
        GOOD(cuMemcpyDtoH_v2(back, a, BYTES));
        CHECK(!memcmp(sent, back, 8 << 20));
        CHECK_EQ(back[BYTES - 1], 0);
        GOOD(cuMemFree_v2(a));
        GOOD(cuMemAlloc_v2(&b, BYTES));
        GOOD(cuMemcpyHtoD_v2(b + BYTES / 2, sent, 4 << 20));
        GOOD(cuMemcpyDtoH_v2(back, b + BYTES / 2, 4 << 20));
        CHECK(!memcmp(sent, back, 4 << 20));
}

SIM_TEST(untouched_and_uniform_memory_costs_nothing)
{
        struct machine *machine;
        CUdeviceptr a;

        machine_small(1, 64 * 1024 * MIB, 0);
        GOOD(cuInit(0));
        context_on(0);
        machine = sim_machine_open();
        GOOD(cuMemAlloc_v2(&a, 60 * 1024 * MIB));
        GOOD(cuMemsetD32_v2(a, 0x3f800000, 15 * 1024 * MIB));
        GOOD(cuCtxSynchronize());
        uint32_t word = 0;
        GOOD(cuMemcpyDtoH_v2(&word, a + 59 * 1024 * MIB + 4, 4));
        CHECK_EQ(word, 0x3f800000);
        CHECK(atomic_load(&machine->file->slots[0].content_bytes) <= 16 * MIB);
}

/* Pageable memory is the program's own again when the call returns. */
SIM_TEST(a_pageable_source_may_change_after_the_call)
{
        enum { BYTES = 1 << 20 };
        static char big[BYTES], back[BYTES];
        char small[100];
        CUdeviceptr a;
        CUstream stream = CU_STREAM_PER_THREAD;

        one_gpu();
        GOOD(cuMemAlloc_v2(&a, BYTES));
        for (int round = 0; round < 50; round++) {
                memset(small, 'a' + round % 20, sizeof small);
                GOOD(cuMemsetD8Async(a, 0, BYTES, stream));
                GOOD(cuMemcpyHtoDAsync_v2(a, small, sizeof small, stream));
                memset(small, 'z', sizeof small);
                GOOD(cuMemcpyDtoHAsync_v2(back, a, sizeof small, stream));
                CHECK_EQ(back[0], 'a' + round % 20);
                CHECK_EQ(back[99], 'a' + round % 20);
        }
        memset(big, 'b', sizeof big);
        GOOD(cuMemcpyHtoDAsync_v2(a, big, sizeof big, stream));
        memset(big, 'c', sizeof big);
        GOOD(cuMemcpyDtoHAsync_v2(back, a, sizeof back, stream));
        CHECK_EQ(back[0], 'b');
        CHECK_EQ(back[BYTES - 1], 'b');
}

SIM_TEST(copies_between_gpus)
{
        char sent[1000], back[1000];
        CUcontext one, two;
        CUdeviceptr a, b;

        machine_small(2, 256 * MIB, 0);
        GOOD(cuInit(0));
        two = context_on(1);
        GOOD(cuMemAlloc_v2(&b, 1000));
        one = context_on(0);
        GOOD(cuMemAlloc_v2(&a, 1000));
        scramble(sent, sizeof sent, 4);
        GOOD(cuMemcpyHtoD_v2(a, sent, sizeof sent));
        GOOD(cuMemcpyPeer(b, two, a, one, 1000));
        GOOD(cuCtxSynchronize());
        GOOD(cuMemcpyDtoH_v2(back, b, 1000));
        CHECK(!memcmp(sent, back, 1000));
        CHECK_EQ(cuMemcpyPeer(b, NULL, a, one, 1000), CUDA_ERROR_INVALID_CONTEXT);
}

SIM_TEST(batches_copy_each_of_their_parts)
{
        char from[3][64], back[64];
        CUdeviceptr a, dsts[3], srcs[3];
        size_t sizes[3] = { 64, 64, 64 }, starts[1] = { 0 };
        CUmemcpyAttributes attributes = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
        CUstream stream = CU_STREAM_PER_THREAD;

        one_gpu();
        GOOD(cuMemAlloc_v2(&a, 256));
        for (int i = 0; i < 3; i++) {
                scramble(from[i], 64, (uint32_t)i);
                dsts[i] = a + 64 * (unsigned)i;
                srcs[i] = (CUdeviceptr)(uintptr_t)from[i];
        }
        GOOD(cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 3, &attributes, starts, 1, stream));
        GOOD(cuCtxSynchronize());
        for (int i = 0; i < 3; i++) {
                GOOD(cuMemcpyDtoH_v2(back, dsts[i], 64));
                CHECK(!memcmp(back, from[i], 64));
        }
        CHECK_EQ(cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 0, &attributes, starts, 1, stream),
                 CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
        return RUN(CASE(what_goes_in_comes_out), CASE(copies_stay_within_their_allocations),
                   CASE(host_to_host_works), CASE(boxes_of_any_shape),
                   CASE(rectangles_through_an_array), CASE(one_row_to_and_from_arrays),
                   CASE(fills_of_each_width), CASE(uniform_pages_read_and_write_like_others),
                   CASE(what_exceeds_the_budget_is_dropped_and_counted),
                   CASE(untouched_and_uniform_memory_costs_nothing),
                   CASE(a_pageable_source_may_change_after_the_call), CASE(copies_between_gpus),
                   CASE(batches_copy_each_of_their_parts));
}
