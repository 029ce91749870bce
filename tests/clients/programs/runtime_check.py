# SPDX-License-Identifier: Apache-2.0
"""runtime_check LIBCUDART: start a CUDA runtime, and move memory, streams and events through it."""

import ctypes
import sys

HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
SIZE = 1 << 20


class Runtime:
    """Calls cuda<Name>() and fails with its name unless it answers 0."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def __getattr__(self, name):
        function = getattr(self.library, "cuda" + name)

        def call(*arguments):
            result = function(*arguments)
            assert result == 0, f"cuda{name}: error {result}"
        return call


def copy_check(cuda):
    """Bytes go to the device and back on a stream, between two events."""
    sent, received = ctypes.create_string_buffer(b"vgpu" * (SIZE // 4), SIZE), ctypes.create_string_buffer(SIZE)
    memory, stream, begin, end = (ctypes.c_void_p() for _ in range(4))
    span = ctypes.c_float(-1)
    cuda.Malloc(ctypes.byref(memory), ctypes.c_size_t(SIZE))
    cuda.StreamCreate(ctypes.byref(stream))
    cuda.EventCreate(ctypes.byref(begin))
    cuda.EventCreate(ctypes.byref(end))
    cuda.EventRecord(begin, stream)
    cuda.MemcpyAsync(memory, sent, ctypes.c_size_t(SIZE), HOST_TO_DEVICE, stream)
    cuda.MemcpyAsync(received, memory, ctypes.c_size_t(SIZE), DEVICE_TO_HOST, stream)
    cuda.EventRecord(end, stream)
    cuda.StreamSynchronize(stream)
    cuda.EventElapsedTime(ctypes.byref(span), begin, end)
    assert received.raw == sent.raw and span.value > 0
    cuda.EventDestroy(begin)
    cuda.EventDestroy(end)
    cuda.StreamDestroy(stream)
    cuda.Free(memory)


def main(path):
    cuda = Runtime(path)
    version, driver, count = (ctypes.c_int() for _ in range(3))
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    cuda.RuntimeGetVersion(ctypes.byref(version))
    cuda.DriverGetVersion(ctypes.byref(driver))
    cuda.GetDeviceCount(ctypes.byref(count))
    cuda.MemGetInfo(ctypes.byref(free), ctypes.byref(total))
    copy_check(cuda)
    cuda.DeviceReset()
    print(f"runtime {version.value} driver {driver.value} devices {count.value} of {total.value >> 20} MiB: fine")


main(sys.argv[1])
