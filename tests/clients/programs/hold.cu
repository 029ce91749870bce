/* hold.cu: hold BYTES on GPU 0 and keep it busy until standard input ends; other programs look on. */
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

__global__ void spin(int *word)
{
        *word += 1;
}

static int fail(const char *what, cudaError_t error)
{
        fprintf(stderr, "hold: %s: %s\n", what, cudaGetErrorString(error));
        return 1;
}

/* Not blocked: the program must go on launching while it waits for the end. */
static bool input_is_open()
{
        fd_set set;
        struct timeval now = { 0, 0 };
        char byte;

        FD_ZERO(&set);
        FD_SET(0, &set);
        return select(1, &set, NULL, NULL, &now) == 0 || read(0, &byte, 1) > 0;
}

int main(int argc, char **argv)
{
        size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
        int *word = NULL;
        cudaError_t error = cudaMalloc(&word, bytes);

        if (error != cudaSuccess)
                return fail("cudaMalloc", error);
        printf("holding %zu bytes\n", bytes);
        fflush(stdout);
        while (input_is_open()) {
                for (int i = 0; i < 32; i++)
                        spin<<<1, 1>>>(word);
                error = cudaGetLastError();
                if (error == cudaSuccess)
                        error = cudaDeviceSynchronize();
                if (error != cudaSuccess)
                        return fail("kernel", error);
                usleep(1000);
        }
        return 0;
}
