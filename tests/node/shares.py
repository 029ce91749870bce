# SPDX-License-Identifier: Apache-2.0
"""shares BIN LIB DESCRIPTORS measured|sanitized: from pods that the API server tells of to shares that
vgpu-runtime is given; through kills and outages."""

import atexit
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "net"))
from fake_api import FakeApi, event, page, status  # noqa: E402
from peer import Messages, Tap, differs, eventually  # noqa: E402

MIB = 1 << 20
CROWD = 100
GPU_MIB = 40960


class Api:
    """One Node, and the pods that it is given; deaf on demand."""

    def __init__(self):
        self.fake = FakeApi()
        self.pods, self.version, self.watch, self.is_deaf = {}, 10, None, False
        self.events = []
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                request = self.fake.next(timeout=120)
            except queue.Empty:
                return
            try:
                if not self.is_deaf:
                    self.answer(request)
            except OSError:
                pass        # whoever asked was killed

    def answer(self, request):
        if request.method == "PATCH":
            request.reply(200, {})
        elif request.path.endswith("/events"):
            self.events.append(json.loads(request.body))
            request.reply(201, {})
        elif "/namespaces/ns/pods/" in request.path:
            self.answer_pod(request)
        elif request.is_watch():
            request.head()
            if request.path == "/api/v1/pods":
                self.watch = request
        elif request.path == "/api/v1/pods":
            request.reply(200, page(self.version, list(self.pods.values())))
        else:
            request.reply(200, page(1, [{"metadata": {"name": "n1", "uid": "u", "resourceVersion": "1"}}]))

    def answer_pod(self, request):
        known = self.pods.get(request.path.rsplit("/", 1)[1])
        if request.method == "PUT" and known:
            changed = json.loads(request.body)
            if changed["metadata"]["resourceVersion"] != known["metadata"]["resourceVersion"]:
                request.reply(409, status(409, "Conflict", "it has changed"))
                return
            self.put(changed)
            known = changed
        if known:
            request.reply(200, known)
        else:
            request.reply(404, status(404, "NotFound", "no such pod"))

    def put(self, pod, kind="MODIFIED"):
        self.version += 1
        pod["metadata"]["resourceVersion"] = str(self.version)
        self.pods[pod["metadata"]["name"]] = pod
        if kind == "DELETED":
            del self.pods[pod["metadata"]["name"]]
        self.watch.data(event(kind, pod))


class Node:
    def __init__(self, bin_dir, lib_dir, folder, api):
        self.folder, self.lib_dir, self.bin_dir = folder, lib_dir, bin_dir
        api.write_config(folder / "config")
        subprocess.run([f"{bin_dir}/vgpu", "sim", "create", "--machine", folder / "machine", "--preset",
                        "a100-40gb", "--gpus", "8"], check=True, stdout=subprocess.DEVNULL)
        listed = subprocess.run([f"{bin_dir}/vgpu", "sim", "stat", "--machine", folder / "machine", "--json"],
                                check=True, stdout=subprocess.PIPE).stdout
        self.uuids = [gpu["uuid"] for gpu in json.loads(listed)["gpus"]]
        self.start()

    def start(self):
        environment = {**os.environ, "VGPU_SIM": str(self.folder / "machine"), "LD_LIBRARY_PATH": self.lib_dir}
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [f"{self.bin_dir}/vgpu-node", f"--device-plugin-path={self.folder}", "--node-name=n1",
                 f"--kubeconfig={self.folder}/config", f"--state-dir={self.folder}/state",
                 f"--run-dir={self.folder}/run", f"--sim-driver={self.lib_dir}"], env=environment, stderr=log)

    def rss_kb(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS"))

    def share_path(self, uid, container):
        return self.folder / "state" / "shares" / uid / container / "share"


class Runtime:
    """Asks as vgpu-runtime does."""

    def __init__(self, messages, node):
        self.messages, self.node = messages, node

    def ask(self, uid, container="main"):
        """The answer, or (status, sentence)."""
        request = self.messages.vgpu__v1__GetAllocationRequest()
        request.container.pod_uid, request.container.container = uid, container
        reply = self.messages.vgpu__v1__GetAllocationResponse
        with grpc.insecure_channel(f"unix://{self.node.folder}/run/node.sock") as channel:
            call = channel.unary_unary("/vgpu.v1.Allocations/Get",
                                       request_serializer=lambda message: message.SerializeToString(),
                                       response_deserializer=reply.FromString)
            try:
                return call(request, timeout=5)
            except grpc.RpcError as error:
                return error.code().name, error.details()

    def memory(self, uid):
        """MiB of its first GPU; None without a share."""
        answer = self.ask(uid)
        return None if isinstance(answer, tuple) else answer.share.gpus[0].limit_bytes // MIB


def raise_to(node, share, memory):
    subprocess.run([f"{node.bin_dir}/vgpu", "set", share, "--memory", memory], check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env={**os.environ, "VGPU_NODE_SOCKET": f"{node.folder}/run/node.sock"})


def pod(name, uuids, mib=200, decision=None, env=(), cores=7, **annotations):
    containers = {"main": [{"uuid": uuid, "memory": mib, "cores": cores} for uuid in uuids]}
    allocation = {"version": 1, "pod": f"uid-{name}", "node": "n1", "containers": containers, **(decision or {})}
    return {"metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": "5",
                         "annotations": {"vgpu.io/allocation": json.dumps(allocation), **{
                             f"vgpu.io/{key.replace('_', '-')}": value for key, value in annotations.items()}}},
            "spec": {"nodeName": "n1", "schedulerName": "vgpu-scheduler", "containers": [
                {"name": "main", "env": [{"name": key, "value": value} for key, value in env],
                 "resources": {"limits": {"nvidia.com/vgpu": "1"}}}, {"name": "plain"}]},
            "status": {"phase": "Running"}}


def crowd(tap, node, runtime, messages_of):
    tap.check(f"each of {CROWD} containers gets the share that its own pod says", [
        f"{number}: {answer}" for number in range(CROWD)
        for answer in [runtime.ask(f"uid-crowd-{number}")] if messages_of(answer) != (
            f"uid-crowd-{number}", node.uuids[number % 8], 100 + number)])
    answer = runtime.ask("uid-crowd-3")
    tap.check("mounts are the container's own files: share and grants to read, region and wishes to write", differs(
        [(mount.container_path, mount.read_only) for mount in answer.mounts],
        [("/etc/vgpu/share", True), ("/etc/vgpu/region", False), ("/etc/vgpu/grant", True),
         ("/etc/vgpu/want", False), ("/etc/vgpu/registry", True), ("/etc/vgpu/machine", False),
         ("/etc/vgpu/driver", True)]))
    tap.check("… in its own folder", [mount.host_path for mount in answer.mounts[:4]
                                      if not mount.host_path.startswith(
                                          str(node.share_path("uid-crowd-3", "main").parent) + "/")])
    tap.check("a simulated machine comes with what a program needs to find it", differs(
        {variable.name: variable.value for variable in answer.variables},
        {"VGPU_SIM": "/etc/vgpu/machine", "LD_LIBRARY_PATH": "/etc/vgpu/driver",
         "CUDA_VISIBLE_DEVICES": node.uuids[3]}))


def refusals(tap, runtime):
    tap.check("a container without an allocation has no share", differs(
        runtime.ask("uid-crowd-0", "plain"), ("NOT_FOUND", "container 'plain' has no share")))
    tap.check("a pod that was not seen may come yet", differs(runtime.ask("uid-nobody")[0], "UNAVAILABLE"))
    tap.check("an allocation that was copied from another pod gives nothing", differs(
        runtime.ask("uid-copied")[0], "FAILED_PRECONDITION"))
    tap.check("nor one for another node", differs(runtime.ask("uid-elsewhere")[0], "FAILED_PRECONDITION"))
    tap.check("a misspelled variable of the container is reported", [] if "CUDA_MEM_OVERSOLD: invalid value 'ture'" in runtime.ask(
        "uid-slip")[1] else [str(runtime.ask("uid-slip"))])
    tap.check("a request without a name is refused", differs(runtime.ask("")[0], "INVALID_ARGUMENT"))


def resizes(tap, node, api, runtime):
    path = node.share_path("uid-crowd-1", "main")
    inode = path.stat().st_ino
    api.put(pod("crowd-1", [node.uuids[1]], 101, memory="50Mi"))
    tap.check("an annotation makes a share smaller, in place",
              differs((eventually(lambda: runtime.memory("uid-crowd-1") == 50, 2), path.stat().st_ino),
                      (True, inode)))
    api.put(pod("crowd-1", [node.uuids[1]], 101, memory="500Mi"))
    time.sleep(0.5)
    tap.check("what is over the ceiling changes nothing", differs(runtime.memory("uid-crowd-1"), 50))
    api.put(pod("crowd-1", [node.uuids[1]], 101, memory="500Mi", memory_max="600Mi"))
    tap.check("what is within its ceiling does",
              differs(eventually(lambda: runtime.memory("uid-crowd-1") == 500, 2), True))
    api.put(pod("crowd-1", [node.uuids[1]], 101, memory="50000Mi", memory_max="60000Mi"))
    time.sleep(0.5)
    tap.check("… unless the GPU cannot fit it", differs(runtime.memory("uid-crowd-1"), 500))
    api.put(pod("greedy", [node.uuids[1]], 100, memory="50000Mi", memory_max="60000Mi"), "ADDED")
    tap.check("a pod that comes with a wish that the GPU cannot fit gets what was decided",
              differs((eventually(lambda: runtime.memory("uid-greedy"), 2), runtime.memory("uid-greedy")), (True, 100)))
    api.put(pod("modest", [node.uuids[1]], 100, cores=0, memory="300Mi", memory_max="400Mi"), "ADDED")
    tap.check("… and one whose wish fits, what it wishes",
              differs(eventually(lambda: runtime.memory("uid-modest") == 300, 2), True))
    for gone in ("greedy", "modest"):
        api.put(pod(gone, [node.uuids[1]], 100), "DELETED")
    subprocess.run([f"{node.bin_dir}/vgpu", "set", "crowd-2.main", "--memory", "70Mi"], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, "VGPU_NODE_SOCKET": f"{node.folder}/run/node.sock"})
    later = pod("crowd-2", [node.uuids[2]], 102)
    later["status"]["message"] = "the pod's heart beats"
    api.put(later)
    time.sleep(0.5)
    tap.check("a change by vgpu set is not undone by the pod's next update", differs(
        runtime.memory("uid-crowd-2"), 70))


def growth(tap, node, api, runtime):
    def decided(name):
        text = api.pods[name]["metadata"]["annotations"]["vgpu.io/allocation"]
        return json.loads(text)["containers"]["main"][0]["memory"]

    api.put(pod("grown", [node.uuids[6]], 1000, cores=0, memory="30000Mi", memory_max="40000Mi"), "ADDED")
    eventually(lambda: runtime.memory("uid-grown") == 30000, 5)
    tap.check("what a share grew by is written into its pod's decision", differs(
        eventually(lambda: decided("grown") == 30000, 5), True))
    api.put(pod("placed", [node.uuids[6]], 20000, cores=0), "ADDED")
    tap.check("a pod that was placed before the scheduler heard of it has its share all the same", differs(
        eventually(lambda: runtime.memory("uid-placed") == 20000, 5), True))
    here = [name for name, known in api.pods.items()
            if node.uuids[6] in known["metadata"]["annotations"]["vgpu.io/allocation"]]
    tap.check("… and the growth is revoked: no more than the GPU is handed out, and no less", differs(
        sum(runtime.memory(f"uid-{name}") or 0 for name in here), GPU_MIB))
    tap.check("the decision follows, for the scheduler", differs(
        eventually(lambda: decided("grown") == runtime.memory("uid-grown"), 5), True))
    tap.check("the pod gets an event", differs(
        eventually(lambda: any(event["reason"] == "GrowthRevoked" and
                               event["involvedObject"]["name"] == "grown" for event in api.events), 5), True))
    api.put(pod("beyond", [node.uuids[6]], 39000, cores=0), "ADDED")
    tap.check("for what no growth can give, a new share is refused with a sentence", differs(
        eventually(lambda: "cannot fit" in str(runtime.ask("uid-beyond")[1:]), 5), True))
    tap.check("… all growth being gone", differs(runtime.memory("uid-grown"), 1000))
    raise_to(node, "grown.main", "1100Mi")
    tap.check("… and nobody grows into what waits for it", differs(runtime.memory("uid-grown"), 1000))
    for gone, mib in (("beyond", 39000), ("placed", 20000)):
        api.put(pod(gone, [node.uuids[6]], mib), "DELETED")
    tap.check("when they have left, the share can grow again", differs(eventually(
        lambda: raise_to(node, "grown.main", "1100Mi") or runtime.memory("uid-grown") == 1100, 10), True))
    api.put(pod("grown", [node.uuids[6]], 1000), "DELETED")


def kills(tap, node, api, runtime):
    paths = [node.share_path(f"uid-crowd-{number}", "main") for number in range(CROWD)]
    before = [(path.stat().st_ino, path.read_bytes()) for path in paths]
    api.is_deaf = True
    node.process.kill()
    node.process.wait()
    node.start()
    tap.check("killed and started without an API server, it gives the shares that there were",
              differs(eventually(lambda: runtime.memory("uid-crowd-7") == 107, 10), True))
    tap.check("… and does not know of others", differs(runtime.ask("uid-nobody")[0], "UNAVAILABLE"))
    api.is_deaf = False
    for attempt in range(10):
        node.process.kill()
        node.process.wait()
        api.watch = None
        node.start()
        time.sleep(0.02 * attempt)
    tap.check("killed ten times over at any moment, it is there again",
              differs(eventually(lambda: runtime.memory("uid-crowd-7") == 107, 20), True))
    eventually(lambda: api.watch, 20)
    tap.check("no share was changed or replaced", differs(
        [(path.stat().st_ino, path.read_bytes()) for path in paths] == before, True))


def ends(tap, node, api, runtime):
    api.put(pod("crowd-4", [node.uuids[4]], 104), "DELETED")
    tap.check("a pod that is gone takes its share along", differs(
        eventually(lambda: not node.share_path("uid-crowd-4", "main").exists(), 10), True))
    over = pod("crowd-5", [node.uuids[5]], 105)
    over["status"]["phase"] = "Succeeded"
    api.put(over)
    tap.check("so does one that has ended", differs(
        eventually(lambda: not node.share_path("uid-crowd-5", "main").exists(), 10), True))
    node.process.terminate()
    tap.check("it ends in order", differs(node.process.wait(20), 0))
    tap.check("and leaves the shares of those that run", differs(
        node.share_path("uid-crowd-6", "main").exists(), True))


def main(bin_dir, lib_dir, descriptors, how):
    tap = Tap()
    api = Api()
    with tempfile.TemporaryDirectory() as name:
        node = Node(bin_dir, lib_dir, pathlib.Path(name), api.fake)
        atexit.register(lambda: node.process.kill())
        runtime = Runtime(Messages(descriptors), node)
        for number in range(CROWD):
            made = pod(f"crowd-{number}", [node.uuids[number % 8]], 100 + number)
            api.pods[made["metadata"]["name"]] = made
        for made in (pod("copied", [node.uuids[0]], decision={"pod": "uid-crowd-0"}),
                     pod("elsewhere", [node.uuids[0]], decision={"node": "n2"}),
                     pod("slip", [node.uuids[0]], env=(("CUDA_MEM_OVERSOLD", "ture"),))):
            api.pods[made["metadata"]["name"]] = made
        eventually(lambda: runtime.memory(f"uid-crowd-{CROWD - 1}"), 30)

        def said(answer):
            if isinstance(answer, tuple):
                return answer
            device = answer.share.gpus[0]
            return answer.share.container.pod_uid, device.uuid, device.limit_bytes // MIB
        crowd(tap, node, runtime, said)
        refusals(tap, runtime)
        eventually(lambda: api.watch, 10)
        resizes(tap, node, api, runtime)
        growth(tap, node, api, runtime)
        time.sleep(4)
        rss = node.rss_kb()
        print(f"# VmRSS {rss} kB with 8 GPUs and {CROWD} containers")
        if how == "measured":
            tap.check("it is small", [] if rss < 8192 else [f"{rss} kB"])
        kills(tap, node, api, runtime)
        ends(tap, node, api, runtime)
    tap.done()


main(*sys.argv[1:])
