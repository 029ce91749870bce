# SPDX-License-Identifier: Apache-2.0
"""check_machines: the same clients on every kind of GPU, on MIG instances and on chosen devices."""

import os
import re
import signal

from harness import DEBIAN, Failed, check

SMI = os.path.join(DEBIAN, "lib", "nvidia", "current", "nvidia-smi")
SGEMM = r"create 0 alloc 0 set 0 sgemm 0 sync 0 get 0 sscal 0 destroy 0"
# preset, what nvidia-smi calls it, compute capability
GPUS = (
    ("a100-80gb", "NVIDIA A100-SXM4-80GB", "8.0"), ("h100-80gb", "NVIDIA H100 80GB HBM3", "9.0"),
    ("h200-141gb", "NVIDIA H200", "9.0"), ("l4-24gb", "NVIDIA L4", "8.9"), ("t4-16gb", "Tesla T4", "7.5"),
    ("v100-16gb", "Tesla V100-SXM2-16GB", "7.0"), ("a30-24gb", "NVIDIA A30", "8.0"),
    ("rtx-4090", "NVIDIA GeForce RTX 4090", "8.9"), ("gtx-1050ti", "NVIDIA GeForce GTX 1050 Ti", "6.1"),
)


def gpu_check(preset, name, capability):
    @check(f"{preset}: nvidia-smi, deviceQuery, vectorAdd and cuBLAS agree on the GPU")
    def gpu(clients):
        machine = clients.create(preset, preset, 2)
        clients.smi("-L", VGPU_SIM=machine).expect(rf"^GPU 1: {name} \(UUID: GPU-")
        clients.smi(VGPU_SIM=machine).expect(r"No running processes found")
        clients.smi("-q", VGPU_SIM=machine).expect(rf"Product Name +: {name}$")
        clients.smi("topo", "-m", VGPU_SIM=machine).expect(r"^GPU0\s+X\s")
        clients.built("s", "deviceQuery", VGPU_SIM=machine).expect(
            rf'Device 0: "{name}"', rf"Major/Minor version number: +{capability}", r"Result = PASS")
        clients.built("s", "vectorAdd", VGPU_SIM=machine).expect(r"Test PASSED")
        clients.built("d", "sgemm", VGPU_SIM=machine).expect(SGEMM)
        # CUDA 13 has left GPUs before 7.5 behind, and says so (8: architecture mismatch).
        new = clients.built("D", "sgemm", VGPU_SIM=machine)
        if float(capability) < 7.5:
            new.expect(r"create 8 ", status=None)
        else:
            new.expect(SGEMM)


for row in GPUS:
    gpu_check(*row)


@check("nvidia-smi -q tells an old board's bridge and boost, and a new one's event recorder")
def traits(clients):
    old = clients.create("old", "m60-8gb", 2)
    new = clients.create("new", "h100-80gb", 1)
    clients.smi("-q", VGPU_SIM=old).expect(r"Bridge Chip\n +Type +: PLX$", r"Auto Boost +: On$", r"Latest Timestamp +: N/A$")
    clients.smi("-q", VGPU_SIM=new).expect(r"Bridge Chip\n +Type +: N/A$", r"Auto Boost +: N/A$",
                                           r"Latest Timestamp +: 20\d\d/", r"Latest Duration +: \d+ us$")


@check("sixteen GPUs are listed and used")
def sixteen(clients):
    machine = clients.create("sixteen", "h100-80gb", 16)
    listed = clients.smi("-L", VGPU_SIM=machine).expect(r"^GPU 15: NVIDIA H100").text
    if len(set(re.findall(r"GPU-[0-9a-f-]+", listed))) != 16:
        raise Failed(listed)
    clients.built("s", "deviceQuery", VGPU_SIM=machine).expect(r"Detected 16 CUDA Capable device\(s\)", r"Result = PASS")


@check("nvidia-smi cuts a GPU into MIG instances, and a program runs on one")
def mig(clients):
    machine = clients.create("mig", "a100-40gb", 2)
    clients.smi("-i", "0", "-mig", "1", VGPU_SIM=machine).expect(r"Enabled MIG Mode for GPU")
    clients.smi("mig", "-i", "0", "-cgi", "9,19", "-C", VGPU_SIM=machine).expect(
        r"Successfully created GPU instance ID +\d+ on GPU +0 using profile MIG 3g\.20gb",
        r"Successfully created compute instance ID +\d+ on GPU +0 .* using profile MIG 1g\.5gb")
    instance = clients.smi("-L", VGPU_SIM=machine).find(r"MIG 3g\.20gb +Device +0: \(UUID: (MIG-[0-9a-f-]+)\)")
    clients.smi(VGPU_SIM=machine).expect(r"MIG devices:", r"MiB / 19968MiB")
    clients.built("s", "deviceQuery", VGPU_SIM=machine, CUDA_VISIBLE_DEVICES=instance).expect(
        r"Detected 1 CUDA Capable device", r"MIG 3g\.20gb", r"19968 MBytes", r"\(0?42\) Multiprocessors", r"Result = PASS")
    clients.built("s", "vectorAdd", VGPU_SIM=machine, CUDA_VISIBLE_DEVICES=instance).expect(r"Test PASSED")
    clients.smi("mig", "-dci", VGPU_SIM=machine).expect(r"Successfully destroyed compute instance")
    clients.smi("mig", "-dgi", VGPU_SIM=machine).expect(r"Successfully destroyed GPU instance")
    clients.smi("-i", "0", "-mig", "0", VGPU_SIM=machine).expect(r"Disabled MIG Mode")


@check("CUDA_VISIBLE_DEVICES chooses by index, by UUID and none")
def visible(clients):
    buses = re.findall(r"([0-9A-F]{2}):00\.0", clients.smi("--query-gpu=pci.bus_id", "--format=csv,noheader").text)
    uuid = clients.smi("-L").find(r"^GPU 1: .*(GPU-[0-9a-f-]+)")
    for value in ("1", uuid, uuid[:12]):
        clients.built("s", "deviceQuery", CUDA_VISIBLE_DEVICES=value).expect(
            r"Detected 1 CUDA Capable device", rf"PCI Domain ID / Bus ID / location ID: +0 / {int(buses[1], 16)} / 0")
    clients.built("s", "deviceQuery", CUDA_VISIBLE_DEVICES="").expect(r"no CUDA-capable device is detected", status=None)


@check("a killed process leaves nothing in nvidia-smi")
def killed(clients):
    try:
        with clients.holder(512) as pid:
            clients.smi().expect(rf" {pid} +C ")
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            clients.smi().expect(r"No running processes found")
            used = clients.smi("--query-gpu=memory.used", "--format=csv,noheader,nounits").text.split()
            if len(set(used)) != 1:
                raise Failed(f"memory in use: {used} MiB")
    except Failed as failure:
        if "the holder ended" not in str(failure):      # that it ended is our own doing
            raise


@check("vgpu run --sim starts an unmodified client on a machine of its own")
def run_sim(clients):
    vgpu = os.path.join(clients.build, "bin", "vgpu")
    clients.run(vgpu, "run", "--sim=l4-24gb:3", "--", SMI, "-L", VGPU_SIM="", LD_LIBRARY_PATH="").expect(
        r"^GPU 2: NVIDIA L4 \(UUID: GPU-")
