# SPDX-License-Identifier: Apache-2.0
"""confinement BIN INJECT measured|sanitized: what the daemons can do no more once they serve. INJECT lets them try."""

import atexit
import errno
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).parent.parent / folder) for folder in ("net", "scheduler")]
from fake_cluster import FakeCluster  # noqa: E402
from fake_scheduling import Api, Scheduler  # noqa: E402
from metrics import free_port, is_up  # noqa: E402
from peer import Tap, differs, eventually  # noqa: E402

NUMBERS = {
    "x86_64": {"mmap": 9, "socket": 41, "getpid": 39, "clone": 56, "execve": 59, "getppid": 110, "mount": 165,
               "reboot": 169, "init_module": 175, "unshare": 272, "bpf": 321, "clone3": 435, "ptrace": 101,
               "openat": 257, "process_vm_writev": 311, "io_uring_setup": 425, "setns": 308, "kill": 62},
    "aarch64": {"mmap": 222, "socket": 198, "getpid": 172, "clone": 220, "execve": 221, "getppid": 173, "mount": 40,
                "reboot": 142, "init_module": 105, "unshare": 97, "bpf": 280, "clone3": 435, "ptrace": 117,
                "openat": 56, "process_vm_writev": 271, "io_uring_setup": 425, "setns": 268, "kill": 129},
}[platform.machine()]
AF_NETLINK, AF_PACKET = 16, 17
AT_FDCWD, CREATE = 2**64 - 100, 0o101
PAGE, READ_WRITE_RUN, PRIVATE = 4096, 7, 0x22
SIGCHLD, CLONE_VFORK = 17, 0x4000
DAC_OVERRIDE, KILL = 1 << 1, 1 << 5
SYS_PTRACE = 1 << 19    # for the simulated driver

# What an intruder would try, and what becomes of it.
TRIES = [("execve", (0, 0, 0), errno.ENOSYS), ("mount", (0, 0, 0), errno.ENOSYS), ("unshare", (0,), errno.ENOSYS),
         ("setns", (0,), errno.ENOSYS), ("bpf", (0,), errno.ENOSYS), ("clone3", (0, 0), errno.ENOSYS),
         ("process_vm_writev", (0,), errno.ENOSYS), ("io_uring_setup", (0,), errno.ENOSYS),
         ("init_module", (0,), errno.ENOSYS), ("reboot", (0,), errno.ENOSYS),
         ("socket", (AF_NETLINK, 3, 0), errno.EPERM), ("socket", (AF_PACKET, 3, 0), errno.EPERM)]
# Of those that write no files.
READER_TRIES = [("openat", (AT_FDCWD, 0, CREATE, 0o600), errno.EPERM), ("openat", (AT_FDCWD, 0, 2), errno.EPERM),
                ("openat", (AT_FDCWD, 0, 0), errno.EFAULT)]
# What a sanitizer does itself.
BARE_TRIES = [("getppid", (), errno.ENOSYS), ("ptrace", (0,), errno.ENOSYS),
              ("mmap", (0, PAGE, READ_WRITE_RUN, PRIVATE, 2**64 - 1, 0), errno.EPERM)]


def field(path, name):
    for line in path.read_text(encoding="ascii").splitlines():
        if line.startswith(name + ":"):
            return line.split()[1]
    return None


def threads(pid):
    """(filtered, without new privileges, capabilities) of each, once."""
    return sorted({(field(task / "status", "Seccomp"), field(task / "status", "NoNewPrivs"),
                    field(task / "status", "CapEff"), field(task / "status", "CapPrm"))
                   for task in pathlib.Path(f"/proc/{pid}/task").iterdir()})


def confined(capabilities=0):
    kept = f"{capabilities if os.geteuid() == 0 else 0:016x}"
    return [("2", "1", kept, kept)]


class Inject:
    def __init__(self, program):
        self.program = program

    def result(self, pid, name, *words):
        done = subprocess.run([self.program, str(pid), str(NUMBERS[name]), *map(str, words)], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr.strip()}")
        return int(done.stdout)

    def complaints(self, pid, tries):
        told = []
        for name, words, error in tries:
            got = self.result(pid, name, *words)
            if got != -error:
                told.append(f"{name}{words}: {got}, wanted {-error}")
        return told


def judge(tap, whose, process, inject, tries, capabilities=0):
    is_known = eventually(lambda: threads(process.pid) == confined(capabilities), 20)
    tap.check(f"{whose} has a filter, no new privileges and few capabilities, in every thread",
              [] if is_known else [f"{threads(process.pid)}, wanted {confined(capabilities)}"])
    tap.check("… it can still say who it is", differs(inject.result(process.pid, "getpid"), process.pid))
    tap.check("… what an intruder would call fails", inject.complaints(process.pid, tries))
    tap.check("… and it runs", differs(process.poll(), None))


def webhook(tap, bin_dir, folder, inject, tries):
    certificate, key = f"{folder}/tls.crt", f"{folder}/tls.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-out", certificate, "-keyout", key], check=True, capture_output=True)
    process = subprocess.Popen([f"{bin_dir}/vgpu-webhook", "--listen=127.0.0.1:0", f"--certificate={certificate}",
                                f"--key={key}", "--kubeconfig=/none"], stderr=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    while "serves on port" not in process.stderr.readline():
        pass
    judge(tap, "vgpu-webhook", process, inject,
          tries + READER_TRIES + [("kill", (process.pid, 0), errno.ENOSYS)])


def scheduler(tap, bin_dir, inject, tries):
    api = Api([])
    with Scheduler(bin_dir, api) as running:
        judge(tap, "vgpu-scheduler", running.process, inject,
              tries + READER_TRIES + [("kill", (running.process.pid, 0), errno.ENOSYS)])


def node(tap, bin_dir, folder, inject, tries):
    """Of Kubernetes, alone, and without confinement."""
    (pathlib.Path(folder) / "plugins").mkdir()
    cluster = FakeCluster()
    cluster.write_config(f"{folder}/config")

    def start(*options):
        port = free_port()
        process = subprocess.Popen(
            [f"{bin_dir}/vgpu", "run", "--sim=a100-40gb:2", "--", f"{bin_dir}/vgpu-node", f"--state-dir={folder}/state",
             f"--run-dir={folder}/run", f"--runtime-state={folder}/runtime", f"--metrics-listen=127.0.0.1:{port}",
             *options], stderr=subprocess.DEVNULL)
        atexit.register(process.kill)
        eventually(lambda: is_up(port), 20)
        return process

    of_cluster = [f"--device-plugin-path={folder}/plugins", "--node-name=n1", f"--kubeconfig={folder}/config"]
    own = tries + [("kill", (os.getpid(), 9), errno.EPERM)]
    if tries != TRIES:
        own += [("clone", (flags,), errno.EPERM) for flags in (SIGCHLD, SIGCHLD | CLONE_VFORK)]
    process = start(*of_cluster)
    judge(tap, "vgpu-node", process, inject, own)
    process.kill()
    process.wait()
    process = start("--standalone")
    judge(tap, "vgpu-node --standalone", process, inject, own, DAC_OVERRIDE | KILL | SYS_PTRACE)
    process.kill()
    process.wait()
    process = start("--confine=no", *of_cluster)
    mine = field(pathlib.Path("/proc/self/status"), "Seccomp")
    tap.check("vgpu-node --confine=no keeps what it was given", differs(
        {found[0] for found in threads(process.pid)}, {mine}))
    process.kill()


def main(bin_dir, program, how):
    tap = Tap()
    inject = Inject(program)
    tries = TRIES + (BARE_TRIES if how == "measured" else [])
    with tempfile.TemporaryDirectory() as folder:
        webhook(tap, bin_dir, folder, inject, tries)
        scheduler(tap, bin_dir, inject, tries)
        node(tap, bin_dir, folder, inject, tries)
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
