# SPDX-License-Identifier: Apache-2.0
"""The project's requirements as their users wrote them: manifests and steps, unchanged."""

import json
import os
import pty
import re
import subprocess
import time

import yaml

import full_stack
from documents import BURN, OVERSOLD
from fixtures import case, expect, pod
from paths import BUILD
from full_stack import UBUNTU, expect_own, gpu_pod, inside, wait_log

ROUNDS = int(os.environ.get("VGPU_E2E_ROUNDS", "4"))
BURN_SECONDS = int(os.environ.get("VGPU_E2E_BURN", "15"))      # 60 in the document
GIB = 1 << 30
VGPU = os.path.join(BUILD, "bin", "vgpu")


def gpus(node):
    """What the GPUs themselves say."""
    told = subprocess.run([VGPU, "sim", "stat", "--machine", node.machine, "--json"],
                          stdout=subprocess.PIPE, check=True).stdout
    return json.loads(told)["gpus"]


def device_bytes(node):
    return sum(gpu["used_bytes"] for gpu in gpus(node))


def busy_s(node):
    return sum(gpu["busy_ns"] for gpu in gpus(node)) / 1e9


@case("seed 000: memory scaled by 2 registers 8192, and of 4 GB at most 2 are physical, the others virtual")
def scaled(cluster):
    with full_stack.full_stack(cluster, "gtx-1050ti", 1, "--device-memory-scaling=2.0") as node:
        expect([gpu["memory"] for gpu in full_stack.registered_gpus(cluster)] == [8192], full_stack.registered_gpus(cluster))
        cluster.apply(gpu_pod("user", "look; look hold 3840 3600", memory=4096))
        entry = cluster.wait_phase("user", "Running", seconds=60)
        log = wait_log(cluster, "user", "holds 3840 MiB, all right")
        expect_own(entry, "main", log)
        expect(0 < device_bytes(node) <= 2 * GIB, f"{device_bytes(node) / GIB:.2f} GiB on the GPU")
        log = inside(cluster, "user", "look", "hold", "1024")
        expect("refused" in log, log)


@case("seed 000: CUDA_MEM_OVERSOLD holds 6 GiB on a GPU of 4, its data right, and is refused at 8")
def oversold(cluster):
    with full_stack.full_stack(cluster, "gtx-1050ti", 1) as node:
        cluster.apply(yaml.safe_load(OVERSOLD))
        cluster.wait_phase("gpu-example", "Running", seconds=60)
        log = inside(cluster, "gpu-example", "look", "hold", "6144", container="default")
        expect("holds 6144 MiB, all right" in log, log)
        log = inside(cluster, "gpu-example", "look", "hold", "8192", container="default")
        found = re.search(r"refused after (\d+) MiB, all right", log)
        expect(found and 6144 < int(found.group(1)) < 8192, log)
        expect(device_bytes(node) == 0, "something is left on the GPU")


def burn_pod(cluster):
    entries = [entry for entry in cluster.list("v1", "Pod", cluster.namespace)
               if entry["metadata"].get("labels", {}).get("app") == "gpu-burn-test"]
    return entries[0] if len(entries) == 1 and entries[0]["status"].get("phase") == "Running" else None


@case("seed 001: the deployment, then more memory and less compute by annotation, without exec")
def burn(cluster):
    with full_stack.full_stack(cluster):
        deployment = yaml.safe_load(BURN)
        deployment["spec"]["template"]["metadata"]["annotations"] = {"vgpu.io/memory-max": "300Mi"}
        cluster.apply(deployment)
        entry = cluster.wait("its pod runs", lambda: burn_pod(cluster), 60)
        name = entry["metadata"]["name"]

        def run(*words):
            return inside(cluster, name, *words, container="container-1")
        expect_own(entry, "container-1", run("look"))
        expect("refused after" in run("look", "hold", "192"), "200 MiB are no limit")
        cluster.kubectl("annotate", "pod", name, "vgpu.io/memory=300m", "vgpu.io/cores=10")
        cluster.wait("the pod has 300 MiB", lambda: "cuda 300 nvml 300" in run("look"), 10)
        expect("holds 192 MiB" in run("look", "hold", "192"), "300 MiB are too few")
        expect(cluster.pod(name)["status"]["containerStatuses"][0]["restartCount"] == 0, "it was restarted")


COMPUTE = "export CUDA_DEVICE_SM_LIMIT=10\n"
MEMORY = """export CUDA_DEVICE_MEMORY_LIMIT_0=300m
export CUDA_DEVICE_MEMORY_SHARED_CACHE=/usr/local/vgpu/d.cache
"""


def typed(cluster, name, *lines):
    """What a terminal shows when these lines are typed into `kubectl exec -it`."""
    main, side = pty.openpty()
    with subprocess.Popen(["kubectl", "-n", cluster.namespace, "exec", "-it", name, "--", "/bin/bash"], stdin=side,
                          stdout=side, stderr=side) as process:
        os.close(side)
        os.write(main, "".join(f"{line}\n" for line in (*lines, "exit")).encode())
        shown = b""
        try:
            while chunk := os.read(main, 4096):
                shown += chunk
        except OSError:
            pass        # the other side is closed
    os.close(main)
    return shown.decode(errors="replace")


@case("seed 001: the exports of the exec steps hold with --env-ceiling=gpu, and are refused without")
def steps(cluster):
    for option, is_raised in (("none", False), ("gpu", True)):
        with full_stack.full_stack(cluster, "gtx-1050ti", 1, f"--env-ceiling={option}"):
            cluster.apply(yaml.safe_load(BURN))
            name = cluster.wait("its pod runs", lambda: burn_pod(cluster), 60)["metadata"]["name"]
            log = inside(cluster, name, "/bin/bash", "-c", MEMORY + "look hold 192", container="container-1",
                         check=False)
            expect(("holds 192 MiB" in log) == is_raised, f"{option}: {log}")
            expect(is_raised or "the share holds" in log, log)
            cluster.delete("apps/v1", "Deployment", "gpu-burn-test", cluster.namespace)
            cluster.delete("v1", "Pod", name, cluster.namespace, gracePeriodSeconds=0)
            cluster.wait("it is gone", lambda: not cluster.list("v1", "Pod", cluster.namespace), 60)


@case("seeds 000 and 001: the manifests with the namespace that they name, by kubectl apply")
def named(cluster):
    cluster.namespace = "default"       # for admission, too
    with full_stack.full_stack(cluster, "gtx-1050ti", 1):
        for text, name, condition in ((OVERSOLD, "gpu-example", "Ready"), (BURN, "gpu-burn-test", "Available")):
            entry = yaml.safe_load(text)
            text = text.replace(f"  name: {name}\n", f"  name: {name}\n  namespace: default\n", 1)
            try:
                subprocess.run(["kubectl", "apply", "-f", "-"], input=text, text=True, check=True)
                cluster.wait(f"{name} is well", lambda: any(
                    told["type"] == condition and told["status"] == "True" for told in cluster.get(
                        entry["apiVersion"], entry["kind"], name, "default")["status"].get("conditions", [])), 90)
            finally:
                subprocess.run(["kubectl", "delete", "-f", "-", "--ignore-not-found", "--wait=false"], input=text, text=True,
                               check=True)
                # Their half a minute of grace is nobody's concern here.
                cluster.wait("nothing is left", lambda: cluster.request("DELETE", cluster.path(
                    "v1", "Pod", "default"), gracePeriodSeconds=0) and not cluster.list("v1", "Pod", "default"), 90)


@case("seed 001: its exec steps as they are written, typed into a terminal in the container")
def steps_burn(cluster):
    with full_stack.full_stack(cluster, "gtx-1050ti", 1, "--env-ceiling=gpu") as node:
        # Long kernels: with a thousandth of a CPU the program launches few.
        subprocess.run([VGPU, "run", "--machine", node.machine, "--kernel", "vgpu_burn=100000", "--", "true"], check=True)
        cluster.apply(yaml.safe_load(BURN))
        name = cluster.wait("its pod runs", lambda: burn_pod(cluster), 60)["metadata"]["name"]
        parts = []
        for exports in (MEMORY, COMPUTE):
            busy, began = busy_s(node), time.monotonic()
            log = typed(cluster, name, *exports.splitlines(), f"./gpu_burn {BURN_SECONDS}")
            parts.append((busy_s(node) - busy) / (time.monotonic() - began))
            expect("GPU 0: OK" in log, log)
        print(f"e2e: of the GPU {parts[0]:.0%}, with 10 % of compute {parts[1]:.0%}", flush=True)
        expect(parts[0] > 0.3 and parts[1] < 0.2, parts)


def two_containers(name, round_number, which):
    """ctrA and ctrB with two vGPUs each, of sizes that nobody else has in this round."""
    made = pod(name)
    one = made["spec"]["containers"][0]
    sizes = {inside: 100 + 40 * which + 20 * number_in_pod + round_number % 10
             for number_in_pod, inside in enumerate(("ctra", "ctrb"))}
    containers = [{**one, "name": inside, "image": UBUNTU, "command": ["sh", "-c", "look"], "resources": {
        "limits": {"nvidia.com/vgpu": "2", "nvidia.com/gpumem": str(size), "nvidia.com/gpucores": "10"}}}
        for inside, size in sizes.items()]
    made["spec"]["containers"] = containers[::-1] if round_number % 2 else containers
    return made


@case(f"seed 003: two pods and two containers with two vGPUs each, at one instant, {ROUNDS} times: never a swap")
def never_swapped(cluster):
    with full_stack.full_stack(cluster, "gtx-1050ti", 4):
        looked, began = 0, time.monotonic()
        for number in range(ROUNDS):
            names = [f"pod{which}-{number}" for which in "ab"]
            pods = [two_containers(name, number, which) for which, name in enumerate(names)]
            for made in pods[::-1] if number % 4 > 1 else pods:
                cluster.create(made)
            for name in names:
                entry = cluster.wait_phase(name, "Succeeded", seconds=120)
                for inside in ("ctra", "ctrb"):
                    expect_own(entry, inside, cluster.logs(name, inside))
                    looked += 1
                cluster.delete("v1", "Pod", name, cluster.namespace, gracePeriodSeconds=0)
        print(f"e2e: {looked} containers looked, each found its own, {time.monotonic() - began:.0f} s", flush=True)
