# SPDX-License-Identifier: Apache-2.0
"""check_programs: nvtop, gpustat, hashcat, pycuda, cuBLAS, mumax3, lstopo, llama.cpp."""

import math
import os
import sys

from harness import CACHE, CUDA13, DEBIAN, HERE, PYTHON, Failed, Result, check

sys.path.insert(0, os.path.join(HERE, ".."))
import terminal  # noqa: E402

HELD_MIB = 2048


@check("nvtop draws the GPUs and the process of another program in a terminal")
def nvtop(clients):
    command = [os.path.join(DEBIAN, "bin", "nvtop"), "-d", "2"]
    with clients.holder(HELD_MIB) as pid:
        status, text = terminal.run(command, clients.environment(), 2.5, b"q")
    Result(command, status, text).expect(r"NVIDIA A100-SXM4-40GB", r"\b2\.\d+Gi/40\.\d+Gi|/40\.000Gi",
                                         rf"\b{pid}\b", r"Compute", r"hold")


@check("gpustat lists the GPUs, and the process with its memory")
def gpustat(clients):
    with clients.holder(HELD_MIB) as pid:
        result = clients.run(PYTHON, os.path.join(DEBIAN, "bin", "gpustat"), "--no-color", "-p", "-c")
    result.expect(r"\[0\] NVIDIA A100-SXM4-40GB +\| +\d+.C, +\d+ %", r"\[1\] NVIDIA A100-SXM4-40GB",
                  rf"hold/{pid}\(\d+M\)")
    if int(result.find(rf"hold/{pid}\((\d+)M\)")) < HELD_MIB:
        raise Failed(result.shown())


@check("gpustat --json answers every field")
def gpustat_json(clients):
    clients.run(PYTHON, os.path.join(DEBIAN, "bin", "gpustat"), "--json").expect(
        r'"memory.total": 40960', r'"utilization.gpu": \d', r'"power.draw": \d', r'"uuid": "GPU-')


@check("hashcat -I finds both GPUs through CUDA")
def hashcat_devices(clients):
    hashcat(clients, "-I").expect(r"CUDA Info", r"CUDA\.Version\.: \d+\.\d", r"Backend Device ID #1",
                                  r"Backend Device ID #2", r"Name\.+: NVIDIA A100-SXM4-40GB",
                                  r"Processor\(s\)\.+: 108", r"Memory\.Total\.+: 40\d\d\d MB")


@check("hashcat benchmarks MD5")
def hashcat_benchmark(clients):
    result = hashcat(clients, "-b", "-m", "0", "--force", "--runtime=2", "-d", "1", "--self-test-disable",
                     timeout=120)
    result.expect(r"Hash-Mode 0 \(MD5\)", r"Speed\.#1\.+: +[\d.]+ [kMGT]?H/s", status=None)
    if result.status not in (0, 1):         # 1: "exhausted", its way to say that all went well
        raise Failed(result.shown())


def hashcat(clients, *arguments, **options):
    folder = os.path.join(CACHE, "hashcat")
    return clients.run(os.path.join(folder, "hashcat"), *arguments, cwd=folder, VGPU_SIM=clients.timed,
                       **options)


@check("pycuda computes with a kernel, streams, events and arrays")
def pycuda(clients):
    clients.run(PYTHON, os.path.join(HERE, "programs", "pycuda_check.py")).expect(
        r"devices 2", r"NVIDIA A100-SXM4-40GB 40\d\d\d \(8, 0\)", r"pycuda is fine")


@check("cuBLAS 11.8: every call of an sgemm answers 0")
def cublas11(clients):
    clients.built("d", "sgemm").expect(SGEMM)


@check("cuBLAS 13: every call of an sgemm answers 0")
def cublas13(clients):
    clients.built("D", "sgemm").expect(SGEMM)


@check("variables, managed memory and attributes through the 11.8 runtime, static and shared")
def symbols11(clients):
    for variant in "sd":
        clients.built(variant, "symbols").expect(r"symbols are fine")


@check("variables, managed memory and attributes through the 13.0 runtime, static and shared")
def symbols13(clients):
    for variant in "SD":
        clients.built(variant, "symbols").expect(r"symbols are fine")


@check("NVRTC 11.8 compiles a kernel at run time and its PTX computes")
def nvrtc11(clients):
    clients.built("d", "compile").expect(r"sum of 1000 squares: 332833500")


@check("NVRTC 13 compiles a kernel at run time and its PTX computes")
def nvrtc13(clients):
    clients.built("D", "compile").expect(r"sum of 1000 squares: 332833500")


SGEMM = r"create 0 alloc 0 set 0 sgemm 0 sync 0 get 0 sscal 0 destroy 0"


RUNTIMES = (
    ("11.8", os.path.join(DEBIAN, "lib", "x86_64-linux-gnu", "libcudart.so.11.0")),
    ("12.1", "cudart-12.1/nvidia/cuda_runtime/lib/libcudart.so.12"),
    ("12.4", "cudart-12.4/nvidia/cuda_runtime/lib/libcudart.so.12"),
    ("12.6", "cudart-12.6/nvidia/cuda_runtime/lib/libcudart.so.12"),
    ("12.8", "cudart-12.8/nvidia/cuda_runtime/lib/libcudart.so.12"),
    ("12.9", "cudart-12.9/nvidia/cuda_runtime/lib/libcudart.so.12"),
    ("13.0", os.path.join(CUDA13, "lib", "libcudart.so.13")),
    ("13.2", "cudart-13.2/nvidia/cu13/lib/libcudart.so.13"),
)


def runtime_check(release, path):
    @check(f"the CUDA runtime {release} starts and moves memory")
    def runtime(clients):
        major, _, minor = release.partition(".")
        clients.run(PYTHON, os.path.join(HERE, "programs", "runtime_check.py"), os.path.join(CACHE, path)).expect(
            rf"^runtime {int(major) * 1000 + int(minor) * 10} driver 13000 devices 2 of 40\d+ MiB: fine$")


for row in RUNTIMES:
    runtime_check(*row)


@check("a runtime that is newer than the driver is refused")
def runtime_too_new(clients):
    machine = clients.create("old-driver", "a100-40gb", 1, "--driver-version", "12.2")
    clients.run(PYTHON, os.path.join(HERE, "programs", "runtime_check.py"), RUNTIMES[-2][1], VGPU_SIM=machine).expect(
        r"cuda\w+: error 35$", status=1)


@check("mumax3 -test finds the GPU")
def mumax3(clients):
    clients.run(os.path.join(DEBIAN, "bin", "mumax3"), "-test").expect(r"NVIDIA A100-SXM4-40GB", r"40\d+ ?MB")


def mumax3_run(clients, name, *lines):
    """Runs a script on a small magnet and gives what it prints."""
    path = os.path.join(clients.work, name)
    with open(path, "w", encoding="utf-8") as script:
        script.write("\n".join(("SetGridsize(16, 16, 1)", "SetCellsize(4e-9, 4e-9, 4e-9)", "Msat = 800e3",
                                "Aex = 13e-12", *lines, "print(m.average())", "")))
    return clients.run(os.path.join(DEBIAN, "bin", "mumax3"), "-http", "", "-f", "-cache", "", path)


@check("mumax3 computes the precession of a magnet as physics has it")
def mumax3_precession(clients):
    result = mumax3_run(clients, "precession.mx3", "enabledemag = false", "alpha = 0", "B_ext = vector(0, 0, 1)",
                        "m = uniform(1, 0, 0)", "run(5e-12)")
    x, y, z = (float(n) for n in result.find(r"^//\[(\S+ \S+ \S+)\]$").split())
    angle = 1.7595e11 * 5e-12           # the gyromagnetic ratio, one tesla, five picoseconds
    if max(abs(x - math.cos(angle)), abs(y - math.sin(angle)), abs(z)) > 1e-5:
        raise Failed(f"({x}, {y}, {z}) after {angle} rad\n{result.shown()}")


@check("mumax3 runs its convolution through cuFFT to the end")
def mumax3_fft(clients):
    mumax3_run(clients, "demag.mx3", "alpha = 0.02", "m = uniform(1, .1, 0)", "run(1e-12)").expect(
        r"Calculating demag kernel 100 %", r"^//\[\S+ \S+ \S+\]$")


@check("lstopo shows the GPUs as CUDA and NVML devices")
def lstopo(clients):
    clients.run(os.path.join(DEBIAN, "bin", "lstopo-no-graphics"), "--of", "console", "-v",
                HWLOC_PLUGINS_PATH=os.path.join(DEBIAN, "lib", "x86_64-linux-gnu", "hwloc")).expect(
        r"CUDA", r"cuda0", r"cuda1", r"nvml0")


@check("llama.cpp's CUDA backend loads, lists the devices and fills a buffer")
def llama(clients):
    folder = os.path.join(CACHE, "llama", "bins", "linux-x64-cuda")
    clients.run(PYTHON, os.path.join(HERE, "programs", "llama_check.py"), folder,
                libraries=(f"{CUDA13}/lib", folder)).expect(
        r"devices 2", r"0 NVIDIA A100-SXM4-40GB \d+ 40\d+", r"llama is fine")
