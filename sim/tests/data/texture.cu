// Textures and surfaces as compilers write them. texture.ptx is made of this by nvcc 11.8, the last
// with texture references: nvcc -ptx -arch=compute_60 texture.cu
texture<float, 2, cudaReadModeElementType> old_plane;
texture<uchar4, 1, cudaReadModeNormalizedFloat> old_line;
surface<void, 2> old_surface;

extern "C" __global__ void read_1d(cudaTextureObject_t t, const float *at, float *out)
{
        out[threadIdx.x] = tex1D<float>(t, at[threadIdx.x]);
}

extern "C" __global__ void fetch_1d(cudaTextureObject_t t, const int *at, float *out)
{
        out[threadIdx.x] = tex1Dfetch<float>(t, at[threadIdx.x]);
}

extern "C" __global__ void read_2d(cudaTextureObject_t t, const float2 *at, float *out)
{
        out[threadIdx.x] = tex2D<float>(t, at[threadIdx.x].x, at[threadIdx.x].y);
}

extern "C" __global__ void read_bytes(cudaTextureObject_t t, const float2 *at, uchar4 *out)
{
        out[threadIdx.x] = tex2D<uchar4>(t, at[threadIdx.x].x, at[threadIdx.x].y);
}

extern "C" __global__ void read_colour(cudaTextureObject_t t, const float2 *at, float4 *out)
{
        out[threadIdx.x] = tex2D<float4>(t, at[threadIdx.x].x, at[threadIdx.x].y);
}

extern "C" __global__ void gather(cudaTextureObject_t t, const float2 *at, float4 *out)
{
        out[threadIdx.x] = tex2Dgather<float4>(t, at[threadIdx.x].x, at[threadIdx.x].y, 0);
}

extern "C" __global__ void read_3d(cudaTextureObject_t t, const float4 *at, float *out)
{
        float4 p = at[threadIdx.x];

        out[threadIdx.x] = tex3D<float>(t, p.x, p.y, p.z);
}

extern "C" __global__ void read_layer(cudaTextureObject_t t, const float4 *at, float *out)
{
        float4 p = at[threadIdx.x];

        out[threadIdx.x] = tex2DLayered<float>(t, p.x, p.y, (int)p.z);
}

extern "C" __global__ void read_cube(cudaTextureObject_t t, const float4 *at, float *out)
{
        float4 p = at[threadIdx.x];

        out[threadIdx.x] = texCubemap<float>(t, p.x, p.y, p.z);
}

extern "C" __global__ void read_old(const float2 *at, float *out)
{
        float2 p = at[threadIdx.x];

        out[threadIdx.x] = tex2D(old_plane, p.x, p.y);
}

extern "C" __global__ void read_old_line(float4 *out)
{
        out[threadIdx.x] = tex1Dfetch(old_line, threadIdx.x);
}

extern "C" __global__ void double_surface(cudaSurfaceObject_t from, cudaSurfaceObject_t to)
{
        float value = surf2Dread<float>(from, threadIdx.x * 4, threadIdx.y);

        surf2Dwrite(value * 2, to, threadIdx.x * 4, threadIdx.y);
}

extern "C" __global__ void outside(cudaSurfaceObject_t from, float *out)
{
        out[0] = surf2Dread<float>(from, -4, 0, cudaBoundaryModeClamp);
        out[1] = surf2Dread<float>(from, 400, 1, cudaBoundaryModeClamp);
        out[2] = surf2Dread<float>(from, 400, 1, cudaBoundaryModeZero);
}

extern "C" __global__ void far_outside(cudaSurfaceObject_t from, float *out)
{
        out[0] = surf2Dread<float>(from, 400, 1);
}

extern "C" __global__ void write_old(void)
{
        surf2Dwrite(threadIdx.x + 10.0f * threadIdx.y, old_surface, threadIdx.x * 4, threadIdx.y);
}
