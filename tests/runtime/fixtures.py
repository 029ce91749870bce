# SPDX-License-Identifier: Apache-2.0
"""fixtures: containers that runc starts behind vgpu-runtime, and a vgpu-node of grpcio's in front of it."""

import concurrent.futures
import functools
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import grpc

from cli_case import VGPU
from peer import Messages

RUNTIME = os.environ["RUNTIME"]
PROBE, SHARE_TOOL = os.environ["PROBE"], os.environ["SHARE_TOOL"]
BUILD = os.path.dirname(os.path.dirname(VGPU))
LIBRARY = os.path.join(BUILD, "lib", "libvgpu.so")
DRIVER = os.path.join(BUILD, "lib", "sim")
MESSAGES = Messages(os.environ["DESCRIPTORS"])
GPUS = 4
OUT_OF_MEMORY = "2"
# Docker's own set: a tenant who is root inside has these.
CAPABILITIES = [f"CAP_{name}" for name in (
    "CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE NET_RAW SYS_CHROOT "
    "MKNOD AUDIT_WRITE SETFCAP").split()]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def rootfs_make(root):
    """A small image: busybox, a GPU program, and the C library that it needs."""
    for folder in ("bin", "etc", "proc", "dev", "sys", "tmp"):
        os.makedirs(os.path.join(root, folder))
    os.chmod(os.path.join(root, "tmp"), 0o1777)
    shutil.copy(shutil.which("busybox"), os.path.join(root, "bin", "busybox"))
    for applet in ("sh", "cat", "ls", "mv", "rm", "mkdir", "mount", "umount", "id", "printf", "env", "dd", "test"):
        os.symlink("busybox", os.path.join(root, "bin", applet))
    image_add(root, PROBE)
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        libraries_add(root, os.path.join(DRIVER, name))
    libraries_add(root, LIBRARY)


def image_add(root, program):
    """Puts a program and all that it loads into the image."""
    shutil.copy(program, os.path.join(root, "bin"))
    libraries_add(root, program)


def libraries_add(root, program):
    for path in output("ldd", program).split():
        if path.startswith("/") and not path.startswith(BUILD) and not os.path.exists(root + path):
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            shutil.copy(path, root + path)


class Agent(grpc.GenericRpcHandler):
    """Answers Allocations/Get out of a table: (pod uid, container) → answer, or (code, text)."""

    def __init__(self, path):
        self.path, self.table, self.asked, self.server = path, {}, [], None

    def get(self, request, context):
        key = (request.container.pod_uid, request.container.container)
        self.asked.append(request.container)
        answer = self.table.get(key, (grpc.StatusCode.NOT_FOUND, "it has no share"))
        if isinstance(answer, tuple):
            context.abort(*answer)
        return answer

    def service(self, details):
        if details.method != "/vgpu.v1.Allocations/Get":
            return None
        return grpc.unary_unary_rpc_method_handler(
            self.get, MESSAGES.vgpu__v1__GetAllocationRequest.FromString,
            lambda a: a if isinstance(a, bytes) else a.SerializeToString())

    def start(self):
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        self.server.add_generic_rpc_handlers([self])
        self.server.add_insecure_port(f"unix:{self.path}")
        self.server.start()

    def stop(self):
        if self.server:
            self.server.stop(0).wait()
        self.server = None
        if os.path.exists(self.path):
            os.unlink(self.path)


class Fixtures:
    """A node: a simulated machine, an agent, runc, and what is between."""

    def __init__(self, *options):
        self.folder = tempfile.mkdtemp(prefix="vgpu-runtime-")
        self.image, self.state, self.root = (os.path.join(self.folder, n) for n in ("image", "state", "root"))
        self.machine = os.path.join(self.folder, "machine")
        self.log = os.path.join(self.folder, "log")
        self.numbers = itertools.count()
        os.mkdir(self.image)
        rootfs_make(self.image)
        output(VGPU, "sim", "create", "--machine", self.machine, "--preset", "t4-16gb", "--gpus", str(GPUS),
               "--context-memory", "0")
        os.chmod(self.machine, 0o666)
        self.uuids = [gpu["uuid"] for gpu in self.stat()["gpus"]]
        self.agent = Agent(os.path.join(self.folder, "node.sock"))
        self.conf = os.path.join(self.folder, "runtime.conf")
        self.configure(*options)

    def configure(self, *options):
        lines = [f"--socket={self.agent.path}", f"--state={self.state}", f"--library={LIBRARY}", *options]
        pathlib.Path(self.conf).write_text("# a test\n\n" + "\n".join(lines) + "\n", encoding="utf-8")

    def stat(self):
        return json.loads(output(VGPU, "sim", "stat", "--machine", self.machine, "--json"))

    def close(self):
        self.agent.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def share(self, uid, container, mib, gpu=0):
        """Makes it as vgpu-node would, and the answer that gives it."""
        folder = os.path.join(self.folder, f"share-{uid}-{container}")
        os.mkdir(folder)
        share, region = os.path.join(folder, "share"), os.path.join(folder, "region")
        output(SHARE_TOOL, share, self.machine, str(mib), "/etc/vgpu/region", uid, container, str(gpu))
        pathlib.Path(region).touch()
        os.chmod(region, 0o666)
        answer = MESSAGES.vgpu__v1__GetAllocationResponse()
        answer.share.gpus.add(uuid=self.uuids[gpu])
        for host, path, is_readonly in ((share, "/etc/vgpu/share", True), (region, "/etc/vgpu/region", False),
                                        (self.machine, "/dev/gpu", False), (DRIVER, "/opt/driver", True)):
            answer.mounts.add(host_path=host, container_path=path, read_only=is_readonly)
        for name, value in (("VGPU_SIM", "/dev/gpu"), ("LD_LIBRARY_PATH", "/opt/driver"),
                            ("CUDA_VISIBLE_DEVICES", self.uuids[gpu])):
            answer.variables.add(name=name, value=value)
        self.agent.table[uid, container] = answer
        return answer

    def bundle(self, script, annotations=None, env=(), change=None):
        """A folder with an image of its own and a config.json; (id, folder)."""
        number = next(self.numbers)
        bundle = os.path.join(self.folder, f"bundle-{number}")
        os.mkdir(bundle)
        subprocess.run(["cp", "-a", "--reflink=auto", self.image, os.path.join(bundle, "rootfs")], check=True)
        subprocess.run(["runc", "spec"], cwd=bundle, check=True)
        path = os.path.join(bundle, "config.json")
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        process = config["process"]
        process.update(terminal=False, args=["/bin/sh", "-c", script])
        process["env"] = ["PATH=/bin", *env]
        process["capabilities"] = {kind: CAPABILITIES for kind in ("bounding", "effective", "permitted")}
        process["noNewPrivileges"] = False
        config["root"]["readonly"] = False
        config["annotations"] = annotations or {}
        # No network of its own, no limits: not what is tested, and quicker.
        config["linux"]["namespaces"] = [n for n in config["linux"]["namespaces"] if n["type"] != "network"]
        if change:
            change(config, bundle)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        return f"c{os.getpid()}-{number}", bundle

    def environment(self):
        return {"PATH": os.environ["PATH"] + ":/usr/sbin", "VGPU_RUNTIME_CONF": self.conf,
                **{name: value for name, value in os.environ.items() if name == "VGPU_RUNTIME_CDI"}}

    def call(self, *words, timeout=60, **more):
        return subprocess.run([RUNTIME, "--root", self.root, "--log", self.log, "--log-format", "json", *words],
                              env=self.environment(), capture_output=True, text=True, timeout=timeout, check=False,
                              stdin=subprocess.DEVNULL, **more)

    def call_quiet(self, null, *words):
        """The same for a command whose child keeps what it inherits."""
        return subprocess.call([RUNTIME, "--root", self.root, *words], env=self.environment(), stdout=null, stderr=null,
                               stdin=subprocess.DEVNULL, timeout=60)

    def run(self, script, **about):
        name, bundle = self.bundle(script, **about)
        done = self.call("run", "--bundle", bundle, name)
        done.config = json.loads(pathlib.Path(bundle, "config.json").read_text(encoding="utf-8"))
        return done


def privileged(config, _):
    """As engines write it; its own root keeps the devices that it has."""
    config["linux"]["resources"]["devices"].append({"allow": True, "access": "rwm"})


def pod(uid, container="main", **more):
    """The annotations of containerd's CRI."""
    prefix = "io.kubernetes.cri."
    return {prefix + "container-type": "container", prefix + "sandbox-uid": uid,
            prefix + "sandbox-namespace": "default", prefix + "sandbox-name": f"pod-{uid}",
            prefix + "container-name": container, **more}


def ask(*words):
    """A shell line: the probe, told so."""
    return "printf '%s\\n' " + " ".join(f"'{word}'" for word in words) + " | probe"


@functools.cache
def obstacle():
    """Why no container can be started here; None: one was."""
    if os.geteuid() != 0:
        return "containers are made by root"
    if not shutil.which("runc", path=os.environ["PATH"] + ":/usr/sbin"):
        return "there is no runc"
    fixtures = Fixtures()
    try:
        name, bundle = fixtures.bundle("true")
        tried = subprocess.run(["runc", "--root", fixtures.root, "run", "--bundle", bundle, name], env=fixtures.environment(),
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return f"runc cannot start a container: {tried.stderr.strip()}" if tried.returncode else None
    finally:
        fixtures.close()


class FixturesCase(unittest.TestCase):
    options = ()
    starts_containers = True

    @classmethod
    def setUpClass(cls):
        cls.fixtures = Fixtures(*cls.options)
        cls.addClassCleanup(cls.fixtures.close)

    def setUp(self):
        if self.starts_containers and obstacle():
            self.skipTest(obstacle())
        if os.path.exists(self.fixtures.log):
            os.unlink(self.fixtures.log)

    def logged(self):
        with open(self.fixtures.log, encoding="utf-8") as file:
            return [json.loads(line) for line in file]
