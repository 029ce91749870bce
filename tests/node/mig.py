"""mig: cuts the cards of a simulated machine, as nvidia-smi would: through NVML."""

import contextlib
import ctypes
import os

# By slices: which of NVML's profiles that is.
PROFILE_OF_SLICES = {1: 0, 2: 1, 3: 2, 4: 3, 7: 4}


def check(status):
    if status:
        raise RuntimeError(f"NVML error {status}")


@contextlib.contextmanager
def nvml(lib_dir, machine):
    os.environ["VGPU_SIM"] = machine
    library = ctypes.CDLL(f"{lib_dir}/libnvidia-ml.so.1")
    check(library.nvmlInit_v2())
    try:
        yield library
    finally:
        library.nvmlShutdown()


def handle(library, gpu):
    device = ctypes.c_void_p()
    check(library.nvmlDeviceGetHandleByIndex_v2(gpu, ctypes.byref(device)))
    return device


def profile_id(function, *arguments):
    """Both kinds of profile begin with their id."""
    profile = (ctypes.c_uint * 64)()
    check(function(*arguments, profile))
    return profile[0]


def cut(lib_dir, machine, gpu, slices):
    """Makes one MIG device for each number of slices."""
    with nvml(lib_dir, machine) as library:
        device, status = handle(library, gpu), ctypes.c_int()
        check(library.nvmlDeviceSetMigMode(device, 1, ctypes.byref(status)))
        for count in slices:
            kind = PROFILE_OF_SLICES[count]
            instance, compute = ctypes.c_void_p(), ctypes.c_void_p()
            number = profile_id(library.nvmlDeviceGetGpuInstanceProfileInfo, device, kind)
            check(library.nvmlDeviceCreateGpuInstance(device, number, ctypes.byref(instance)))
            number = profile_id(library.nvmlGpuInstanceGetComputeInstanceProfileInfo, instance,
                                kind, 0)
            check(library.nvmlGpuInstanceCreateComputeInstance(instance, number,
                                                               ctypes.byref(compute)))


def devices(lib_dir, machine, gpu):
    """The UUIDs of its MIG devices."""
    found = []
    with nvml(lib_dir, machine) as library:
        device, part = handle(library, gpu), ctypes.c_void_p()
        for index in range(7):
            if library.nvmlDeviceGetMigDeviceHandleByIndex(device, index, ctypes.byref(part)) == 0:
                uuid = ctypes.create_string_buffer(96)
                check(library.nvmlDeviceGetUUID(part, uuid, 96))
                found.append(uuid.value.decode())
    return found
