// Matrix instructions: wmma fragments, and ldmatrix with mma on fragments as the manual lays them out.
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;

// 16 × 16 × 16, one warp: d = a × b + c, b column after column
extern "C" __global__ void wmma_half(const half *a, const half *b, const float *c, float *d)
{
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;

        wmma::load_matrix_sync(fa, a, 16);
        wmma::load_matrix_sync(fb, b, 16);
        wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major);
        wmma::mma_sync(fc, fa, fb, fc);
        wmma::store_matrix_sync(d, fc, 16, wmma::mem_row_major);
}

extern "C" __global__ void wmma_bytes(const signed char *a, const signed char *b, int *d)
{
        wmma::fragment<wmma::matrix_a, 8, 32, 16, signed char, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 8, 32, 16, signed char, wmma::col_major> fb;
        wmma::fragment<wmma::accumulator, 8, 32, 16, int> fc;

        wmma::fill_fragment(fc, 7);
        wmma::load_matrix_sync(fa, a, 16);
        wmma::load_matrix_sync(fb, b, 16);
        wmma::mma_sync(fc, fa, fb, fc);
        wmma::store_matrix_sync(d, fc, 32, wmma::mem_row_major);
}

// a is 16 × 16, b 16 × 8 row after row: b's fragments are transposed while loading.
extern "C" __global__ void mma_half(const half *a, const half *b, float *d)
{
        __shared__ __align__(16) half sa[256], sb[128];
        unsigned lane = threadIdx.x, ra[4], rb[2], at;
        float f[4] = { 1, 1, 1, 1 };

        for (int k = lane; k < 256; k += 32)
                sa[k] = a[k];
        for (int k = lane; k < 128; k += 32)
                sb[k] = b[k];
        __syncwarp();
        at = (unsigned)__cvta_generic_to_shared(sa + (lane % 16) * 16 + lane / 16 * 8);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(at));
        at = (unsigned)__cvta_generic_to_shared(sb + (lane % 16) * 8);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(rb[0]), "=r"(rb[1]) : "r"(at));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
        for (int k = 0; k < 4; k++)
                d[(lane / 4 + k / 2 * 8) * 8 + lane % 4 * 2 + k % 2] = f[k];
}

// a is 16 × 32 row after row, b 32 × 8 column after column; fragments are loaded as plain words.
extern "C" __global__ void mma_bytes(const int *a, const int *b, int *d)
{
        unsigned lane = threadIdx.x, group = lane / 4, member = lane % 4;
        int f[4] = { 0, 0, 0, 0 };

        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+r"(f[0]), "+r"(f[1]), "+r"(f[2]), "+r"(f[3])
                     : "r"(a[group * 8 + member]), "r"(a[(group + 8) * 8 + member]),
                       "r"(a[group * 8 + member + 4]), "r"(a[(group + 8) * 8 + member + 4]),
                       "r"(b[group * 8 + member]), "r"(b[group * 8 + member + 4]));
        for (int k = 0; k < 4; k++)
                d[(group + k / 2 * 8) * 8 + member * 2 + k % 2] = f[k];
}
