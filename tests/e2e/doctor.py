# SPDX-License-Identifier: Apache-2.0
"""doctor: what this machine has of what a cluster needs, found by trying."""

import importlib.util
import os
import shutil
import subprocess
import tempfile

from paths import CACHE, KUBERNETES, STATE, Trouble

TOOLS = ("unshare", "nsenter", "setpriv", "mount", "ip", "hostname", "gcc", "dpkg", "apt-get", "ldconfig")
MODULES = ("yaml", "cryptography", "grpc", "google.protobuf")
CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
CAPABILITY_RESOURCE = 24
SPACE_BYTES = 8 << 30           # what a first build takes, at its highest


def tried(script):
    """Runs a shell script in namespaces of its own; nothing of it stays."""
    with tempfile.TemporaryDirectory(dir=nearest(STATE)) as folder:
        done = subprocess.run(["unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork",
                               "--kill-child", "sh", "-ec", script], cwd=folder, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout.strip()


def nearest(path):
    """The folder itself, or the first one above it that exists."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def root():
    is_root = os.geteuid() == 0
    return is_root, "" if is_root else "namespaces, mounts and control groups need root: sudo -E make e2e"


def tools():
    missing = [name for name in TOOLS if not shutil.which(name)]
    return not missing, f"missing commands: {', '.join(missing)}" if missing else "all there"


def modules():
    missing = []
    for name in MODULES:
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if not found:
            missing.append(name)
    return not missing, f"missing in /usr/bin/python3: {', '.join(missing)}" if missing else "all there"


def namespaces():
    return tried("true")


def overlay():
    return tried("mount -t tmpfs tmpfs . && cd $PWD && mkdir l u w m && "
                 "mount -t overlay o -o lowerdir=l,upperdir=u,workdir=w m")


def network():
    return tried("ip link add name left type veth peer name right && ip link add name both type bridge")


def cgroups():
    with open("/proc/cgroups", encoding="ascii") as file:
        has = {line.split()[0] for line in file if line.rstrip().endswith("1")}
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        with open("/sys/fs/cgroup/cgroup.controllers", encoding="ascii") as file:
            has, version = set(file.read().split()), "version 2"
    else:
        has = {name for name in has if os.path.isdir(f"/sys/fs/cgroup/{name}")}
        version = "version 1"
    missing = [name for name in CONTROLLERS if name not in has]
    return not missing, version + (f", without {', '.join(missing)}" if missing else "")


def space():
    free = shutil.disk_usage(nearest(CACHE)).free
    is_cached = os.path.isdir(KUBERNETES)
    return is_cached or free >= SPACE_BYTES, f"{free >> 30} GiB free for {CACHE}"


def go():
    path = shutil.which("go")
    return True, path or "none; Debian's will be unpacked into the cache"


def capability():
    with open("/proc/self/status", encoding="ascii") as file:
        bits = next(int(line.split()[1], 16) for line in file if line.startswith("CapEff"))
    has = bits >> CAPABILITY_RESOURCE & 1
    return True, "CAP_SYS_RESOURCE" if has else "no CAP_SYS_RESOURCE: scores of the OOM killer are not lowered"


CHECKS = {"root": root, "commands": tools, "Python modules": modules, "namespaces": namespaces,
          "overlay mounts": overlay, "virtual network": network, "control groups": cgroups,
          "disk": space, "Go compiler": go, "capabilities": capability}


def findings():
    for name, check in CHECKS.items():
        try:
            is_good, text = check()
        except OSError as error:
            is_good, text = False, str(error)
        yield name, is_good, text


def require():
    """All of it, or an end that says exactly what is missing."""
    missing = [f"  {name}: {text}" for name, is_good, text in findings() if not is_good]
    if missing:
        raise Trouble("this machine cannot run the cluster:\n" + "\n".join(missing))


def main():
    is_good_enough = True
    for name, is_good, text in findings():
        is_good_enough &= is_good
        print(f"{'ok' if is_good else 'MISSING':9}{name:17}{text}")
    return 0 if is_good_enough else 1
