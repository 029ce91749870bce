# SPDX-License-Identifier: Apache-2.0
"""node_scene: vgpu-node between an API server, kubelet, vgpu-runtime and its processes; and without Kubernetes."""

import json
import pathlib
import shutil
import struct
import subprocess
import sys
import time

import grpc

sys.path[:0] = [str(pathlib.Path(__file__).parent.parent / name) for name in ("net", "node")]
from attack import registry_ask  # noqa: E402
from fake_cluster import FakeCluster, gpu_pod  # noqa: E402
from fake_kubelet import FakeKubelet  # noqa: E402
from peer import Messages, eventually  # noqa: E402
from prometheus import Page  # noqa: E402

from scene import Refused, Scene, UnixHttp, ask_http  # noqa: E402

MIB = 1 << 20
RESOURCE = "nvidia.com/vgpu"


class Cluster(FakeCluster):
    """Which also gives single pods, and keeps what is written into them."""

    def answer(self, request):
        parts = request.path.split("/")
        if "namespaces" not in parts:
            super().answer(request)
            return
        found = [pod for pod in self.pods if pod["metadata"]["name"] == parts[-1]]
        if request.method == "GET" and found:
            request.reply(200, found[0])
        elif request.method == "PUT" and found:
            found[0].update(json.loads(request.body))
            request.reply(200, found[0])
        else:
            request.reply(201, {})


class NodeSockets(Scene):
    """What any vgpu-node is asked by its sockets."""

    object = "vgpu-node"

    def __init__(self, folder, build, descriptors):
        super().__init__(folder)
        self.build, self.messages = pathlib.Path(build), Messages(descriptors)
        self.is_smaller = False
        self.faulty = {}        # name → what is wrong with the region, as it was listed last
        self.machine, self.state, self.run = (self.folder / name for name in ("machine", "state", "run"))
        subprocess.run([self.build / "bin/vgpu", "sim", "create", "--machine", self.machine, "--preset", "a100-40gb",
                        "--gpus", "2"], check=True, stdout=subprocess.DEVNULL)
        shown = subprocess.run([self.build / "bin/vgpu", "sim", "stat", "--machine", self.machine, "--json"],
                               check=True, stdout=subprocess.PIPE).stdout
        self.uuids = [gpu["uuid"] for gpu in json.loads(shown)["gpus"]]

    def environment(self):
        return {"VGPU_SIM": str(self.machine), "LD_LIBRARY_PATH": str(self.build / "lib/sim"),
                "VGPU_RUN_FOLDERS": str(self.folder / "users")}

    def options(self):
        return [self.build / "bin/vgpu-node", f"--state-dir={self.state}", f"--run-dir={self.run}",
                f"--metrics-listen=unix:{self.folder}/metrics.sock"]

    def doors(self):
        return [f"{self.run}/node.sock", f"{self.run}/registry/socket", f"{self.folder}/metrics.sock"]

    def call(self, method, request, answer):
        with grpc.insecure_channel(f"unix://{self.run}/node.sock") as channel:
            call = channel.unary_unary(f"/vgpu.v1.{method}", request_serializer=lambda m: m.SerializeToString(),
                                       response_deserializer=answer.FromString)
            try:
                return call(request, timeout=3)
            except grpc.RpcError as error:
                raise Refused(f"{error.code().name}: {error.details()}") from error

    def page(self, path):
        status, text = ask_http(UnixHttp(f"{self.folder}/metrics.sock"), "GET", path)
        if status != 200:
            raise Refused(f"{status}: {text!r}")
        return text

    def is_ready(self):
        try:
            return self.page("/readyz") is not None
        except Refused:
            return False

    def listed(self, as_it_is=False):
        shares = self.call("Shares/List", self.messages.vgpu__v1__ListSharesRequest(),
                           self.messages.vgpu__v1__ListSharesResponse).shares
        self.faulty = {share.name: share.fault for share in shares if share.fault}
        return sorted((share.name, self.limits_of(share, as_it_is)) for share in shares)

    def as_before(self, name, size):
        """A size of the share that `vgpu set` made smaller and could not make larger again."""
        is_smaller = self.is_smaller and name in ("a", "a.main") and size in (900, 900 * MIB)
        return size * 10 / 9 if is_smaller else size

    def limits_of(self, share, as_it_is=False):
        sizes = [gpu.limit_bytes // MIB for gpu in share.gpus]
        return [(gpu.uuid, size if as_it_is else self.as_before(share.name, size), gpu.cores_percent)
                for gpu, size in zip(share.gpus, sizes)]

    def metrics(self):
        """The limits on the page; a page that lacks some is wrong, and none at all a refusal."""
        page = Page(self.page("/metrics"))
        if page.wrong:
            return page.wrong
        return sorted((labels.get("pod"), labels.get("container"), self.as_before(labels.get("pod"), value)) for _, labels, value in
                      page.named("vgpu_container_memory_limit_bytes"))

    def registry(self):
        """What a process of no container is told: a refusal, by its number."""
        answer = registry_ask(str(self.run / "registry" / "socket"))
        if len(answer) != 24:
            raise Refused("the registry does not answer")
        return struct.unpack_from("<QIi", answer)[2] < 0

    def files(self):
        """The files of shares, by inode: containers have them mounted."""
        return {str(path): path.stat().st_ino for path in sorted(self.state.glob("shares/*/*/*"))
                if path.name in ("share", "region", "grant", "want")}


class ClusterNode(NodeSockets):
    """With Kubernetes: three containers that stay, and a pod that comes and goes."""

    def __init__(self, folder, build, descriptors):
        super().__init__(folder, build, descriptors)
        self.staying = [gpu_pod("a", [("main", self.uuids[0], 1000, 20)]),
                        gpu_pod("b", [("main", self.uuids[1], 2000, 0), ("side", self.uuids[1], 500, 10)])]
        self.cluster = Cluster(self.staying)
        self.cluster.write_config(self.folder / "config")
        (self.folder / "plugins").mkdir()
        self.kubelet = FakeKubelet(self.messages, self.folder / "plugins")
        self.kubelet.start()
        self.kept = {}
        self.slow = {"a pod that comes", "its files, when it is gone"}

    def command(self):
        return [*self.options(), "--node-name=n1", f"--kubeconfig={self.folder}/config",
                f"--device-plugin-path={self.folder}/plugins", f"--sim-driver={self.build}/lib/sim"]

    def is_up(self):
        return self.is_ready()

    def share(self, pod, container):
        request = self.messages.vgpu__v1__GetAllocationRequest()
        request.container.pod_uid, request.container.container = pod["metadata"]["uid"], container
        answer = self.call("Allocations/Get", request, self.messages.vgpu__v1__GetAllocationResponse)
        return (self.limits_of(answer.share),
                [(mount.host_path, mount.container_path, mount.read_only) for mount in answer.mounts],
                {variable.name: variable.value for variable in answer.variables})

    def late(self):
        """The share of a pod that comes; then it goes."""
        pod = gpu_pod("late", [("main", self.uuids[0], 300, 5)])
        self.cluster.tell("ADDED", pod)
        answer = Refused("it never came")
        try:
            for _ in range(20):
                try:
                    return self.share(pod, "main")[0]
                except Refused as refusal:
                    answer = refusal
                    time.sleep(0.05)
            raise answer
        finally:
            self.cluster.tell("DELETED", pod)

    def gone(self):
        """… with its files."""
        uid = gpu_pod("late", [])["metadata"]["uid"]
        if not eventually(lambda: not list(self.state.glob(f"shares/{uid}/*/share")), 3):
            raise Refused("its files stay")
        return True

    def resized(self):
        """What a.main has after it was told to have less, and then as before."""
        seen = []
        self.is_smaller = True      # from here on, whatever is answered
        for mib in (900, 1000):
            done = subprocess.run([self.build / "bin/vgpu", "set", "a.main", "--memory", f"{mib}Mi"], check=False,
                                  capture_output=True, text=True, timeout=20,
                                  env={"VGPU_NODE_SOCKET": f"{self.run}/node.sock"})
            if done.returncode:
                raise Refused(done.stderr)
            seen.append(self.listed_limits("a.main"))
        self.is_smaller = False
        return seen

    def listed_limits(self, name):
        return [limits for other, limits in self.listed(True) if other == name]

    def allocated(self):
        """By kubelet's door."""
        endpoint = self.kubelet.endpoints.get(RESOURCE)
        if not endpoint or not endpoint.lists:
            raise Refused("it is not registered")
        health = endpoint.lists[-1]
        try:
            answer = endpoint.allocate([next(iter(health))])
        except (grpc.RpcError, ValueError) as error:
            raise Refused(str(error)) from error
        return sorted(health.values()), len(answer.container_responses)

    def asks(self):
        return {"vgpu set": self.resized,
                "the share of a": lambda: self.share(self.staying[0], "main"),
                "the share of b": lambda: self.share(self.staying[1], "main"),
                "the share of b's second": lambda: self.share(self.staying[1], "side"),
                "a pod that comes": self.late, "its files, when it is gone": self.gone,
                "the list of shares": self.listed, "the metrics": self.metrics,
                "kubelet": self.allocated, "the registry": self.registry}

    def begin(self, faults=None):
        self.kept = {path: inode for path, inode in self.files().items() if self.is_staying(path)}
        super().begin(faults)

    def name_of(self, folder):
        """What the share of that folder is called."""
        return next((f"{pod['metadata']['name']}.{folder.name}" for pod in self.staying
                     if pod["metadata"]["uid"] == folder.parent.name), None)

    def is_staying(self, path):
        return any(f"/{pod['metadata']['uid']}/" in path for pod in self.staying)

    def lost(self):
        now = self.files()
        return [f"'{path}' was made anew" for path, inode in self.kept.items() if now.get(path) != inode]

    def anew(self):
        shutil.rmtree(self.state, ignore_errors=True)


class StandaloneNode(NodeSockets):
    """Without Kubernetes: a container that vgpu-runtime has made a share for."""

    def __init__(self, folder, build, descriptors, golden):
        super().__init__(folder, build, descriptors)
        self.runtime = self.folder / "runtime"
        conf, bundle = self.folder / "runtime.conf", self.folder / "bundle"
        conf.write_text(f"--socket={self.run}/node.sock\n--state={self.runtime}\n--sim={self.machine}\n"
                        f"--library={self.build}/lib/libvgpu.so\n--sim-driver={self.build}/lib/sim\n", encoding="utf-8")
        (bundle / "rootfs" / "etc").mkdir(parents=True)
        shutil.copy(golden / "docker.in.json", bundle / "config.json")
        subprocess.run([self.build / "bin/vgpu-runtime", "--root", "/r", "create", "--bundle", bundle, "id"], check=True,
                       env={"VGPU_RUNTIME_CONF": str(conf), "VGPU_RUNTIME_REAL": "/bin/true"})
        (self.folder / "users").mkdir()

    def command(self):
        return [*self.options(), "--standalone", f"--runtime-state={self.runtime}"]

    def is_up(self):
        try:
            return len(self.listed()) == 1
        except Refused:
            return False

    def asks(self):
        return {"the list of shares": self.listed, "the metrics": self.metrics, "the registry": self.registry}
