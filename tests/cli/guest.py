# SPDX-License-Identifier: Apache-2.0
"""A client of the driver that does as it is told: one command per line, one answer per line.

    alloc BYTES [managed]
                    prints the CUresult; keeps the memory
    free            frees what was allocated last
    info            prints free and total bytes
    work MS         launches the kernel "mark" again and again for so long; prints how often
    fill MS         fills a quarter of a GiB again and again for so long; prints how often
    use COUNT TIMES lets a kernel write to the last COUNT, TIMES times; prints the CUresult
    cross           lets kernels of two streams use the last two often, the first stream being held up; prints the CUresult
    managed SIZE N  makes managed memory, of which the first N bytes are mostly read; prints the CUresult
    where N         prints where its first N bytes are to be, −2: anywhere
    begin           a thread lets a kernel use the last one, then another frees the first and makes it managed memory
    end             when both are done: prints where that memory is to be, −2: anywhere
    touch           lets a kernel write to each, and prints how many still have what was written
"""

import ctypes
import sys
import threading
import time

# Writes its parameter at the address and at the last word of the range.
PTX = b"""
.version 7.0
.target sm_60
.address_size 64
.visible .entry mark(.param .u64 at, .param .u64 last, .param .u32 value)
{
    .reg .b64 %a, %b; .reg .b32 %v;
    ld.param.u64 %a, [at]; ld.param.u64 %b, [last]; ld.param.u32 %v, [value];
    st.global.u32 [%a], %v; st.global.u32 [%b], %v;
    ret;
}
"""

cuda = ctypes.CDLL("libcuda.so.1")
context, device = ctypes.c_void_p(), ctypes.c_int()
result = cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), 0)
result = result or cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device)
print("ready", result, flush=True)
held = []


def mark(kernel, value, address, size, stream=None):
    last = ctypes.c_uint64(address.value + size - 4)
    words = address, last, ctypes.c_uint32(value)
    pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(word) for word in words))
    return cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, pointers, None)


def loaded():
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuModuleLoadData(ctypes.byref(module), PTX)
    cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"mark")
    return module, kernel


def touch():
    """All are written before any is read."""
    module, kernel = loaded()
    for value, (address, size) in enumerate(held):
        mark(kernel, value, address, size)
    right = 0
    for value, (address, size) in enumerate(held):
        first, last = ctypes.c_uint32(), ctypes.c_uint32()
        cuda.cuMemcpyDtoH_v2(ctypes.byref(first), address, ctypes.c_size_t(4))
        cuda.cuMemcpyDtoH_v2(ctypes.byref(last), ctypes.c_uint64(address.value + size - 4), ctypes.c_size_t(4))
        right += first.value == last.value == value
    cuda.cuModuleUnload(module)
    return right


def use(count, times):
    """The last ones, one after another, again and again; 0: all was launched."""
    module, kernel = loaded()
    result = 0
    for _ in range(times):
        for value, (address, size) in list(enumerate(held))[-count:]:
            result = result or mark(kernel, value, address, size)
        result = result or cuda.cuCtxSynchronize()
    cuda.cuModuleUnload(module)
    return result


def cross():
    """What comes by the first stream is there later than what the second one takes its place with."""
    module, kernel = loaded()
    streams, released = (ctypes.c_void_p(), ctypes.c_void_p()), threading.Event()
    hold = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: released.wait(10) and None)
    result = max(cuda.cuStreamCreate(ctypes.byref(stream), 1) for stream in streams)
    for value, (address, size) in list(enumerate(held))[1:-2] * 6:
        result = result or mark(kernel, value, address, size)
    result = result or cuda.cuCtxSynchronize() or cuda.cuLaunchHostFunc(streams[0], hold, None)
    for stream, times, value in (streams[0], 1, len(held) - 1), (streams[1], 4, len(held) - 2):
        for _ in range(times):
            result = result or mark(kernel, value, *held[value], stream)
    result = result or cuda.cuStreamSynchronize(streams[1])
    released.set()
    result = result or cuda.cuCtxSynchronize()
    cuda.cuModuleUnload(module)
    return result


threads, managed = [], ctypes.c_uint64()


def begin():
    def use_last():
        cuda.cuCtxSetCurrent(context)
        _, kernel = loaded()
        mark(kernel, 0, *held[-1])

    def free_first():
        cuda.cuCtxSetCurrent(context)
        time.sleep(0.5)
        cuda.cuMemFree_v2(held[0][0])
        cuda.cuMemAllocManaged(ctypes.byref(managed), ctypes.c_size_t(held[0][1]), 1)

    threads.extend(threading.Thread(target=act) for act in (use_last, free_first))
    for thread in threads:
        thread.start()
    threads[1].join(1)


def where(size):
    location = ctypes.c_int()
    cuda.cuMemRangeGetAttribute(ctypes.byref(location), ctypes.c_size_t(4), 2, managed, ctypes.c_size_t(size))
    return location.value


def end():
    for thread in threads:
        thread.join()
    assert managed.value == held[0][0].value
    return where(held[0][1])


def work(milliseconds):
    _, kernel = loaded()
    words = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_uint32()
    pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(word) for word in words))
    end, count = time.monotonic() + milliseconds / 1000, 0
    while time.monotonic() < end:
        cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, pointers, None)
        count += 1
    cuda.cuCtxSynchronize()
    return count


def fill(milliseconds):
    address, size = ctypes.c_uint64(), ctypes.c_size_t(1 << 28)
    cuda.cuMemAlloc_v2(ctypes.byref(address), size)
    end, count = time.monotonic() + milliseconds / 1000, 0
    while time.monotonic() < end:
        cuda.cuMemsetD8Async(address, 0, size, None)
        count += 1
    cuda.cuCtxSynchronize()
    cuda.cuMemFree_v2(address)
    return count


for line in sys.stdin:
    words = line.split()
    if words[0] == "alloc":
        address = ctypes.c_uint64()
        size = ctypes.c_size_t(int(words[1]))
        result = (cuda.cuMemAllocManaged(ctypes.byref(address), size, 1) if words[2:] == ["managed"]
                  else cuda.cuMemAlloc_v2(ctypes.byref(address), size))
        if result == 0:
            held.append((address, int(words[1])))
        print(result, flush=True)
    elif words[0] == "free":
        print(cuda.cuMemFree_v2(held.pop()[0]), flush=True)
    elif words[0] == "info":
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        print(free.value, total.value, flush=True)
    elif words[0] == "work":
        print(work(int(words[1])), flush=True)
    elif words[0] == "fill":
        print(fill(int(words[1])), flush=True)
    elif words[0] == "touch":
        print(touch(), flush=True)
    elif words[0] == "cross":
        print(cross(), flush=True)
    elif words[0] == "managed":
        size, part = (ctypes.c_size_t(int(word)) for word in words[1:])
        result = cuda.cuMemAllocManaged(ctypes.byref(managed), size, 1)
        print(result or cuda.cuMemAdvise(managed, part, 1, device), flush=True)
    elif words[0] == "where":
        print(where(int(words[1])), flush=True)
    elif words[0] == "begin":
        print(begin() or 0, flush=True)
    elif words[0] == "end":
        print(end(), flush=True)
    elif words[0] == "use":
        print(use(int(words[1]), int(words[2])), flush=True)
