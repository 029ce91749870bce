# SPDX-License-Identifier: Apache-2.0
"""sandbox: namespaces of its own for a cluster: processes, mounts, network, host name.

All that the cluster starts, mounts and listens on is inside. When the sandbox's first process ends,
however it ends, the kernel ends all the others, and mounts, sockets and interfaces go with them. There
is no way in or out of its network, so that its loopback is private and no port of the machine is taken.
Only control groups have a life of their own: they are one subtree, removed at the end.
"""

import contextlib
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

from paths import DATA, ID, LOGS, NODE, NODE_IP, PATH, PYTHON, RUN, SERVICE_IP, STATE, Trouble, id_of

INSIDE = "VGPU_E2E_INSIDE"
# kubelet would set these on the machine; inside it finds them as it wants them.
TUNABLES = {"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10",
            "kernel/panic_on_oops": "1", "kernel/keys/root_maxkeys": "1000000",
            "kernel/keys/root_maxbytes": "25000000"}


def is_inside():
    return os.environ.get(INSIDE) == STATE


def run(*words):
    subprocess.run(words, check=True)


def mount(*words):
    run("mount", *words)


def overlay(path):
    """Lets everything below a folder be written without the machine's own folder changing."""
    work = os.path.join(DATA, "overlay", path.strip("/").replace("/", "-"))
    for name in ("upper", "work"):
        os.makedirs(os.path.join(work, name))
    mount("-t", "overlay", "overlay", "-o", f"lowerdir={path},upperdir={work}/upper,workdir={work}/work", path)


def furnish():
    """The sandbox's mounts and network, made by its first process."""
    os.makedirs(DATA, exist_ok=True)
    for path in (DATA, "/run", "/dev/shm"):
        mount("-t", "tmpfs", "tmpfs", path)
    os.chmod("/dev/shm", 0o1777)
    for path in ("/etc", "/opt", "/var/lib", "/var/log"):
        overlay(path)
    for name in ("kubelet", "containerd"):
        source, target = os.path.join(DATA, name), os.path.join("/var/lib", name)
        os.makedirs(source)
        os.makedirs(target, exist_ok=True)
        mount("--bind", source, target)
    for name, value in TUNABLES.items():
        own = os.path.join(DATA, "tunables", name)
        os.makedirs(os.path.dirname(own), exist_ok=True)
        with open(own, "w", encoding="ascii") as file:
            file.write(value + "\n")
        mount("--bind", own, os.path.join("/proc/sys", name))
    mount("--make-rshared", "/")
    run("hostname", NODE)
    with open("/etc/hosts", "w", encoding="ascii") as hosts:
        hosts.write(f"127.0.0.1 localhost {NODE}\n")
    run("ip", "link", "set", "lo", "up")
    for address in (NODE_IP, SERVICE_IP):
        run("ip", "address", "add", f"{address}/32", "dev", "lo")


def first_process():
    """Process 1 of the sandbox: furnishes it, then buries the orphans until it is told to go."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD, signal.SIGTERM))
    furnish()
    print("ready", flush=True)
    sys.stdout = None
    os.close(1)
    while signal.sigwait((signal.SIGCHLD, signal.SIGTERM)) == signal.SIGCHLD:
        try:
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        except ChildProcessError:
            pass


def environment():
    kept = {name: value for name, value in os.environ.items()
            if name in ("HOME", "TERM", "BUILD", "XDG_CACHE_HOME") or name.startswith("VGPU_")}
    return {**kept, INSIDE: STATE, "VGPU_E2E_STATE": STATE, "PATH": PATH, "LANG": "C.UTF-8",
            "KUBECONFIG": os.path.join(STATE, "admin.kubeconfig")}


def open_sandbox(stays):
    """Starts a sandbox. One that does not stay dies with the process that called."""
    for folder in (LOGS, RUN):
        os.makedirs(folder, exist_ok=True)
    cgroups_make()
    leash = [] if stays else ["setpriv", "--pdeathsig", "KILL"]
    with open(os.path.join(LOGS, "sandbox.log"), "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [*leash, "unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child",
             "--mount-proc", PYTHON, "-B", __file__],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
            env=environment())
    if process.stdout.readline().strip() != b"ready":
        process.wait()
        with open(log.name, encoding="utf-8") as file:
            raise Trouble(f"no sandbox: {file.read().strip()}")


def members(state=STATE):
    """The processes that a cluster started, containers apart; no file has to be right for it."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        try:
            with open(f"{path}/environ", "rb") as file:
                if f"{INSIDE}={state}".encode() in file.read().split(b"\0"):
                    found.append(int(path[6:]))
        except OSError:
            pass                # gone meanwhile
    return found


def first_pid(state=STATE):
    """The sandbox's first process, by its number out here; None if there is no sandbox."""
    for pid in members(state):
        try:
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                numbers = next(line.split()[1:] for line in file if line.startswith("NSpid:"))
        except OSError:
            continue
        if numbers[1:] == ["1"]:
            return pid
    return None


def enter(*words):
    """The command that runs words inside."""
    pid = first_pid()
    if not pid:
        raise Trouble("no cluster is up; start one with: make cluster-up")
    return ["nsenter", "--target", str(pid), "--mount", "--net", "--pid", "--ipc", "--uts", *words]


def close_sandbox(state=STATE, seconds=30):
    """Ends everything that is inside and waits until it has gone."""
    pid = first_pid(state)
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + seconds
    while leftovers(state) and time.monotonic() < deadline:
        cgroups_remove(state)
        time.sleep(0.1)


def cgroup_hierarchies():
    found = []
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            fields = line.split()
            if fields[fields.index("-") + 1] in ("cgroup", "cgroup2"):
                found.append(fields[4])
    return found


def cgroups_make():
    """The subtree in which kubelet makes the pods' groups."""
    for hierarchy in cgroup_hierarchies():
        group = os.path.join(hierarchy, ID)
        os.makedirs(group, exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):
            # An empty set admits no process; version 1 does not inherit it.
            if os.path.exists(f"{hierarchy}/{name}"):
                shutil.copyfile(f"{hierarchy}/{name}", f"{group}/{name}")


def cgroups_remove(state):
    for hierarchy in cgroup_hierarchies():
        for folder, _, _ in os.walk(os.path.join(hierarchy, id_of(state)), topdown=False):
            try:
                os.rmdir(folder)
            except OSError:
                pass            # a process in it is still dying


def leftovers(state=STATE):
    """What there is outside of the state folder because of a cluster, one line each."""
    found = []
    for pid in members(state):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().replace(b"\0", b" ").decode("utf-8", "replace")
            found.append(f"process {pid}: {words[:120]}")
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        found += [f"mount {line.split()[4]}" for line in file if f"{state}/" in line or id_of(state) in line]
    for hierarchy in cgroup_hierarchies():
        for folder, _, _ in os.walk(os.path.join(hierarchy, id_of(state))):
            found.append(f"control group {folder}")
            with open(f"{folder}/cgroup.procs", encoding="ascii") as file:
                found += [f"process {pid} in {folder}" for pid in file.read().split()]
    return found


if __name__ == "__main__":
    first_process()
