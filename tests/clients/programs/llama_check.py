# SPDX-License-Identifier: Apache-2.0
"""llama_check FOLDER: load llama.cpp's CUDA backend, list its devices, and fill a buffer on one."""

import ctypes
import sys


def main(folder):
    ctypes.CDLL(f"{folder}/libggml-base.so", ctypes.RTLD_GLOBAL)
    cuda = ctypes.CDLL(f"{folder}/libggml-cuda.so", ctypes.RTLD_GLOBAL)
    count = cuda.ggml_backend_cuda_get_device_count()
    print("devices", count)
    for index in range(count):
        text = ctypes.create_string_buffer(256)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        cuda.ggml_backend_cuda_get_device_description(index, text, ctypes.c_size_t(256))
        cuda.ggml_backend_cuda_get_device_memory(index, ctypes.byref(free), ctypes.byref(total))
        print(index, text.value.decode(), free.value >> 20, total.value >> 20)
    backend_check(cuda)
    print("llama is fine")


def backend_check(cuda):
    base = ctypes.CDLL("libggml-base.so")
    cuda.ggml_backend_cuda_init.restype = ctypes.c_void_p
    base.ggml_backend_alloc_buffer.restype = ctypes.c_void_p
    base.ggml_backend_buffer_get_base.restype = ctypes.c_void_p
    backend = ctypes.c_void_p(cuda.ggml_backend_cuda_init(0))
    assert backend.value, "no backend"
    buffer = ctypes.c_void_p(base.ggml_backend_alloc_buffer(backend, ctypes.c_size_t(256 << 20)))
    assert buffer.value, "no buffer"
    assert base.ggml_backend_buffer_get_base(buffer)
    base.ggml_backend_buffer_clear(buffer, ctypes.c_uint8(7))
    base.ggml_backend_synchronize(backend)
    base.ggml_backend_buffer_free(buffer)
    base.ggml_backend_free(backend)


main(sys.argv[1])
