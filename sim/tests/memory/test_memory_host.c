/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of host memory the driver knows, and of what it tells about pointers. */
#include "memory_fixture.h"

static unsigned type_of(CUdeviceptr at)
{
        unsigned type = 0;

        GOOD(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
        return type;
}

SIM_TEST(page_locked_memory_is_the_hosts_own)
{
        CUdeviceptr at, b;
        unsigned flags = 0;
        void *p;
        int back = 0;

        one_gpu();
        size_t before = free_bytes();
        GOOD(cuMemHostAlloc(&p, 3 * MIB, CU_MEMHOSTALLOC_PORTABLE));
        CHECK_EQ(before, free_bytes());
        *(int *)p = 12;
        GOOD(cuMemHostGetDevicePointer_v2(&at, p, 0));
        CHECK_EQ(at, (CUdeviceptr)(uintptr_t)p);
        GOOD(cuMemHostGetFlags(&flags, p));
        CHECK_EQ(flags & CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
        GOOD(cuMemAlloc_v2(&b, 4));
        GOOD(cuMemcpyHtoD_v2(b, p, 4));
        GOOD(cuMemcpyDtoH_v2(&back, b, 4));
        CHECK_EQ(back, 12);
        CHECK_EQ(type_of(at), CU_MEMORYTYPE_HOST);
        CHECK_EQ(type_of(b), CU_MEMORYTYPE_DEVICE);
        CHECK_EQ(cuMemFree_v2(at), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemFreeHost(p));
        CHECK_EQ(cuMemFreeHost(p), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemHostAlloc(&p, 10, 0x80), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemHostAlloc(&p, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(memory_can_be_registered_once)
{
        char *own = malloc(100000);
        CUdeviceptr at;
        unsigned flags;

        one_gpu();
        CHECK_EQ(cuMemHostGetDevicePointer_v2(&at, own, 0), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMemHostRegister_v2(own, 100000, 0));
        CHECK_EQ(cuMemHostRegister_v2(own + 50, 100, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        GOOD(cuMemHostGetDevicePointer_v2(&at, own + 10, 0));
        CHECK_EQ(at, (CUdeviceptr)(uintptr_t)(own + 10));
        CHECK_EQ(type_of(at), CU_MEMORYTYPE_HOST);
        CHECK_EQ(cuMemHostGetFlags(&flags, own), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuMemHostUnregister(own + 10), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        GOOD(cuMemHostUnregister(own));
        CHECK_EQ(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
        GOOD(cuMemHostRegister_v2(own + 1000, 100, 0));
        GOOD(cuMemHostRegister_v2(own, 100, 0));
        GOOD(cuMemHostRegister_v2(own + 5000, 100, 0));
        GOOD(cuMemHostUnregister(own));
        GOOD(cuMemHostUnregister(own + 5000));
        GOOD(cuMemHostUnregister(own + 1000));
        for (int round = 0; round < 1000; round++) {
                GOOD(cuMemHostRegister_v2(own + round, 100, 0));
                GOOD(cuMemHostUnregister(own + round));
        }
}

SIM_TEST(attributes_of_a_device_pointer)
{
        CUcontext context, current;
        CUdeviceptr a, start, next;
        unsigned long long id = 0, other = 0;
        size_t size;
        int ordinal = -9;
        unsigned char flag = 9;
        unsigned on = 1;

        one_gpu();
        GOOD(cuCtxGetCurrent(&current));
        GOOD(cuMemAlloc_v2(&a, 1000));
        GOOD(cuMemAlloc_v2(&next, 1000));
        GOOD(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, a));
        CHECK(context == current);
        GOOD(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, a));
        CHECK_EQ(ordinal, 0);
        GOOD(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, a + 999));
        CHECK_EQ(start, a);
        GOOD(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, a + 999));
        CHECK_EQ(size, 1000);
        GOOD(cuPointerGetAttribute(&flag, CU_POINTER_ATTRIBUTE_IS_MANAGED, a));
        CHECK_EQ(flag, 0);
        GOOD(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, a));
        GOOD(cuPointerGetAttribute(&other, CU_POINTER_ATTRIBUTE_BUFFER_ID, next));
        CHECK(id && other && id != other);
        CHECK_EQ(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_HOST_POINTER, a),
                 CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, a + 1000),
                 CUDA_ERROR_INVALID_VALUE);
        GOOD(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
        GOOD(cuPointerGetAttribute(&flag, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, a));
        CHECK_EQ(flag, 1);
}

SIM_TEST(several_attributes_at_once_forgive_foreign_pointers)
{
        CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                        CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                        CU_POINTER_ATTRIBUTE_IS_MANAGED };
        unsigned type = 77;
        int ordinal = 77;
        void *host = &type;
        unsigned managed = 0;
        void *data[] = { &type, &ordinal, &host, &managed };
        CUdeviceptr a;

        one_gpu();
        GOOD(cuPointerGetAttributes(4, which, data, (CUdeviceptr)(uintptr_t)&type));
        CHECK_EQ(type, 0);
        CHECK_EQ(ordinal, CU_DEVICE_INVALID);
        CHECK(!host);
        GOOD(cuMemAllocManaged(&a, 100, CU_MEM_ATTACH_GLOBAL));
        GOOD(cuPointerGetAttributes(4, which, data, a + 5));
        CHECK_EQ(type, CU_MEMORYTYPE_DEVICE);
        CHECK_EQ(ordinal, 0);
        CHECK_EQ((uintptr_t)host, a + 5);
        CHECK_EQ(managed, 1);
}

int main(void)
{
        return RUN(CASE(page_locked_memory_is_the_hosts_own), CASE(memory_can_be_registered_once),
                   CASE(attributes_of_a_device_pointer),
                   CASE(several_attributes_at_once_forgive_foreign_pointers));
}
