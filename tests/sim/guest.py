"""A client of the driver that does as it is told: one command per line, one answer per line.

    alloc BYTES     prints the CUresult; keeps the memory
    free            frees what was allocated last
    info            prints free and total bytes
"""

import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
context, device = ctypes.c_void_p(), ctypes.c_int()
result = cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), 0)
result = result or cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device)
print("ready", result, flush=True)
held = []
for line in sys.stdin:
    words = line.split()
    if words[0] == "alloc":
        address = ctypes.c_uint64()
        result = cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(int(words[1])))
        if result == 0:
            held.append(address)
        print(result, flush=True)
    elif words[0] == "free":
        print(cuda.cuMemFree_v2(held.pop()), flush=True)
    elif words[0] == "info":
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        print(free.value, total.value, flush=True)
