/* compile.cu: compile a kernel with NVRTC for the GPU at hand, load its PTX, run it, print its sum. */
#include <cuda.h>
#include <nvrtc.h>
#include <cstdio>
#include <cstdlib>
#include <string>

static const char source[] =
        "extern \"C\" __global__ void square(unsigned long long *sum, int count)\n"
        "{\n"
        "        int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "        if (i < count)\n"
        "                atomicAdd(sum, (unsigned long long)i * i);\n"
        "}\n";

static void need(int result, const char *what)
{
        if (result == 0)
                return;
        printf("%s: error %d\n", what, result);
        exit(1);
}

static std::string compile(CUdevice device)
{
        nvrtcProgram program;
        int major, minor;
        size_t size;

        need(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device), "major");
        need(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device), "minor");
        std::string target = "--gpu-architecture=compute_" + std::to_string(major * 10 + minor);
        const char *options[] = { target.c_str() };

        need(nvrtcCreateProgram(&program, source, "square.cu", 0, NULL, NULL), "nvrtcCreateProgram");
        need(nvrtcCompileProgram(program, 1, options), "nvrtcCompileProgram");
        need(nvrtcGetPTXSize(program, &size), "nvrtcGetPTXSize");
        std::string ptx(size, '\0');
        need(nvrtcGetPTX(program, &ptx[0]), "nvrtcGetPTX");
        need(nvrtcDestroyProgram(&program), "nvrtcDestroyProgram");
        return ptx;
}

int main()
{
        CUdevice device;
        CUcontext context;
        CUmodule module;
        CUfunction function;
        CUdeviceptr memory;
        int count = 1000;
        unsigned long long sum = 0;

        need(cuInit(0), "cuInit");
        need(cuDeviceGet(&device, 0), "cuDeviceGet");
        need(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
        need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
        need(cuModuleLoadData(&module, compile(device).c_str()), "cuModuleLoadData");
        need(cuModuleGetFunction(&function, module, "square"), "cuModuleGetFunction");
        need(cuMemAlloc(&memory, sizeof sum), "cuMemAlloc");
        need(cuMemsetD8(memory, 0, sizeof sum), "cuMemsetD8");
        void *arguments[] = { &memory, &count };
        need(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL), "cuLaunchKernel");
        need(cuMemcpyDtoH(&sum, memory, sizeof sum), "cuMemcpyDtoH");
        printf("sum of %d squares: %llu\n", count, sum);
        need(cuModuleUnload(module), "cuModuleUnload");
        need(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
        return 0;
}
