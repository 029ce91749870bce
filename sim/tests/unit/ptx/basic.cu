// First kernels: what CUDA's introductory samples do.
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
        int i = blockDim.x * blockIdx.x + threadIdx.x;

        if (i < n)
                c[i] = a[i] + b[i] + 0.0f;
}

extern "C" __global__ void increment(int *data, int value)
{
        int i = blockIdx.x * blockDim.x + threadIdx.x;

        data[i] = data[i] + value;
}

template <int TILE> __device__ void multiply(float *c, const float *a, const float *b, int width)
{
        __shared__ float as[TILE][TILE], bs[TILE][TILE];
        int tx = threadIdx.x, ty = threadIdx.y;
        int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
        float sum = 0;

        for (int m = 0; m < width / TILE; m++) {
                as[ty][tx] = a[row * width + m * TILE + tx];
                bs[ty][tx] = b[(m * TILE + ty) * width + column];
                __syncthreads();
#pragma unroll
                for (int k = 0; k < TILE; k++)
                        sum += as[ty][k] * bs[k][tx];
                __syncthreads();
        }
        c[row * width + column] = sum;
}

extern "C" __global__ void matrix_multiply(float *c, const float *a, const float *b, int width)
{
        multiply<16>(c, a, b, width);
}

extern "C" __global__ void transpose(float *out, const float *in, int width)
{
        __shared__ float tile[32][33];
        int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

        for (int j = 0; j < 32; j += 8)
                tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
        __syncthreads();
        x = blockIdx.y * 32 + threadIdx.x;
        y = blockIdx.x * 32 + threadIdx.y;
        for (int j = 0; j < 32; j += 8)
                out[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void reduce_shared(const int *in, int *out, int n)
{
        extern __shared__ int sums[];
        int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;

        sums[threadIdx.x] = (i < n ? in[i] : 0) + (i + blockDim.x < n ? in[i + blockDim.x] : 0);
        __syncthreads();
        for (int s = blockDim.x / 2; s > 0; s >>= 1) {
                if (threadIdx.x < s)
                        sums[threadIdx.x] += sums[threadIdx.x + s];
                __syncthreads();
        }
        if (threadIdx.x == 0)
                out[blockIdx.x] = sums[0];
}

extern "C" __global__ void collatz(const unsigned *in, unsigned *out, int n)
{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        unsigned steps = 0;

        if (i >= n)
                return;
        for (unsigned long long x = in[i]; x > 1; steps++)
                x = x & 1 ? 3 * x + 1 : x / 2;
        out[i] = steps;
}
