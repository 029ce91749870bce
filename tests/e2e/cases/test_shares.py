# SPDX-License-Identifier: Apache-2.0
"""The right share in the right container: webhook, scheduler, agent and runtime on a real kubelet."""

import contextlib
import glob
import os
import re
import time

import full_stack
from fixtures import ApiError, case, expect, pod
from paths import SMI
from full_stack import UBUNTU, expect_own, gpu_pod, inside, shares_on_disk, wait_log


def annotate(cluster, name, **annotations):
    cluster.patch("v1", "Pod", name, {"metadata": {"annotations": {
        f"vgpu.io/{key.replace('_', '-')}": value for key, value in annotations.items()}}}, cluster.namespace)


def containers_pod(name, containers, **spec):
    """A pod of several containers: {name: (command, memory)}; without memory, without a GPU."""
    made = pod(name, **spec)
    one = made["spec"]["containers"][0]
    made["spec"]["containers"] = [container(one, *entry) for entry in containers.items()]
    return made


def container(one, name, what):
    command, memory = what
    limits = {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": str(memory)} if memory else {}
    return {**one, "name": name, "image": UBUNTU, "command": ["sh", "-c", command],
            "resources": {"limits": limits}}


@case("a pod sees its share by CUDA and by NVML, and is refused beyond it")
def own(cluster):
    with full_stack.full_stack(cluster):
        cluster.apply(gpu_pod("user", "look; look hold 1000; sleep 3600", memory=700, cores=30))
        entry = cluster.wait_phase("user", "Running", seconds=60)
        log = wait_log(cluster, "user", "refused after")
        expect_own(entry, "main", log)
        expect("all right" in log, log)


@case("nvidia-smi in a pod shows its own share and its own program, and no neighbour")
def smi(cluster):
    with full_stack.full_stack(cluster, "gtx-1050ti", 1):
        seen = gpu_pod("seen", "look hold 200 3600", memory=700)
        # The image has no nvidia-smi, and not all that it needs.
        for name, path in (("smi", os.path.dirname(SMI)), ("lib", "/lib/x86_64-linux-gnu")):
            seen["spec"].setdefault("volumes", []).append({"name": name, "hostPath": {"path": path}})
            seen["spec"]["containers"][0].setdefault("volumeMounts", []).append(
                {"name": name, "mountPath": f"/{name}-of-host", "readOnly": True})
        cluster.apply(seen)
        cluster.apply(gpu_pod("beside", "look hold 300 3600", memory=900))
        for name in ("seen", "beside"):
            wait_log(cluster, name, "^holds")
        text = inside(cluster, "seen", "sh", "-c", "/lib-of-host/ld-linux-x86-64.so.2 --library-path "
                      "/lib-of-host:$LD_LIBRARY_PATH /smi-of-host/nvidia-smi")
        expect(re.search(r" \d+MiB / +700MiB", text), text)
        expect(len(re.findall(r" C +\S*look +\d+MiB", text)) == 1, text)


@case("init containers, sidecars and several containers have each their own, and restart with the same")
def several(cluster):
    with full_stack.full_stack(cluster):
        made = containers_pod("many", {
            "big": ("look; sleep 3600", 900), "small": ("look; look hold 500; kill 1 2>/dev/null; exit 1", 300),
            "plain": ("echo visible $NVIDIA_VISIBLE_DEVICES; ls /etc/vgpu; sleep 3600", None)},
            restartPolicy="Always")
        one = made["spec"]["containers"][0]
        made["spec"]["initContainers"] = [
            container(one, "first", ("look", 400)),
            {**container(one, "side", ("look; sleep 3600", 500)), "restartPolicy": "Always"}]
        cluster.apply(made)
        entry = cluster.wait("the small one has restarted", lambda: restarted(cluster, "many", "small", 2), 60)
        for name in ("first", "side", "big", "small"):
            expect_own(entry, name, wait_log(cluster, "many", "GPUs$", name))
        # What it held when it ended is free again: it gets as far as the time before.
        now = wait_log(cluster, "many", "refused after", "small")
        before = cluster.request("GET", cluster.path("v1", "Pod", cluster.namespace, "many", "log"),
                                 container="small", previous="true")
        expect(refusals(before) == refusals(now), before + now)
        log = cluster.logs("many", "plain")
        expect("visible void\n" not in log.replace("visible \n", "") and "region" not in log, log)


def refusals(log):
    """What `look hold` says of them. It is in no order with what the library says: these are two pipes."""
    return re.findall(r"^refused after .*$", log, re.M)


def restarted(cluster, name, inside, times):
    entry = cluster.pod(name)
    return any(status["name"] == inside and status["restartCount"] >= times
               for status in entry["status"].get("containerStatuses", [])) and entry


@case("an annotation resizes a pod that runs, within a second, and not beyond its ceiling")
def resize(cluster):
    with full_stack.full_stack(cluster):
        made = gpu_pod("user", "while :; do look | head -1; sleep 0.1; done", memory=500, cores=50)
        made["metadata"]["annotations"] = {"vgpu.io/memory-max": "9000Mi"}
        cluster.apply(made)
        cluster.wait_phase("user", "Running", seconds=60)
        wait_log(cluster, "user", "cuda 500 nvml 500")
        slowest = 0
        for memory in (300, 800, 450):
            annotate(cluster, "user", memory=f"{memory}Mi", cores="40")
            began = time.monotonic()
            wait_log(cluster, "user", f"cuda {memory} nvml {memory}", seconds=10)
            slowest = max(slowest, time.monotonic() - began)
        cluster.wait("what it had at most is set aside for it", lambda: [
            part["memory"] for part in full_stack.allocation(cluster.pod("user"))["main"]] == [800], 10)
        print(f"e2e: resized after at most {slowest:.2f} s, seen by a program in the pod", flush=True)
        expect(slowest < 2, f"{slowest:.1f} s")
        annotate(cluster, "user", memory="5000Mi")
        cluster.wait("kubectl says that a GPU of 4 GiB cannot fit it", lambda: any(
            text.startswith("ResizeRefused: ") for text in cluster.events("user")), 10)
        cluster.wait("what it had at most is others' again", lambda: [
            part["memory"] for part in full_stack.allocation(cluster.pod("user"))["main"]] == [500], 10)
        cluster.wait("the pod asks for what it has", lambda: cluster.pod("user")["metadata"]["annotations"][
            "vgpu.io/memory"] == "450Mi", 10)
        log = inside(cluster, "user", "look")
        expect("cuda 450 nvml 450" in log, f"the share changed: {log}")
        try:
            annotate(cluster, "user", memory="9001Mi")
            expect(False, "a resize over the ceiling was let through")
        except ApiError as error:
            expect("over the ceiling" in str(error), error)


@case("a container without a share has no GPU, whatever its environment says")
def without(cluster):
    with full_stack.full_stack(cluster):
        cluster.apply(pod("none", image=UBUNTU, command="echo visible $NVIDIA_VISIBLE_DEVICES; look; ls /etc/vgpu",
                          runtimeClassName="vgpu", env={
                              "NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "all",
                              "VGPU_SIM": "/run/machine", "VGPU_SHARE": "/tmp/share"}))
        cluster.wait_phase("none", "Failed", seconds=60)
        log = cluster.logs("none")
        expect("visible void\n" in log and "gpu GPU-" not in log and "No such file" in log, log)
        # Placed by nobody of ours: kubelet asks before it starts, and does not.
        stray = gpu_pod("stray", memory=100, schedulerName="other", runtimeClassName="vgpu")
        cluster.apply(stray)
        cluster.request("POST", cluster.path("v1", "Pod", cluster.namespace, "stray", "binding"), {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "stray"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": full_stack.NODE}})
        cluster.wait("kubectl says why it does not start", lambda: any(
            "has no share on this node" in text for text in cluster.events("stray")), 60)


@case("root in a container reaches no other container's share, region or processes")
def tenant(cluster):
    with full_stack.full_stack(cluster):
        for name in ("one", "two"):
            cluster.apply(gpu_pod(name, "look; sleep 3600", memory=300))
        entries = [cluster.wait_phase(name, "Running", seconds=60) for name in ("one", "two")]
        wait_log(cluster, "one", "GPUs$")
        other = entries[1]["metadata"]["uid"]
        told = cluster.exec("one", "sh", "-c", f"""
            ls / /etc/vgpu /var/lib 2>/dev/null; find / -xdev -name '*{other}*' 2>/dev/null
            grep -a -c {other} /etc/vgpu/share
            true > /etc/vgpu/share || echo share is read-only
            rm -f /etc/vgpu/share /etc/vgpu/region || echo stays
            mv /etc/vgpu /etc/moved || echo not moved
            umount /etc/vgpu/share || echo not unmounted
            mount -o remount,rw /etc/vgpu/share || echo not remounted
            ls /etc/vgpu/registry; cat /proc/[0-9]*/comm""", check=False)
        expect(other not in told, told)
        for sentence in ("share is read-only", "stays", "not moved", "not unmounted", "not remounted"):
            expect(sentence in told, told)
        # The node's own socket answers root of the node, and is not in the container.
        expect("node.sock" not in told, told)
        cluster.exec("one", "sh", "-c", "head -c 100000 /dev/urandom > /etc/vgpu/region; true", check=False)
        log = inside(cluster, "two", "look")
        expect_own(entries[1], "main", log)


@case("shares go with their pods, and not before their processes")
def gone(cluster):
    with full_stack.full_stack(cluster):
        cluster.apply(gpu_pod("brief", "look", memory=200))
        cluster.apply(gpu_pod("long", "trap '' TERM; look; sleep 3600", memory=200,
                              terminationGracePeriodSeconds=8))
        cluster.wait_phase("brief", "Succeeded", seconds=60)
        entry = cluster.wait_phase("long", "Running", seconds=60)
        cluster.wait("the share of a pod that ended is gone", lambda: len(shares_on_disk()) == 1, 30)
        cluster.delete("v1", "Pod", "long", cluster.namespace, gracePeriodSeconds=8)
        time.sleep(3)
        expect(entry["metadata"]["uid"] in "".join(shares_on_disk()), "the share went before its container")
        cluster.wait_gone("long", 60)
        cluster.wait("the share is gone", lambda: not shares_on_disk(), 30)


def fingerprint(entries):
    """The shares of pods on disk: files that are mounted, and what is in them."""
    found = {}
    for entry in entries:
        path = os.path.join(full_stack.STATE_FOLDER, "shares", entry["metadata"]["uid"], "main")
        with open(os.path.join(path, "share"), "rb") as share:
            content = share.read()
        found[path] = [os.stat(os.path.join(path, name)).st_ino for name in ("share", "region", "grant", "want")]
        found[path].append(hash(content))
    return found


@case("vgpu-node killed while pods start and stop, the API server away: no share is lost or changed")
def killed(cluster):
    with full_stack.full_stack(cluster) as node:
        stays = []
        for number in range(3):
            cluster.apply(gpu_pod(f"stays-{number}", "while :; do look; sleep 1; done", memory=300 + number))
        for number in range(3):
            stays.append(cluster.wait_phase(f"stays-{number}", "Running", seconds=60))
        before = fingerprint(stays)
        names = []
        for attempt in range(int(os.environ.get("VGPU_E2E_KILLS", "10"))):
            name = f"attempt-{attempt}"
            job = gpu_pod(name, "look", memory=100 + attempt, restartPolicy="OnFailure")
            cluster.apply(job)
            names.append(name)
            time.sleep(0.05 * (attempt % 7))
            node.kill()
            if attempt % 3 == 0:
                cluster.delete("v1", "Pod", name, cluster.namespace, gracePeriodSeconds=0)
                names.remove(name)
            node.start()
        for name in names:
            # kubelet turns a pod away for good if it admits it while nobody serves the vGPUs.
            entry = cluster.wait_phase(name, "Succeeded", "Failed", seconds=120)
            if entry["status"].get("reason") != "UnexpectedAdmissionError":
                expect_own(entry, "main", cluster.logs(name))
        expect(fingerprint(stays) == before, "a share changed")
        cluster.stop("kube-apiserver")
        node.kill()
        node.start()
        time.sleep(int(os.environ.get("VGPU_E2E_OUTAGE", "5")))
        expect(fingerprint(stays) == before, "a share changed while the API server was away")
        cluster.start("kube-apiserver")
        for entry in stays:
            name = entry["metadata"]["name"]
            after = cluster.pod(name)
            expect(after["status"]["containerStatuses"][0]["restartCount"] == 0, after["status"])
            expect_own(after, "main", inside(cluster, name, "look"))
        expect(fingerprint(stays) == before, "a share changed")


@case("a container that restarts while the API server is away has its share again, from disk")
def outage(cluster):
    with full_stack.full_stack(cluster) as node:
        cluster.apply(gpu_pod("user", "look; sleep 2; exit 1", memory=333, restartPolicy="Always"))
        entry = cluster.wait_phase("user", "Running", seconds=60)
        cluster.stop("kube-apiserver")
        try:
            node.kill()
            node.start()
            before = log_files(entry)[-1]       # kubelet removes older ones
            deadline = time.monotonic() + 60
            while log_files(entry)[-1] == before and time.monotonic() < deadline:
                time.sleep(0.5)
            expect(log_files(entry)[-1] != before, f"it did not restart: {log_files(entry)}")
            deadline = time.monotonic() + 20
            while "GPUs" not in last_log(entry) and time.monotonic() < deadline:
                time.sleep(0.2)
            expect("cuda 333 nvml 333" in last_log(entry), last_log(entry))
        finally:
            cluster.start("kube-apiserver")


def log_files(entry):
    """kubelet's own, one per start of the container: the API server is not there to be asked."""
    metadata = entry["metadata"]
    folder = f"/var/log/pods/{metadata['namespace']}_{metadata['name']}_{metadata['uid']}/main"
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder), key=lambda name: int(name.split(".")[0]))]


def last_log(entry):
    with open(log_files(entry)[-1], encoding="utf-8") as file:
        return file.read()


@case("forty pods with a GPU start at kubelet's own pace, and the agent stays small")
def forty(cluster):
    count = int(os.environ.get("VGPU_E2E_CROWD", "40"))
    sizes, pairs = [], []

    def is_own_pace():
        plain, gpu = pairs[-1]
        return gpu < 1.5 * plain + 2

    def started(node, make):
        others = shims()
        began = time.monotonic()
        for number in range(count):
            cluster.create(make(number))
        cluster.wait(f"{count} pods run", lambda: running(cluster) == count, 300)
        took = time.monotonic() - began
        sizes.append(node.rss_kb())
        cluster.request("DELETE", cluster.path("v1", "Pod", cluster.namespace), gracePeriodSeconds=0)
        # From the API server they go at once; what kubelet does for it would be the next ones' time.
        cluster.wait("they are gone", lambda: not cluster.list("v1", "Pod", cluster.namespace) and shims() <= others, 180)
        return took
    with full_stack.full_stack(cluster, "a100-40gb", 8) as node:
        # The machine may be busy otherwise: one of two pairs, each of two that follow each other, tells of our pace.
        while len(pairs) < 2 and not (pairs and is_own_pace()):
            pairs.append((started(node, lambda n: pod(f"plain-{n}", image=UBUNTU)),
                          started(node, lambda n: gpu_pod(f"gpu-{n}", "sleep 3600", memory=1000, cores=5))))
        plain, gpu = pairs[-1]
        print(f"e2e: {count} pods: {plain:.1f} s without a GPU, {gpu:.1f} s with; vgpu-node has {sizes[0]} kB "
              f"without them and {sizes[-1]} kB with", flush=True)
        expect(is_own_pace(), pairs)
        expect(max(sizes) < 8192, f"{sizes} kB")


def shims():
    """How many containers' keepers there are: one a pod, until nothing is left of it."""
    count = 0
    for path in glob.glob("/proc/[0-9]*/comm"):
        with contextlib.suppress(OSError), open(path, encoding="ascii", errors="replace") as file:
            count += file.read().startswith("containerd-shim")
    return count


def running(cluster):
    return sum(entry["status"].get("phase") == "Running" for entry in cluster.list("v1", "Pod", cluster.namespace))
