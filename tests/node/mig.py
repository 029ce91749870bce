# SPDX-License-Identifier: Apache-2.0
"""mig: cuts the GPUs of a simulated machine, as nvidia-smi would: through NVML.

mig.py LIB cut GPU SLICES… | devices GPU, with the machine in VGPU_SIM: as a process of its own, because a
library with sanitizers can be loaded only by a program that began with them."""

import ctypes
import os
import re
import subprocess
import sys

# By slices: which of NVML's profiles that is.
PROFILE_OF_SLICES = {1: 0, 2: 1, 3: 2, 4: 3, 7: 4}


def check(status):
    if status:
        raise RuntimeError(f"NVML error {status}")


def handle(library, gpu):
    device = ctypes.c_void_p()
    check(library.nvmlDeviceGetHandleByIndex_v2(gpu, ctypes.byref(device)))
    return device


def profile_id(function, *arguments):
    """Both kinds of profile begin with their id."""
    profile = (ctypes.c_uint * 64)()
    check(function(*arguments, profile))
    return profile[0]


def own_cut(library, gpu, *slices):
    device, status = handle(library, gpu), ctypes.c_int()
    check(library.nvmlDeviceSetMigMode(device, 1, ctypes.byref(status)))
    for count in slices:
        kind = PROFILE_OF_SLICES[count]
        instance, compute = ctypes.c_void_p(), ctypes.c_void_p()
        number = profile_id(library.nvmlDeviceGetGpuInstanceProfileInfo, device, kind)
        check(library.nvmlDeviceCreateGpuInstance(device, number, ctypes.byref(instance)))
        number = profile_id(library.nvmlGpuInstanceGetComputeInstanceProfileInfo, instance, kind, 0)
        check(library.nvmlGpuInstanceCreateComputeInstance(instance, number, ctypes.byref(compute)))


def own_devices(library, gpu):
    device, part = handle(library, gpu), ctypes.c_void_p()
    for index in range(7):
        if library.nvmlDeviceGetMigDeviceHandleByIndex(device, index, ctypes.byref(part)) == 0:
            uuid = ctypes.create_string_buffer(96)
            check(library.nvmlDeviceGetUUID(part, uuid, 96))
            print(uuid.value.decode())


def run(lib_dir, machine, *words):
    library = f"{lib_dir}/libnvidia-ml.so.1"
    linked = subprocess.run(["ldd", library], check=True, text=True, stdout=subprocess.PIPE).stdout
    sanitizers = re.findall(r"=> (\S*/lib[at]san\.\S+)", linked)
    environment = {**os.environ, "VGPU_SIM": machine, "LD_PRELOAD": ":".join(sanitizers),
                   "ASAN_OPTIONS": "detect_leaks=0"}
    return subprocess.run([sys.executable, __file__, lib_dir, *map(str, words)], check=True, text=True,
                          env=environment, stdout=subprocess.PIPE).stdout.split()


def cut(lib_dir, machine, gpu, slices):
    """Makes one MIG device for each number of slices."""
    run(lib_dir, machine, "cut", gpu, *slices)


def devices(lib_dir, machine, gpu):
    """The UUIDs of its MIG devices."""
    return run(lib_dir, machine, "devices", gpu)


def main(lib_dir, verb, *numbers):
    library = ctypes.CDLL(f"{lib_dir}/libnvidia-ml.so.1")
    check(library.nvmlInit_v2())
    {"cut": own_cut, "devices": own_devices}[verb](library, *map(int, numbers))
    library.nvmlShutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
