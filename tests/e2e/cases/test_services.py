# SPDX-License-Identifier: Apache-2.0
"""What vgpu-node does for shares that run: vgpu ps and set, registration, time slices, and violations."""

import json
import os
import pathlib
import subprocess
import sys
import time

from fixtures import case, expect
from paths import BUILD, TOP
from full_stack import allocation, full_stack, gpu_pod, wait_log

sys.path.insert(0, os.path.join(TOP, "tests"))
import group  # noqa: E402
from judge import Load, Window, judge_all  # noqa: E402

BURN = "docker.io/chrstnhntschl/gpu_burn:latest"
MIB = 1 << 20
# A context of this GPU takes more than the shares here have.
EXEMPT = "--context-memory=exempt"


def vgpu(*words, check=True):
    done = subprocess.run([os.path.join(BUILD, "bin", "vgpu"), *words], capture_output=True, text=True, check=False)
    expect(done.returncode == 0 or not check, done.stderr)
    return done


def look(cluster, name):
    """What a program sees that is started in the pod while it runs. Such programs have the container's own
    environment, not what the runtime added for the simulated driver."""
    return cluster.exec(name, "sh", "-c", "VGPU_SIM=/etc/vgpu/machine LD_LIBRARY_PATH=/etc/vgpu/driver look")


def every_share():
    return json.loads(vgpu("ps", "--json").stdout)["shares"]


def shares(cluster):
    """The case's own. Pods of the case before may still be ending, and have the same names when it is tried again."""
    return {share["name"]: share for share in every_share() if share["namespace"] == cluster.namespace}


@case("root on the node sees a pod's share and processes with vgpu ps, and vgpu set changes it while it runs")
def seen(cluster):
    with full_stack(cluster, "a100-40gb", 1, EXEMPT):
        made = gpu_pod("user", "look hold 96 3600", memory=200)
        made["metadata"]["annotations"] = {"vgpu.io/memory-max": "400Mi"}
        cluster.apply(made)
        cluster.wait_phase("user", "Running", seconds=60)
        wait_log(cluster, "user", "holds 96 MiB")
        share = shares(cluster)["user.main"]
        expect((share["namespace"], share["pod"], share["container"]) == (cluster.namespace, "user", "main"), share)
        expect(share["gpus"][0]["limit_bytes"] == 200 * MIB, share)
        pid = share["processes"][0]["host_pid"]
        expect(pid and pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8") == "look\n",
               f"the process is not registered: {share}")
        vgpu("set", "user.main", "--memory", "300Mi")
        expect("cuda 300 nvml 300" in look(cluster, "user"), "the pod does not see it")
        cluster.wait("the scheduler counts it", lambda: allocation(
            cluster.pod("user"))["main"][0]["memory"] == 300, 10)
        done = vgpu("set", "user.main", "--memory", "500Mi", check=False)
        expect(done.returncode == 1 and "may grow to at most" in done.stderr, done.stderr)
        vgpu("set", "user.main", "--memory", "100Mi")
        expect("cuda 100 nvml 100" in look(cluster, "user"), "it does not shrink")


def on_gpu_of(cluster, name):
    """The limits in MiB of all shares on that share's GPU, whosever they are."""
    uuid = shares(cluster)[name]["gpus"][0]["uuid"]
    return {share["name"]: gpu["limit_bytes"] // MIB for share in every_share() for gpu in share["gpus"]
            if gpu["uuid"] == uuid}


@case("a share that grows while a pod is being placed beside it: never more than the GPU is allocated, in either order")
def growing(cluster):
    gpu, wide = 40960, 30000
    with full_stack(cluster, "a100-40gb", 1, EXEMPT):
        made = gpu_pod("grower", "sleep 3600", memory=1000)
        made["metadata"]["annotations"] = {"vgpu.io/memory-max": f"{wide}Mi"}
        cluster.apply(made)
        cluster.wait_phase("grower", "Running", seconds=60)
        cut = 0
        for attempt in range(5):
            growth = subprocess.Popen(["sh", "-c", f"sleep 0.{attempt}; exec \"$0\" set grower.main --memory {wide}Mi",
                                       os.path.join(BUILD, "bin", "vgpu")], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            cluster.apply(gpu_pod(f"placed-{attempt}", "sleep 3600", memory=20000))
            growth.wait(20)
            cluster.wait("it runs, or it does not fit", lambda name=f"placed-{attempt}": cluster.pod(name)[
                "status"]["phase"] == "Running" or any(
                    event.startswith("FailedScheduling: ") for event in cluster.events(name)), 60)
            now = on_gpu_of(cluster, "grower.main")
            expect(sum(now.values()) <= gpu, f"more than there is: {now}")
            if f"placed-{attempt}.main" in now:
                expect(now[f"placed-{attempt}.main"] == 20000, now)
            cut += now["grower.main"] not in (1000, wide)
            cluster.delete("v1", "Pod", f"placed-{attempt}", cluster.namespace)
            cluster.wait_gone(f"placed-{attempt}", seconds=90)
            cluster.wait("so is its share", lambda: list(on_gpu_of(cluster, "grower.main")) == ["grower.main"], 30)
            vgpu("set", "grower.main", "--memory", "1000Mi")
            # As decided at first, for the next round: what a pod no longer has stays set aside for it.
            decision = json.loads(cluster.pod("grower")["metadata"]["annotations"]["vgpu.io/allocation"])
            decision["containers"]["main"][0]["memory"] = 1000
            cluster.patch("v1", "Pod", "grower", {"metadata": {"annotations": {
                "vgpu.io/allocation": json.dumps(decision)}}}, cluster.namespace)
        print(f"e2e: growth gave way in {cut} of 5 rounds", flush=True)


@case("pods on one GPU get time slices by their cores, and go on when vgpu-node is killed")
def timeslices(cluster):
    with full_stack(cluster, "a100-40gb", 1) as node:
        vgpu("run", "--machine", node.machine, "--kernel", "vgpu_burn=1000", "--", "true")
        names = {"third": 30, "most": 60}
        for name, cores in names.items():
            cluster.apply(gpu_pod(name, "./gpu_burn 600", image=BURN, memory=1000, cores=cores))
        for name in names:
            cluster.wait_phase(name, "Running", seconds=60)

        def busy():
            now = shares(cluster)
            return [now[f"{name}.main"]["gpus"][0]["gpu_ns"] for name in names]

        def counts():
            now = shares(cluster)
            return [now[f"{name}.main"]["gpus"][0]["timeslices"] for name in names]

        cluster.wait("both have had time slices", lambda: min(counts()) > 20, 30)
        got = []

        def loads():
            """What the region says of both; what the GPU says of the whole."""
            listed = shares(cluster)
            window = Window(lambda: json.loads(vgpu("sim", "stat", "--machine", node.machine, "--json").stdout),
                            *(process["host_pid"] for name in names for process in listed[f"{name}.main"]["processes"]))
            before, began = busy(), time.monotonic()
            time.sleep(3)
            after, passed_ns, whole = busy(), (time.monotonic() - began) * 1e9, window.end()
            got[:] = [(now - then) * 100 / passed_ns for now, then in zip(after, before)]
            return [*(Load(percent, whole.late_percent) for percent in got), whole]
        wrong = judge_all((30, 60, 90), loads)
        expect(not wrong, wrong)
        counted = counts()
        node.kill()
        time.sleep(0.3)
        node.start()
        cluster.wait("vgpu-node is back", lambda: shares(cluster), 20)
        cluster.wait("the next arbiter gives time slices", lambda: all(
            now > then + 5 for now, then in zip(counts(), counted)), 20)
        print(f"e2e: pods with 30 and 60 percent got {got[0]:.1f} and {got[1]:.1f}", flush=True)


def violate(node, pid, mib):
    """A process in the container's control group that goes around the library, as a static binary would."""
    process = subprocess.Popen([os.path.join(BUILD, "bin", "vgpu-burn"), "-m", f"{mib}", "600"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={"VGPU_SIM": node.machine, "LD_LIBRARY_PATH": os.path.join(BUILD, "lib", "sim")})
    group.join(process.pid, pid)
    return process


@case("a process that goes around the library is an event of its pod, and by policy the pod is evicted")
def violations(cluster):
    with full_stack(cluster, "a100-40gb", 1, EXEMPT, "--violation-policy=evict") as node:
        for name in ("bad", "good"):
            cluster.apply(gpu_pod(name, "look hold 96 3600", memory=200))
        for name in ("bad", "good"):
            cluster.wait_phase(name, "Running", seconds=60)
            wait_log(cluster, name, "holds 96 MiB")
        process = violate(node, shares(cluster)["bad.main"]["processes"][0]["host_pid"], 500)
        try:
            cluster.wait("it is an event", lambda: any(
                event.startswith("GPUShareViolation: ") for event in cluster.events("bad")), 30)
            cluster.wait_gone("bad", seconds=90)
            expect(not any(event.startswith("GPUShareViolation: ") for event in cluster.events("good")),
                   "the other pod is reported for a violation")
        finally:
            process.kill()
            process.wait()
