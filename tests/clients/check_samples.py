# SPDX-License-Identifier: Apache-2.0
"""check_samples: CUDA's own samples, built with the static and the shared runtime of two releases."""

import contextlib
import os
import re

from harness import Failed, check

RELEASES = {
    "s": "CUDA 11.8, static runtime", "d": "CUDA 11.8, shared runtime",
    "n": "CUDA 11.8, default code", "S": "CUDA 13.0, static runtime", "D": "CUDA 13.0, shared runtime",
}

# Their kernels only let time pass: nothing is lost when they are not interpreted.
TIMED = ("graphMemoryFootprint", "simpleHyperQ")

# They leave their shared memory behind, on hardware too.
LEFTOVERS = {
    "simpleIPC": "simpleIPCshm", "memMapIPCDrv": "memmap_ipc_shm",
    "streamOrderedAllocationIPC": "streamOrderedAllocationIPCshm",
}

# variants, name, arguments, what a good run prints (its exit status is 0 besides)
SAMPLES = (
    ("sdn", "deviceQuery", (), r"Result = PASS"),
    ("sd", "deviceQueryDrv", (), r"Result = PASS"),
    ("sd", "bandwidthTest", (), r"Result = PASS"),
    ("s", "topologyQuery", (), r"GPU0 <-> GPU1"),
    ("sdnSD", "vectorAdd", (), r"Test PASSED"),
    ("sdSD", "asyncAPI", (), r"CPU executed \d+ iterations while waiting for GPU to finish"),
    ("sdSD", "simpleOccupancy", (), r"Test PASSED"),
    ("sdSD", "streamOrderedAllocation", (), r"basicStreamOrderedAllocation PASSED"),
    ("s", "UnifiedMemoryStreams", (), r"All Done!"),
    ("s", "clock", (), r"Average clocks/block = \d"),
    ("s", "concurrentKernels", (), r"Test passed"),
    ("s", "cppIntegration", (), r"Hello World"),
    ("s", "cppOverload", (), r"simple_kernel\(const int \*pIn, int \*pOut, int a\) PASSED"),
    ("s", "cudaOpenMP", (), r"number of CUDA devices:\s+2"),
    ("s", "fp16ScalarProduct", (), r"PASSED"),
    ("sS", "matrixMul", ("-wA=64", "-hA=64", "-wB=64", "-hB=64"), r"Result = PASS"),
    ("s", "matrixMulDrv", (), r"Result = PASS"),
    ("s", "simpleAWBarrier", (), r"Result = PASSED"),
    ("s", "simpleAssert", (), r"thread: \[31,0,0\] Assertion `gtid < N` failed(.|\n)*failed as expected"),
    ("sS", "simpleAtomicIntrinsics", (), r"completed, returned OK"),
    ("sS", "simpleCallback", (), r"Total of 8 workloads finished"),
    ("s", "simpleCooperativeGroups", (), r"Sum of all ranks 0\.\.63 in threadBlockGroup is 2016"),
    ("s", "simpleCubemapTexture", (), r"Comparing kernel output to expected data"),
    ("s", "simpleDrvRuntime", (), r"Result = PASS"),
    ("s", "simpleHyperQ", (), r"Measured time for sample"),
    ("s", "simpleIPC", (), r"Process 1 complete!"),
    ("s", "simpleLayeredTexture", (), r"Comparing kernel output to expected data"),
    ("s", "simpleMultiGPU", (), r"Comparing GPU and Host CPU results"),
    ("s", "simpleP2P", (), r"Test passed"),
    ("s", "simplePrintf", (), r"\[3, 3\]:\s+Value is:10"),
    ("s", "simpleSeparateCompilation", (), r"returned OK"),
    ("s", "simpleSurfaceWrite", (), r"returned OK"),
    ("s", "simpleTemplates", (), r"Test Results: 0 Failures"),
    ("s", "simpleTexture", (), r"returned OK"),
    ("s", "simpleTextureDrv", (), r"Processing time"),
    ("s", "simpleVoteIntrinsics", (), r"OK"),
    ("s", "simpleZeroCopy", (), r"Releasing CPU memory"),
    ("s", "systemWideAtomics", (), r"returned OK"),
    ("s", "template", (), r"Processing time"),
    ("s", "vectorAddDrv", (), r"Result = PASS"),
    ("s", "vectorAddMMAP", (), r"Result = PASS"),
    ("s", "inlinePTX", (), r"Test Successful"),
    ("s", "reduction", ("--n=65536",), r"Test passed"),
    ("s", "reductionMultiBlockCG", ("--n=4096", "--threads=64", "--maxblocks=8"), r"GPU result"),
    ("s", "scalarProd", (), r"Test passed"),
    ("s", "shfl_scan", (), r"CheckSum: 2073600, "),
    ("s", "streamOrderedAllocationIPC", (), r"Process 1 complete!"),
    ("s", "streamOrderedAllocationP2P", (), r"PASSED"),
    ("s", "threadFenceReduction", ("--n=65536",), r"GPU result"),
    ("s", "threadMigration", (), r"Device=1, .*ThreadProc\(\) Finished"),
    ("s", "graphMemoryFootprint", (), r"footprint"),
    ("s", "graphMemoryNodes", (), r"Validation PASSED"),
    ("s", "memMapIPCDrv", (), r"Process 0: verifying"),
    ("s", "newdelete", (), r"OK"),
    ("s", "ptxjit", (), r"CUDA kernel launched"),
    ("sS", "simpleCudaGraphs", (), r"final reduced sum"),
    ("s", "transpose", ("-dimX=64", "-dimY=64"), r"Test passed"),
)


def sample_check(variant, name, arguments, pattern):
    @check(f"{name} runs ({RELEASES[variant]})")
    def run(clients):
        machine = clients.timed if name in TIMED else clients.machine
        try:
            result = clients.built(variant, name, *arguments, VGPU_SIM=machine).expect(pattern)
        finally:
            if name in LEFTOVERS:
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join("/dev/shm", LEFTOVERS[name]))
        if re.search(r"FAIL|mismatch|[Ff]ailed!|ERROR", result.text):
            raise Failed(f"something failed\n{result.shown()}")


for row in SAMPLES:
    for one in row[0]:
        sample_check(one, *row[1:])
