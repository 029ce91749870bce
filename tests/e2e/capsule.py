"""capsule: namespaces of its own for a cluster: processes, mounts, network, host name.

All that the cluster starts, mounts and listens on is inside. When the capsule's first process ends,
however it ends, the kernel ends all the others, and mounts, sockets and interfaces go with them. There
is no way in or out of its network, so that its loopback is private and no port of the machine is taken.
Only control groups have a life of their own: they are one subtree, removed at the end.
"""

import glob
import os
import signal
import subprocess
import sys
import time

from places import DATA, ID, LOGS, NODE, NODE_IP, PATH, PYTHON, RUN, SERVICE_IP, STATE, Trouble

INSIDE = "VGPU_E2E_INSIDE"
PID = os.path.join(STATE, "capsule.pid")
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
    """The capsule's mounts and network, made by its first process."""
    os.makedirs(DATA, exist_ok=True)
    for path in (DATA, "/run", "/dev/shm"):
        mount("-t", "tmpfs", "tmpfs", path)
    os.chmod("/dev/shm", 0o1777)
    for path in ("/etc", "/var/lib"):
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
    """Process 1 of the capsule: furnishes it, then buries the orphans until it is told to go."""
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


def open_capsule(stays):
    """Starts a capsule. One that does not stay dies with the process that called."""
    for folder in (LOGS, RUN):
        os.makedirs(folder, exist_ok=True)
    cgroups_make()
    leash = [] if stays else ["setpriv", "--pdeathsig", "KILL"]
    with open(os.path.join(LOGS, "capsule.log"), "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [*leash, "unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child",
             "--mount-proc", PYTHON, "-B", __file__],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
            env=environment())
    if process.stdout.readline().strip() != b"ready":
        process.wait()
        raise Trouble("no capsule: " + open(log.name, encoding="utf-8").read().strip())
    children = open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii").read().split()
    with open(PID, "w", encoding="ascii") as file:
        file.write(f"{process.pid} {children[0]}\n")


def pids():
    """The process that holds the capsule open and the capsule's first one; None if there is none."""
    try:
        outer, first = open(PID, encoding="ascii").read().split()
        variables = open(f"/proc/{first}/environ", "rb").read().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return None
    return (int(outer), int(first)) if f"{INSIDE}={STATE}".encode() in variables else None


def enter(*words):
    """The command that runs words inside."""
    found = pids()
    if not found:
        raise Trouble("no cluster is up; start one with: make cluster-up")
    return ["nsenter", "--target", str(found[1]), "--mount", "--net", "--pid", "--ipc", "--uts", *words]


def close_capsule():
    """Ends everything that is inside and waits until it has gone."""
    found = pids()
    if found:
        for pid in reversed(found):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    deadline = time.monotonic() + 30
    while leftovers() and time.monotonic() < deadline:
        cgroups_remove()
        time.sleep(0.1)
    if os.path.exists(PID):
        os.remove(PID)


def cgroup_hierarchies():
    found = []
    for line in open("/proc/self/mountinfo", encoding="utf-8"):
        fields = line.split()
        kind = fields[fields.index("-") + 1]
        if kind in ("cgroup", "cgroup2"):
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
                with open(f"{group}/{name}", "w", encoding="ascii") as file:
                    file.write(open(f"{hierarchy}/{name}", encoding="ascii").read())


def cgroups_remove():
    for hierarchy in cgroup_hierarchies():
        for folder, _, _ in os.walk(os.path.join(hierarchy, ID), topdown=False):
            try:
                os.rmdir(folder)
            except OSError:
                pass            # a process in it is still dying


def leftovers():
    """What there is outside of the state folder because of this cluster, one line each."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        try:
            variables = open(f"{path}/environ", "rb").read().split(b"\0")
            words = open(f"{path}/cmdline", "rb").read().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if f"{INSIDE}={STATE}".encode() in variables:
            found.append(f"process {path[6:]}: {words[:120]}")
    for line in open("/proc/self/mountinfo", encoding="utf-8"):
        if f" {STATE}/" in line or f"={STATE}/" in line or ID in line:
            found.append(f"mount {line.split()[4]}")
    for hierarchy in cgroup_hierarchies():
        for folder, _, _ in os.walk(os.path.join(hierarchy, ID)):
            found.append(f"control group {folder}")
            with open(f"{folder}/cgroup.procs", encoding="ascii") as file:
                found += [f"process {pid} in {folder}" for pid in file.read().split()]
    return found


if __name__ == "__main__":
    first_process()
