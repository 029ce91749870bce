# SPDX-License-Identifier: Apache-2.0
"""check_shares: real clients under `vgpu run --cores`: they run at that part of their unlimited rate. Bounds
are wide enough for a busy host; the figures are printed, and `make bench` has the exact ones."""

import json
import os
import re
import subprocess
import time

from harness import CACHE, Failed, check

GEMM = os.path.join(CACHE, "built", "d", "gemm_rate", "gemm_rate")
HASHCAT = os.path.join(CACHE, "hashcat")
# Each program's own kernel takes milliseconds, so that the GPU is what it waits for.
KERNELS = {"ampere_sgemm_128x64_nn": 2000, "vgpu_burn": 2000,
           **{f"m00000_{form}": 4000 for form in ("s04", "m04", "s08", "m08", "sxx", "mxx")}}
UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def machine(clients, name):
    options = [word for kernel, time in KERNELS.items() for word in ("--kernel", f"{kernel}={time}")]
    return clients.create(name, "a100-40gb", 1, "--instruction-budget", "1000000", *options)


def gemm(result):
    return float(result.find(r"status 0 rate ([\d.]+)"))


def hashes(result):
    number, unit = re.search(r"Speed\.#1\.+: +([\d.]+) ([kMGT]?)H/s", result.text).groups()
    return float(number) * UNITS[unit]


def burns(result):
    return float(re.findall(r"proc'd: (\d+) ", result.text)[-1])


def programs(clients):
    """(name, command, folder, what it prints as its rate)"""
    return (("cuBLAS", (GEMM, "1024", "6"), None, gemm),
            ("hashcat", (os.path.join(HASHCAT, "hashcat"), "-b", "-m", "0", "--force", "--runtime=8", "-d", "1",
                         "--self-test-disable"), HASHCAT, hashes),
            ("vgpu-burn", (os.path.join(clients.build, "bin", "vgpu-burn"), "-m", "64", "8"), None, burns))


@check("cuBLAS, hashcat and vgpu-burn under --cores 10 run at a tenth of their rate")
def tenth(clients):
    path = machine(clients, "tenth")
    vgpu = os.path.join(clients.build, "bin", "vgpu")
    seen = []
    for name, command, folder, rate in programs(clients):
        for is_last in (False, True):   # hashcat tunes itself by times that it measures: a busy host makes it tune badly
            rates = [rate(clients.run(vgpu, "run", *limit, "--", *command, cwd=folder, VGPU_SIM=path, timeout=90))
                     for limit in ((), ("--cores", "10"))]
            seen.append(f"{name} {100 * rates[1] / rates[0]:.2f} %")
            if 0.08 <= rates[1] / rates[0] <= 0.12:
                break
            if is_last:
                raise Failed(", ".join(seen))
    print(f"# {', '.join(seen)}")


def loads(clients, path):
    """{pid: percent of the GPU's time in the last second}, as the simulated GPU counts it."""
    done = subprocess.run([os.path.join(clients.build, "bin", "vgpu"), "sim", "stat", "--machine", path, "--json"],
                          stdout=subprocess.PIPE, check=True)
    return {entry["pid"]: 100 * sum(held["load"] for held in entry["holds"])
            for entry in json.loads(done.stdout)["processes"]}


def steady_shares(clients, path, pids, seconds=5):
    """Means over some seconds in which all are at work."""
    end = time.monotonic() + 30
    means = [0.0 for _ in pids]
    while any(loads(clients, path).get(pid, 0) < 20 for pid in pids):
        if time.monotonic() > end:
            raise Failed(f"not all are at work: {loads(clients, path)}")
        time.sleep(0.2)
    time.sleep(2)
    for _ in range(seconds):
        time.sleep(1)
        now = loads(clients, path)
        means = [mean + now.get(pid, 0) / seconds for mean, pid in zip(means, pids)]
    return means


@check("cuBLAS and vgpu-burn at 30 and 70 share a GPU 30 : 70")
def thirty_seventy(clients):
    path = machine(clients, "shared")
    vgpu = os.path.join(clients.build, "bin", "vgpu")
    burn = os.path.join(clients.build, "bin", "vgpu-burn")
    running = [subprocess.Popen([vgpu, "run", "--name", f"share-{cores}", "--cores", str(cores), "--", *words],
                                env=clients.environment(VGPU_SIM=path), cwd=clients.work,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for cores, words in ((30, (GEMM, "1024", "60")), (70, (burn, "-m", "64", "60")))]
    try:
        shares = steady_shares(clients, path, [process.pid for process in running])
    finally:
        for process in running:
            process.kill()
            process.wait()
    print(f"# {shares[0]:.1f} : {shares[1]:.1f}")
    if not 0.27 <= shares[0] / sum(shares) <= 0.33 or sum(shares) < 85:
        raise Failed(f"{shares[0]:.1f} : {shares[1]:.1f}")
