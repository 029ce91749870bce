/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of arrays and mipmaps, and of kernels that read textures and write surfaces. */
#include "memory_fixture.h"

SIM_TEST(arrays_are_charged_in_bytes_and_described)
{
        CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = 256,
                                          .Height = 256,
                                          .Depth = 64,
                                          .Format = CU_AD_FORMAT_FLOAT,
                                          .NumChannels = 1 };
        CUDA_ARRAY3D_DESCRIPTOR found;
        CUDA_ARRAY_DESCRIPTOR flat;
        CUarray array;

        one_gpu();
        size_t before = free_bytes();
        GOOD(cuArray3DCreate_v2(&array, &shape));
        CHECK_EQ(before - free_bytes(), 16 * MIB);
        GOOD(cuArray3DGetDescriptor_v2(&found, array));
        CHECK(!memcmp(&found, &shape, sizeof shape));
        GOOD(cuArrayGetDescriptor_v2(&flat, array));
        CHECK_EQ(flat.Width, 256);
        GOOD(cuArrayDestroy(array));
        CHECK_EQ(before, free_bytes());
        shape.NumChannels = 3;
        CHECK_EQ(cuArray3DCreate_v2(&array, &shape), CUDA_ERROR_INVALID_VALUE);
        shape.NumChannels = 4;
        shape.Depth = 8192;
        CHECK_EQ(cuArray3DCreate_v2(&array, &shape), CUDA_ERROR_OUT_OF_MEMORY);
        CHECK_EQ(cuArray3DGetDescriptor_v2(&found, (CUarray)&shape), CUDA_ERROR_INVALID_HANDLE);
}

SIM_TEST(mipmaps_have_levels)
{
        CUDA_ARRAY3D_DESCRIPTOR shape = {
                .Width = 64, .Height = 16, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 4
        };
        CUDA_ARRAY3D_DESCRIPTOR found;
        CUmipmappedArray mipmap;
        CUarray level;
        char sent[32], back[32];

        one_gpu();
        GOOD(cuMipmappedArrayCreate(&mipmap, &shape, 100));
        GOOD(cuMipmappedArrayGetLevel(&level, mipmap, 3));
        GOOD(cuArray3DGetDescriptor_v2(&found, level));
        CHECK_EQ(found.Width, 8);
        CHECK_EQ(found.Height, 2);
        CHECK_EQ(cuMipmappedArrayGetLevel(&level, mipmap, 7), CUDA_ERROR_INVALID_VALUE);
        scramble(sent, sizeof sent, 3);
        GOOD(cuMemcpyHtoA_v2(level, 0, sent, 32));
        GOOD(cuMemcpyAtoH_v2(back, level, 0, 32));
        CHECK(!memcmp(sent, back, 32));
        CHECK_EQ(cuArrayDestroy(level), CUDA_ERROR_INVALID_VALUE);
        GOOD(cuMipmappedArrayDestroy(mipmap));
        CHECK_EQ(cuMipmappedArrayDestroy((CUmipmappedArray)&shape), CUDA_ERROR_INVALID_HANDLE);
}

static const char source[] =
        ".version 7.0\n.target sm_50\n.address_size 64\n"
        /* out[i] = texture(x[i], y[i]) */
        ".visible .entry sample(.param .u64 t, .param .u64 at, .param .u64 out)\n{\n"
        ".reg .b64 %t, %a, %o, %i; .reg .b32 %n; .reg .f32 %x, %y, %r, %g, %b, %w;\n"
        "ld.param.u64 %t, [t]; ld.param.u64 %a, [at]; ld.param.u64 %o, [out];\n"
        "mov.u32 %n, %tid.x; mul.wide.u32 %i, %n, 8; add.u64 %a, %a, %i;\n"
        "mul.wide.u32 %i, %n, 4; add.u64 %o, %o, %i;\n"
        "ld.global.f32 %x, [%a]; ld.global.f32 %y, [%a+4];\n"
        "tex.2d.v4.f32.f32 {%r, %g, %b, %w}, [%t, {%x, %y}];\n"
        "st.global.f32 [%o], %r; ret;\n}\n"
        /* surface[tid] = tid * 10 */
        ".visible .entry paint(.param .u64 s)\n{\n"
        ".reg .b64 %s; .reg .b32 %n, %x, %v;\n"
        "ld.param.u64 %s, [s]; mov.u32 %n, %tid.x; mul.lo.u32 %v, %n, 10; shl.b32 %x, %n, 2;\n"
        "sust.b.1d.b32.trap [%s, {%x}], {%v}; ret;\n}\n";

static CUfunction function(const char *name)
{
        CUmodule module;
        CUfunction found;

        GOOD(cuModuleLoadData(&module, source));
        GOOD(cuModuleGetFunction(&found, module, name));
        return found;
}

/* A 4 × 2 array of floats, 0 1 2 3 / 10 11 12 13. */
static CUarray floats(void)
{
        static const float rows[2][4] = { { 0, 1, 2, 3 }, { 10, 11, 12, 13 } };
        CUDA_ARRAY_DESCRIPTOR shape = {
                .Width = 4, .Height = 2, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1
        };
        CUarray array;

        GOOD(cuArrayCreate_v2(&array, &shape));
        CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                               .srcHost = rows,
                               .srcPitch = 16,
                               .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                               .dstArray = array,
                               .WidthInBytes = 16,
                               .Height = 2 };
        GOOD(cuMemcpy2D_v2(&copy));
        return array;
}

/* What a kernel reads at four coordinates. */
static void sample(CUtexObject texture, const float at[4][2], float ret[4])
{
        CUdeviceptr coordinates, out;

        GOOD(cuMemAlloc_v2(&coordinates, 32));
        GOOD(cuMemAlloc_v2(&out, 16));
        GOOD(cuMemcpyHtoD_v2(coordinates, at, 32));
        void *params[] = { &texture, &coordinates, &out };
        GOOD(cuLaunchKernel(function("sample"), 1, 1, 1, 4, 1, 1, 0, NULL, params, NULL));
        GOOD(cuMemcpyDtoH_v2(ret, out, 16));
}

#define NEAR(a, b) ((a) > (b)-0.01f && (a) < (b) + 0.01f)

SIM_TEST(kernels_sample_textures)
{
        const float at[4][2] = { { 0.5f, 0.5f }, { 1.5f, 1.5f }, { 9, 0.5f }, { -3, 1.5f } };
        const float between[4][2] = { { 1, 0.5f }, { 2, 1 }, { 0, 0 }, { 3.75f, 1.5f } };
        CUDA_TEXTURE_DESC sampling = { .addressMode = { CU_TR_ADDRESS_MODE_CLAMP,
                                                        CU_TR_ADDRESS_MODE_CLAMP } };
        CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY };
        CUDA_RESOURCE_DESC found;
        CUtexObject texture;
        float got[4];

        one_gpu();
        resource.res.array.hArray = floats();
        GOOD(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
        sample(texture, at, got);
        CHECK(got[0] == 0 && got[1] == 11 && got[2] == 3 && got[3] == 10);
        GOOD(cuTexObjectGetResourceDesc(&found, texture));
        CHECK(found.res.array.hArray == resource.res.array.hArray);
        GOOD(cuTexObjectDestroy(texture));
        CHECK_EQ(cuTexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);

        sampling.filterMode = CU_TR_FILTER_MODE_LINEAR;
        GOOD(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
        sample(texture, between, got);
        CHECK(NEAR(got[0], 0.5f) && NEAR(got[1], 6.5f) && NEAR(got[2], 0) && NEAR(got[3], 13));

        sampling.filterMode = CU_TR_FILTER_MODE_POINT;
        sampling.flags = CU_TRSF_NORMALIZED_COORDINATES;
        sampling.addressMode[0] = CU_TR_ADDRESS_MODE_WRAP;
        sampling.addressMode[1] = CU_TR_ADDRESS_MODE_MIRROR;
        GOOD(cuTexObjectCreate(&texture, &resource, &sampling, NULL));
        const float round[4][2] = {
                { 1.3f, 0.1f }, { -0.1f, 0.1f }, { 0.1f, 1.1f }, { 0.1f, -0.1f }
        };
        sample(texture, round, got);
        CHECK(got[0] == 1 && got[1] == 3 && got[2] == 10 && got[3] == 0);
        sampling.addressMode[0] = (CUaddress_mode)9;
        CHECK_EQ(cuTexObjectCreate(&texture, &resource, &sampling, NULL), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(kernels_write_surfaces)
{
        CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = 16,
                                          .Format = CU_AD_FORMAT_UNSIGNED_INT32,
                                          .NumChannels = 1,
                                          .Flags = CUDA_ARRAY3D_SURFACE_LDST };
        CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY };
        CUsurfObject surface;
        uint32_t back[16];

        one_gpu();
        GOOD(cuArray3DCreate_v2(&resource.res.array.hArray, &shape));
        GOOD(cuSurfObjectCreate(&surface, &resource));
        void *params[] = { &surface };
        GOOD(cuLaunchKernel(function("paint"), 1, 1, 1, 16, 1, 1, 0, NULL, params, NULL));
        GOOD(cuMemcpyAtoH_v2(back, resource.res.array.hArray, 0, sizeof back));
        for (unsigned i = 0; i < 16; i++)
                CHECK_EQ(back[i], 10 * i);
        GOOD(cuSurfObjectDestroy(surface));
}

int main(void)
{
        return RUN(CASE(arrays_are_charged_in_bytes_and_described), CASE(mipmaps_have_levels),
                   CASE(kernels_sample_textures), CASE(kernels_write_surfaces));
}
