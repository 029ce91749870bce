# SPDX-License-Identifier: Apache-2.0
"""check_limits: real clients under `vgpu run --memory`: they see the limit, run, and are refused at it."""

import os
import re
import sys

from check_programs import RUNTIMES, SGEMM
from harness import CACHE, CUDA13, DEBIAN, HERE, MIB, PYTHON, Failed, Result, check

sys.path.insert(0, os.path.join(HERE, ".."))
import terminal  # noqa: E402

SMI = os.path.join(DEBIAN, "lib", "nvidia", "current", "nvidia-smi")
LIMIT_MIB = 2048


def under(clients, memory, *command):
    return [os.path.join(clients.build, "bin", "vgpu"), "run", "--memory", memory, "--", *command]


def limited(clients, *command, memory=f"{LIMIT_MIB}Mi", **options):
    """Runs a client under a limit on the machine that all clients share."""
    return clients.run(*under(clients, memory, *command), **options)


def sample(name):
    return os.path.join(CACHE, "built", "s", name, name)


@check("nvidia-smi under a limit shows GPUs of that size, and no neighbour")
def smi_limited(clients):
    with clients.holder(1024):
        result = limited(clients, SMI).expect(rf" 0MiB / +{LIMIT_MIB}MiB", r"No running processes found")
        if result.text.count(f"{LIMIT_MIB}MiB") != 2 or "40960MiB" in result.text:
            raise Failed(f"not two GPUs of {LIMIT_MIB} MiB\n{result.shown()}")
        limited(clients, SMI, "--query-gpu=memory.total,memory.used,memory.free", "--format=csv,noheader",
                memory="1.5g").expect(r"\A(1536 MiB, 0 MiB, 1536 MiB\n){2}\Z")


@check("nvidia-smi under a limit shows the processes of its own share")
def smi_own(clients):
    script = (f"coproc {sample('hold')} {512 * MIB}; read -u ${{COPROC[0]}} line; {SMI}; "
              "echo pid=$COPROC_PID; kill $COPROC_PID; wait")
    result = limited(clients, "bash", "-c", script)
    pid = result.find(r"^pid=(\d+)$")
    held = int(result.find(rf" {pid} +C +\S*hold +(\d+)MiB "))
    if not 512 < held < LIMIT_MIB:
        raise Failed(f"it holds {held} MiB\n{result.shown()}")


@check("deviceQuery under a limit finds GPUs of that size")
def query_limited(clients):
    limited(clients, sample("deviceQuery")).expect(
        rf"Total amount of global memory: +{LIMIT_MIB} MBytes", r"Result = PASS")


@check("CUDA samples compute the same where their memory lies on the host")
def samples_virtual(clients):
    vgpu = os.path.join(clients.build, "bin", "vgpu")
    options = "--memory", "256Mi", "--memory-ratio", "16", "--context-memory=exempt"
    for name in ("asyncAPI", "scalarProd", "UnifiedMemoryStreams"):  # 16 MiB of the GPU are too few
        clients.run(vgpu, "run", *options, "--", sample(name), cwd=os.path.dirname(sample(name))).expect(status=0)
    clients.run(vgpu, "run", "--memory-ratio", "2", "--", SMI).expect(r" 0MiB / +80\d\d\dMiB")  # twice 40


@check("CUDA samples run under a limit")
def samples_limited(clients):
    for name in ("vectorAdd", "vectorAddMMAP", "streamOrderedAllocationIPC", "graphMemoryNodes"):
        limited(clients, sample(name), cwd=os.path.dirname(sample(name))).expect(status=0)


@check("a client beyond its limit gets out of memory")
def refused(clients):
    result = limited(clients, sample("hold"), str(3072 * MIB), stdin="")
    if result.status == 0 or "holding" in result.text:
        raise Failed(f"it was not refused\n{result.shown()}")
    result.expect(r"(?i)out.of.memory", status=None)


def beside(viewer):
    """A script that holds 512 MiB while the viewer runs, and ends with the holder's pid."""
    return (f"coproc {sample('hold')} {512 * MIB}; read -u ${{COPROC[0]}} line; {viewer}; "
            "echo pid=$COPROC_PID; kill $COPROC_PID; wait")


@check("nvtop under a limit draws GPUs of that size, its own process, and no neighbour")
def nvtop_limited(clients):
    command = under(clients, f"{LIMIT_MIB}Mi", "bash", "-c", beside(f"{DEBIAN}/bin/nvtop -d 2"))
    with clients.holder(1024) as neighbour:
        status, text = terminal.run(command, clients.environment(), 4, b"q")
    result = Result(command, status, text).expect(r"\b0\.\d+Gi/2\.000Gi", r"Compute", r"hold")
    own = result.find(r"pid=(\d+)")
    result.expect(rf"\b{own} \w+ +0 +Compute", status=None)
    if re.search(rf"\b{neighbour} \w+ +0 +Compute", text) or "/40." in text:
        raise Failed(f"the neighbour {neighbour} or the whole GPU is shown\n{result.shown()}")


@check("gpustat under a limit shows GPUs of that size, its own process, and no neighbour")
def gpustat_limited(clients):
    with clients.holder(1024) as neighbour:
        result = limited(clients, "bash", "-c",
                         beside(f"{PYTHON} {DEBIAN}/bin/gpustat --no-color -p -c"))
    own = result.expect(rf" / +{LIMIT_MIB} MB \|").find(r"^pid=(\d+)$")
    result.expect(rf"hold/{own}\(\d+M\)")
    if f"/{neighbour}(" in result.text or "40960" in result.text:
        raise Failed(f"the neighbour {neighbour} or the whole GPU is shown\n{result.shown()}")


def hashcat(clients, memory, *words):
    folder = os.path.join(CACHE, "hashcat")
    return clients.run(*under(clients, memory, os.path.join(folder, "hashcat"), *words), cwd=folder,
                       VGPU_SIM=clients.timed, timeout=120)


@check("hashcat under a limit sees it, runs in it, and says when it is too little")
def hashcat_limited(clients):
    benchmark = ("-b", "-m", "0", "--force", "--runtime=2", "-d", "1", "--self-test-disable")
    hashcat(clients, "2g", "-I").expect(r"Memory\.Total\.+: 2048 MB")
    hashcat(clients, "8g", *benchmark).expect(r"Speed\.#1\.+: +[\d.]+ [kMGT]?H/s", status=None)
    result = hashcat(clients, "600Mi", *benchmark)
    result.expect(r"Not enough allocatable device memory", status=None)
    if result.status == 0:
        raise Failed(result.shown())


@check("pycuda under a limit computes, and raises its MemoryError beyond it")
def pycuda_limited(clients):
    limited(clients, PYTHON, os.path.join(HERE, "programs", "pycuda_check.py")).expect(
        rf"NVIDIA A100-SXM4-40GB {LIMIT_MIB} ", r"pycuda is fine")
    limited(clients, PYTHON, "-c", "import pycuda.autoinit, pycuda.driver as d; d.mem_alloc(3 << 30)").expect(
        r"MemoryError: cuMemAlloc failed: out of memory", status=1)


@check("cuBLAS under a limit multiplies, and answers ALLOC_FAILED where its workspace does not fit")
def cublas_limited(clients):
    for variant, libraries in (("d", ()), ("D", (f"{CUDA13}/lib",))):
        program = os.path.join(CACHE, "built", variant, "sgemm", "sgemm")
        limited(clients, program, libraries=libraries).expect(SGEMM)
    program = os.path.join(CACHE, "built", "d", "sgemm", "sgemm")
    # Undoing a failed create, this cuBLAS may throw out of a thread of its own, more often on a busy machine.
    runs = [limited(clients, program, memory="420Mi")]
    while "std::system_error" in runs[-1].text and len(runs) < 20:
        runs.append(limited(clients, program, memory="420Mi"))
    runs[-1].expect(r"^create 3 alloc 2", status=None)


@check("llama.cpp's CUDA backend under a limit loads, and reports a clean out of memory")
def llama_limited(clients):
    folder = os.path.join(CACHE, "llama", "bins", "linux-x64-cuda")
    command = (PYTHON, os.path.join(HERE, "programs", "llama_check.py"), folder)
    libraries = (f"{CUDA13}/lib", folder)
    limited(clients, *command, libraries=libraries).expect(
        rf"VRAM: {LIMIT_MIB} MiB", rf"^0 NVIDIA A100-SXM4-40GB \d+ {LIMIT_MIB}$", r"llama is fine")
    limited(clients, *command, libraries=libraries, memory="600Mi").expect(
        r"cudaMalloc failed: out of memory", r"no buffer", status=1)


@check("mumax3, a Go program, under a limit sees it, computes, and stops with OUT_OF_MEMORY beyond it")
def mumax3_limited(clients):
    def script(name, size):
        path = os.path.join(clients.work, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"SetGridsize({size})\nSetCellsize(4e-9, 4e-9, 4e-9)\nMsat = 800e3\nAex = 13e-12\n"
                       "enabledemag = false\nm = uniform(1, 0, 0)\nrun(1e-15)\nprint(m.average())\n")
        return (os.path.join(DEBIAN, "bin", "mumax3"), "-http", "", "-f", "-cache", "", path)
    limited(clients, *script("fits.mx3", "16, 16, 1"), memory="700Mi").expect(
        r"NVIDIA A100-SXM4-40GB\(700MB\)", r"^//\[\S+ \S+ \S+\]$")
    limited(clients, *script("big.mx3", "2048, 1024, 16"), memory="700Mi").expect(
        r"CUDA_ERROR_OUT_OF_MEMORY", status=1)


@check("every CUDA runtime under a limit sees GPUs of that size")
def runtimes_limited(clients):
    for _, path in RUNTIMES:
        limited(clients, PYTHON, os.path.join(HERE, "programs", "runtime_check.py"),
                os.path.join(CACHE, path)).expect(rf"devices 2 of {LIMIT_MIB} MiB: fine$")
