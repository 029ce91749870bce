# SPDX-License-Identifier: Apache-2.0
"""pycuda_check: the driver API through pycuda: devices, memory, a kernel, streams, events."""

import numpy
import pycuda.driver as cuda

PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry triple(.param .u64 values, .param .u32 count)
{
        .reg .pred %p;
        .reg .b32 %r<5>;
        .reg .f32 %f<2>;
        .reg .b64 %rd<4>;
        ld.param.u64 %rd0, [values];
        ld.param.u32 %r0, [count];
        mov.u32 %r1, %ctaid.x;
        mov.u32 %r2, %ntid.x;
        mov.u32 %r3, %tid.x;
        mad.lo.s32 %r4, %r1, %r2, %r3;
        setp.ge.u32 %p, %r4, %r0;
        @%p bra done;
        mul.wide.u32 %rd1, %r4, 4;
        cvta.to.global.u64 %rd2, %rd0;
        add.s64 %rd3, %rd2, %rd1;
        ld.global.f32 %f0, [%rd3];
        mul.f32 %f1, %f0, 0f40400000;
        st.global.f32 [%rd3], %f1;
done:
        ret;
}
"""


def kernel_check(count):
    """A kernel triples the values; the copy back is asynchronous, on a stream."""
    function = cuda.module_from_buffer(PTX).get_function("triple")
    values = numpy.arange(count, dtype=numpy.float32)
    memory = cuda.mem_alloc(values.nbytes)
    begin, end, stream = cuda.Event(), cuda.Event(), cuda.Stream()
    cuda.memcpy_htod(memory, values)
    begin.record(stream)
    function(memory, numpy.uint32(count), block=(128, 1, 1), grid=((count + 127) // 128, 1), stream=stream)
    end.record(stream)
    result = cuda.pagelocked_empty_like(values)
    cuda.memcpy_dtoh_async(result, memory, stream)
    stream.synchronize()
    assert (result == 3 * values).all(), result
    assert end.time_since(begin) > 0
    print("registers", function.num_regs, "threads", function.max_threads_per_block)


def main():
    cuda.init()
    print("driver", cuda.get_driver_version(), "devices", cuda.Device.count())
    for index in range(cuda.Device.count()):
        device = cuda.Device(index)
        print(index, device.name(), device.total_memory() >> 20, device.compute_capability(), device.pci_bus_id())
        assert device.get_attributes()
    context = cuda.Device(0).make_context()
    try:
        free, total = cuda.mem_get_info()
        held = cuda.mem_alloc(64 << 20)
        assert cuda.mem_get_info()[0] == free - (64 << 20) and free < total
        held.free()
        assert cuda.mem_get_info()[0] == free
        kernel_check(10000)
        array_check()
    finally:
        context.pop()
    print("pycuda is fine")


def array_check():
    """gpuarray copies without a kernel of its own."""
    from pycuda import gpuarray
    values = numpy.random.rand(64, 64).astype(numpy.float32)
    assert (gpuarray.to_gpu(values).get() == values).all()


main()
