# SPDX-License-Identifier: Apache-2.0
"""paths: where the test cluster keeps what it downloads, builds, runs and writes."""

import fcntl
import hashlib
import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.path.join(TOP, os.environ.get("BUILD", "build")))
PYTHON = "/usr/bin/python3"     # Debian's: the packages of tools/setup are for this one


sys.path.insert(0, os.path.join(TOP, "tools"))
from cache import cache_path    # noqa: E402  of tools/

CACHE = cache_path("e2e")
# Of the real clients (tests/clients/fetch), the one that is looked through in a pod.
SMI = cache_path("clients", "debian", "usr", "lib", "nvidia", "current", "nvidia-smi")
# containerd and etcd of bookworm are too old; runc of trixie wants a newer C library.
PACKAGES = (
    ("bookworm", "runc"),
    ("bookworm", "busybox-static"),
    ("bookworm", "containernetworking-plugins"),
    ("trixie", "containerd"),
    ("trixie", "etcd-server"),
)


def cached(name, contents):
    """A folder of the cache that is named after what it is made from: once there, it never changes, so
    that clusters of different trees share it, or have different ones."""
    return os.path.join(CACHE, f"{name}-{hashlib.sha256(contents).hexdigest()[:12]}")


def module_folder(name):
    contents = b""
    for part in ("go.mod", "go.sum"):
        with open(os.path.join(HERE, name, part), "rb") as file:
            contents += file.read()
    return cached(name, contents)


DEBIAN = cached("debian", repr(PACKAGES).encode())
KUBERNETES = module_folder("kubernetes")
VOLCANO = module_folder("volcano")
HELM = module_folder("helm")

STATE = os.path.abspath(os.environ.get("VGPU_E2E_STATE") or os.path.join(BUILD, "e2e"))


# Clusters run side by side, of two trees or of one; what has a name outside the state folder carries this one.
def id_of(state):
    return "vgpu-e2e-" + hashlib.sha256(state.encode()).hexdigest()[:8]


ID = id_of(STATE)
LOGS = os.path.join(STATE, "logs")
DATA = os.path.join(STATE, "data")      # in memory, seen from inside only
PKI = os.path.join(STATE, "pki")
RUN = os.path.join(STATE, "run")
FAILED = os.path.join(STATE, "failed")  # the logs of a run that did not end well
# The tests run the cases of each profile on a cluster, or beside any, with a state folder of its own.
PROFILE_STATES = {name: os.path.join(STATE, name) for name in ("full", "light", "outside")}

NODE = "node-1"
NODE_IP = "10.95.0.1"
SERVICE_IP = "10.96.0.1"                # the first of the service range: the API server's own
SERVER = "https://127.0.0.1"

PATH = ":".join([KUBERNETES, VOLCANO, HELM, f"{DEBIAN}/usr/sbin", f"{DEBIAN}/usr/bin", f"{DEBIAN}/bin",
                 "/usr/sbin:/usr/bin:/sbin:/bin"])


def tool(name):
    """A program of tools/, as a module."""
    path = os.path.join(TOP, "tools", name)
    found = importlib.util.spec_from_loader(name, importlib.machinery.SourceFileLoader(name, path))
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


class Trouble(Exception):
    """Something that a person must read about; its text is the whole message."""


def say(text):
    """Prints lines that stay together, though others print too."""
    folder = os.open(HERE, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        print(text, flush=True)
    finally:
        os.close(folder)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
