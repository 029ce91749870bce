/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of kernels that read textures and write surfaces: every way to filter and to leave the
 * edges, every shape, objects and references. The expected values are worked out by hand. */
#include <math.h>

#include "memory_fixture.h"

enum { WIDE = 4, HIGH = 4 };

static CUmodule module;

static CUfunction function(const char *name)
{
        CUfunction found;

        if (!module)
                GOOD(cuModuleLoad(&module, TEST_DATA "/texture.ptx"));
        GOOD(cuModuleGetFunction(&found, module, name));
        return found;
}

static CUdeviceptr on_gpu(const void *bytes, size_t count)
{
        CUdeviceptr at;

        GOOD(cuMemAlloc_v2(&at, count));
        GOOD(cuMemcpyHtoD_v2(at, bytes, count));
        return at;
}

/* Runs one thread per result: kernel(texture, at, out). */
static void read_all(const char *kernel, CUtexObject texture, const void *at, size_t at_bytes,
                     void *ret_values, size_t bytes, unsigned count)
{
        CUdeviceptr coordinates = on_gpu(at, at_bytes), out;

        GOOD(cuMemAlloc_v2(&out, bytes));
        GOOD(cuLaunchKernel(function(kernel), 1, 1, 1, count, 1, 1, 0, NULL,
                            (void *[]){ &texture, &coordinates, &out }, NULL));
        GOOD(cuMemcpyDtoH_v2(ret_values, out, bytes));
        GOOD(cuMemFree_v2(coordinates));
        GOOD(cuMemFree_v2(out));
}

static CUarray array_new(size_t depth, unsigned flags, CUarray_format format, unsigned channels)
{
        CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = WIDE,
                                          .Height = HIGH,
                                          .Depth = depth,
                                          .Format = format,
                                          .NumChannels = channels,
                                          .Flags = flags };
        CUarray array;

        GOOD(cuArray3DCreate_v2(&array, &shape));
        return array;
}

static void array_fill(CUarray array, const void *bytes, size_t element, size_t depth)
{
        CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                               .srcHost = bytes,
                               .srcPitch = WIDE * element,
                               .srcHeight = HIGH,
                               .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                               .dstArray = array,
                               .WidthInBytes = WIDE * element,
                               .Height = HIGH,
                               .Depth = depth };

        GOOD(cuMemcpy3D_v2(&copy));
}

/* Element (x, y, z) is x + 10 y + 100 z. */
static CUarray numbered(size_t depth, unsigned flags)
{
        float values[8][HIGH][WIDE];
        size_t planes = depth ? depth : 1;
        CUarray array = array_new(depth, flags, CU_AD_FORMAT_FLOAT, 1);

        for (size_t z = 0; z < planes; z++)
                for (unsigned y = 0; y < HIGH; y++)
                        for (unsigned x = 0; x < WIDE; x++)
                                values[z][y][x] = (float)(x + 10 * y + 100 * z);
        array_fill(array, values, sizeof(float), planes);
        return array;
}

static CUtexObject texture_of(const CUDA_RESOURCE_DESC *resource, CUaddress_mode mode,
                              CUfilter_mode filter, unsigned flags)
{
        CUDA_TEXTURE_DESC sampling = { .addressMode = { mode, mode, mode },
                                       .filterMode = filter,
                                       .flags = flags,
                                       .borderColor = { -1, -2, -3, -4 } };
        CUtexObject texture;

        GOOD(cuTexObjectCreate(&texture, resource, &sampling, NULL));
        return texture;
}

static CUtexObject texture_of_array(CUarray array, CUaddress_mode mode, CUfilter_mode filter,
                                    unsigned flags)
{
        CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY,
                                        .res.array.hArray = array };

        return texture_of(&resource, mode, filter, flags);
}

static void check_floats(const float *got, const float *wanted, unsigned count)
{
        for (unsigned i = 0; i < count; i++)
                if (fabsf(got[i] - wanted[i]) > 1e-4f) {
                        fprintf(stderr, "value %u is %g, not %g\n", i, (double)got[i],
                                (double)wanted[i]);
                        CHECK(false);
                }
}

static void check_plane(CUtexObject texture, const float (*at)[2], const float *wanted,
                        unsigned count)
{
        float got[16];

        read_all("read_2d", texture, at, count * sizeof *at, got, count * sizeof *got, count);
        check_floats(got, wanted, count);
        GOOD(cuTexObjectDestroy(texture));
}

SIM_TEST(edges_are_met_as_asked)
{
        static const float inside[][2] = { { 0.5f, 0.5f }, { 3.99f, 0 }, { -1, 0.5f }, { 9, 9 } };
        static const float around[][2] = {
                { 0.125f, 0.125f }, { 1.125f, 0.4f }, { -0.125f, 0 }, { 2.9f, 3.1f }
        };

        one_gpu();
        CUarray array = numbered(0, 0);
        check_plane(texture_of_array(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0),
                    inside, (float[]){ 0, 3, 0, 33 }, 4);
        check_plane(texture_of_array(array, CU_TR_ADDRESS_MODE_BORDER, CU_TR_FILTER_MODE_POINT, 0),
                    inside, (float[]){ 0, 3, -1, -1 }, 4);
        /* Without normalised coordinates there is nothing to wrap. */
        check_plane(texture_of_array(array, CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_POINT, 0),
                    inside, (float[]){ 0, 3, 0, 33 }, 4);
        check_plane(texture_of_array(array, CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_POINT,
                                     CU_TRSF_NORMALIZED_COORDINATES),
                    around, (float[]){ 0, 10, 3, 3 }, 4);
        check_plane(texture_of_array(array, CU_TR_ADDRESS_MODE_MIRROR, CU_TR_FILTER_MODE_POINT,
                                     CU_TRSF_NORMALIZED_COORDINATES),
                    around, (float[]){ 0, 13, 0, 33 }, 4);
        check_plane(texture_of_array(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT,
                                     CU_TRSF_NORMALIZED_COORDINATES),
                    around, (float[]){ 0, 13, 0, 33 }, 4);
}

SIM_TEST(neighbours_are_mixed)
{
        static const float at[][2] = { { 0.5f, 0.5f }, { 1, 0.5f }, { 2.25f, 1.75f }, { 0, 0 } };

        one_gpu();
        CUarray array = numbered(0, 0);
        check_plane(texture_of_array(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0),
                    at, (float[]){ 0, 0.5f, 1.75f + 12.5f, 0 }, 4);
        /* A quarter of the corner, the rest is the border's. */
        check_plane(texture_of_array(array, CU_TR_ADDRESS_MODE_BORDER, CU_TR_FILTER_MODE_LINEAR, 0),
                    at, (float[]){ 0, 0.5f, 1.75f + 12.5f, -0.75f }, 4);
        /* Between the last column and the first: (0 + 3 + 30 + 33) / 4. */
        check_plane(texture_of_array(array, CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_LINEAR,
                                     CU_TRSF_NORMALIZED_COORDINATES),
                    (const float[][2]){ { 1, 1 } }, (float[]){ 16.5f }, 1);
}

SIM_TEST(coordinates_that_are_no_numbers_do_no_harm)
{
        static const float at[][2] = { { INFINITY, 0 }, { -INFINITY, 0 }, { 1e30f, -1e30f } };

        one_gpu();
        CUarray array = numbered(0, 0);
        check_plane(texture_of_array(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0),
                    at, (float[]){ 3, 0, 3 }, 3);
        check_plane(texture_of_array(array, CU_TR_ADDRESS_MODE_BORDER, CU_TR_FILTER_MODE_POINT, 0),
                    at, (float[]){ -1, -1, -1 }, 3);
        check_plane(texture_of_array(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0),
                    (const float[][2]){ { NAN, NAN } }, (float[]){ 0 }, 1);
}

SIM_TEST(bytes_are_read_as_they_are_or_as_parts_of_one)
{
        static const float at[][2] = { { 0.5f, 0.5f }, { 1.5f, 0.5f }, { 1, 0.5f } };
        unsigned char bytes[HIGH][WIDE][4] = { { { 0, 51, 102, 255 }, { 255, 153, 0, 255 } } };
        unsigned char same[2][4];
        float colours[3][4];

        one_gpu();
        CUarray array = array_new(0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4);
        array_fill(array, bytes, 4, 1);
        read_all("read_bytes",
                 texture_of_array(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT,
                                  CU_TRSF_READ_AS_INTEGER),
                 at, sizeof at, same, sizeof same, 2);
        CHECK(!memcmp(same, bytes, sizeof same));
        read_all("read_colour",
                 texture_of_array(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0), at,
                 sizeof at, colours, sizeof colours, 3);
        check_floats(colours[0], (float[]){ 0, 0.2f, 0.4f, 1 }, 4);
        check_floats(colours[1], (float[]){ 1, 0.6f, 0, 1 }, 4);
        check_floats(colours[2], (float[]){ 0.5f, 0.4f, 0.2f, 1 }, 4);
}

SIM_TEST(four_neighbours_are_gathered)
{
        static const float at[][2] = { { 1.5f, 2.0f } };
        float got[4];

        one_gpu();
        read_all("gather",
                 texture_of_array(numbered(0, CUDA_ARRAY3D_TEXTURE_GATHER),
                                  CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0),
                 at, sizeof at, got, sizeof got, 1);
        /* Counter-clockwise from the lower left. */
        check_floats(got, (float[]){ 21, 22, 12, 11 }, 4);
}

SIM_TEST(volumes_and_layers)
{
        static const float at[][4] = { { 1.5f, 2.5f, 3.5f }, { 1.5f, 2.5f, 2 }, { 2, 2, 9 } };
        float got[3];

        one_gpu();
        read_all("read_3d",
                 texture_of_array(numbered(4, 0), CU_TR_ADDRESS_MODE_CLAMP,
                                  CU_TR_FILTER_MODE_LINEAR, 0),
                 at, sizeof at, got, sizeof got, 3);
        check_floats(got, (float[]){ 321, 171, 1.5f + 15 + 300 }, 3);
        /* A layer is a whole number, kept within what there is. */
        read_all("read_layer",
                 texture_of_array(numbered(5, CUDA_ARRAY3D_LAYERED), CU_TR_ADDRESS_MODE_CLAMP,
                                  CU_TR_FILTER_MODE_LINEAR, 0),
                 at, sizeof at, got, sizeof got, 3);
        check_floats(got, (float[]){ 321, 221, 1.5f + 15 + 400 }, 3);
}

SIM_TEST(directions_find_their_face)
{
        /* The middle of the element at (2, 1) of a face is at s = 0.25, t = -0.25. */
        static const float at[][4] = { { 1, 0.25f, -0.25f }, { -1, 0.25f, 0.25f },
                                       { 0.25f, 1, -0.25f }, { 0.25f, -1, 0.25f },
                                       { 0.25f, 0.25f, 1 },  { -0.25f, 0.25f, -1 } };
        float got[6];

        one_gpu();
        read_all("read_cube",
                 texture_of_array(numbered(6, CUDA_ARRAY3D_CUBEMAP), CU_TR_ADDRESS_MODE_CLAMP,
                                  CU_TR_FILTER_MODE_LINEAR, CU_TRSF_NORMALIZED_COORDINATES),
                 at, sizeof at, got, sizeof got, 6);
        check_floats(got, (float[]){ 12, 112, 212, 312, 412, 512 }, 6);
}

SIM_TEST(linear_and_pitched_memory)
{
        static const float values[] = { 1, 2, 4, 8, 16, 32, 64, 128 };
        static const float at[][2] = { { 1, 0.5f }, { 0.5f, 1 }, { 3, 3 } };
        static const int coordinates[] = { 0, 7, -1, 8 };
        float got[4];

        one_gpu();
        CUdeviceptr memory = on_gpu(values, sizeof values);
        CUDA_RESOURCE_DESC line = { .resType = CU_RESOURCE_TYPE_LINEAR,
                                    .res.linear = { .devPtr = memory,
                                                    .format = CU_AD_FORMAT_FLOAT,
                                                    .numChannels = 1,
                                                    .sizeInBytes = sizeof values } };
        read_all("fetch_1d",
                 texture_of(&line, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0),
                 coordinates, sizeof coordinates, got, sizeof got, 4);
        check_floats(got, (float[]){ 1, 128, 0, 0 }, 4);
        /* Three columns of four, two rows. */
        CUDA_RESOURCE_DESC plane = { .resType = CU_RESOURCE_TYPE_PITCH2D,
                                     .res.pitch2D = { .devPtr = memory,
                                                      .format = CU_AD_FORMAT_FLOAT,
                                                      .numChannels = 1,
                                                      .width = 3,
                                                      .height = 2,
                                                      .pitchInBytes = 16 } };
        check_plane(texture_of(&plane, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0), at,
                    (float[]){ 1.5f, 8.5f, 64 }, 3);
}

SIM_TEST(references_read_what_is_bound_to_them)
{
        static const float at[][2] = { { 0.5f, 0.5f }, { 0.25f, 0.25f } };
        static const unsigned char bytes[2][4] = { { 0, 51, 102, 255 }, { 255, 153, 0, 255 } };
        float got[2], colours[2][4];
        CUtexref plane, line;
        CUdeviceptr out;

        one_gpu();
        CUfunction read_old = function("read_old"), read_line = function("read_old_line");
        CUdeviceptr coordinates = on_gpu(at, sizeof at);
        GOOD(cuMemAlloc_v2(&out, sizeof colours));
        GOOD(cuModuleGetTexRef(&plane, module, "old_plane"));
        GOOD(cuTexRefSetArray(plane, numbered(0, 0), CU_TRSA_OVERRIDE_FORMAT));
        GOOD(cuTexRefSetAddressMode(plane, 0, CU_TR_ADDRESS_MODE_WRAP));
        GOOD(cuTexRefSetAddressMode(plane, 1, CU_TR_ADDRESS_MODE_WRAP));
        GOOD(cuTexRefSetFilterMode(plane, CU_TR_FILTER_MODE_LINEAR));
        GOOD(cuTexRefSetFlags(plane, CU_TRSF_NORMALIZED_COORDINATES));
        GOOD(cuLaunchKernel(read_old, 1, 1, 1, 2, 1, 1, 0, NULL, (void *[]){ &coordinates, &out },
                            NULL));
        GOOD(cuMemcpyDtoH_v2(got, out, sizeof got));
        check_floats(got, (float[]){ 16.5f, 5.5f }, 2);
        GOOD(cuModuleGetTexRef(&line, module, "old_line"));
        GOOD(cuTexRefSetFormat(line, CU_AD_FORMAT_UNSIGNED_INT8, 4));
        GOOD(cuTexRefSetFlags(line, 0));
        GOOD(cuTexRefSetAddress_v2(NULL, line, on_gpu(bytes, sizeof bytes), sizeof bytes));
        GOOD(cuLaunchKernel(read_line, 1, 1, 1, 2, 1, 1, 0, NULL, (void *[]){ &out }, NULL));
        GOOD(cuMemcpyDtoH_v2(colours, out, sizeof colours));
        check_floats(colours[0], (float[]){ 0, 0.2f, 0.4f, 1, 1, 0.6f, 0, 1 }, 8);
}

static CUsurfObject surface_of(CUarray array)
{
        CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_ARRAY,
                                        .res.array.hArray = array };
        CUsurfObject surface;

        GOOD(cuSurfObjectCreate(&surface, &resource));
        return surface;
}

/* The rows of an array, one after the other. */
static void array_read(CUarray array, float ret_values[HIGH][WIDE])
{
        CUDA_MEMCPY2D copy = { .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                               .srcArray = array,
                               .dstMemoryType = CU_MEMORYTYPE_HOST,
                               .dstHost = ret_values,
                               .dstPitch = WIDE * sizeof(float),
                               .WidthInBytes = WIDE * sizeof(float),
                               .Height = HIGH };

        GOOD(cuMemcpy2D_v2(&copy));
}

SIM_TEST(surfaces_are_read_and_written)
{
        float back[HIGH][WIDE], edges[3];
        CUdeviceptr out;
        CUsurfref old;

        one_gpu();
        CUarray to = array_new(0, CUDA_ARRAY3D_SURFACE_LDST, CU_AD_FORMAT_FLOAT, 1);
        CUsurfObject surface = surface_of(numbered(0, CUDA_ARRAY3D_SURFACE_LDST));
        CUsurfObject target = surface_of(to);
        GOOD(cuLaunchKernel(function("double_surface"), 1, 1, 1, WIDE, HIGH, 1, 0, NULL,
                            (void *[]){ &surface, &target }, NULL));
        array_read(to, back);
        for (unsigned i = 0; i < WIDE * HIGH; i++)
                CHECK_EQ((int)back[i / WIDE][i % WIDE], 2 * (i % WIDE + 10 * (i / WIDE)));
        GOOD(cuMemAlloc_v2(&out, sizeof edges));
        GOOD(cuLaunchKernel(function("outside"), 1, 1, 1, 1, 1, 1, 0, NULL,
                            (void *[]){ &surface, &out }, NULL));
        GOOD(cuMemcpyDtoH_v2(edges, out, sizeof edges));
        check_floats(edges, (float[]){ 0, 13, 0 }, 3);
        GOOD(cuModuleGetSurfRef(&old, module, "old_surface"));
        GOOD(cuSurfRefSetArray(old, to, 0));
        GOOD(cuLaunchKernel(function("write_old"), 1, 1, 1, WIDE, HIGH, 1, 0, NULL, NULL, NULL));
        array_read(to, back);
        for (unsigned i = 0; i < WIDE * HIGH; i++)
                CHECK_EQ((int)back[i / WIDE][i % WIDE], i % WIDE + 10 * (i / WIDE));
        /* Outside is a fault unless the kernel says otherwise. */
        GOOD(cuLaunchKernel(function("far_outside"), 1, 1, 1, 1, 1, 1, 0, NULL,
                            (void *[]){ &surface, &out }, NULL));
        CHECK(cuCtxSynchronize() != CUDA_SUCCESS);
}

SIM_TEST(one_line_of_elements)
{
        CUDA_ARRAY3D_DESCRIPTOR shape = { .Width = 4,
                                          .Format = CU_AD_FORMAT_FLOAT,
                                          .NumChannels = 1 };
        static const float values[] = { 1, 2, 4, 8 }, at[] = { 0.5f, 2, 0.75f, 100 };
        float got[4];
        CUarray array;

        one_gpu();
        GOOD(cuArray3DCreate_v2(&array, &shape));
        GOOD(cuMemcpyHtoA_v2(array, 0, values, sizeof values));
        read_all("read_1d",
                 texture_of_array(array, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0), at,
                 sizeof at, got, sizeof got, 4);
        check_floats(got, (float[]){ 1, 3, 1.25f, 8 }, 4);
}

int main(void)
{
        return RUN(CASE(edges_are_met_as_asked), CASE(neighbours_are_mixed),
                   CASE(coordinates_that_are_no_numbers_do_no_harm),
                   CASE(bytes_are_read_as_they_are_or_as_parts_of_one),
                   CASE(four_neighbours_are_gathered), CASE(volumes_and_layers),
                   CASE(directions_find_their_face), CASE(linear_and_pitched_memory),
                   CASE(references_read_what_is_bound_to_them), CASE(surfaces_are_read_and_written),
                   CASE(one_line_of_elements));
}
