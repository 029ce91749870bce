# SPDX-License-Identifier: Apache-2.0
"""Asks NVML as nvidia-smi does, from inside a share: for each line that it reads, prints the utilisation of each GPU in
percent; "-" where the driver does not tell."""

import ctypes
import sys

nvml = ctypes.CDLL("libnvidia-ml.so.1")
count = ctypes.c_uint()
assert nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0
devices = [ctypes.c_void_p() for _ in range(count.value)]
for index, device in enumerate(devices):
    assert nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0


def percent(device):
    rates = (ctypes.c_uint * 2)()
    return str(rates[0]) if nvml.nvmlDeviceGetUtilizationRates(device, rates) == 0 else "-"


print("ready", flush=True)
for _ in sys.stdin:
    print(*map(percent, devices), flush=True)
