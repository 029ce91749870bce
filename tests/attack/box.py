# SPDX-License-Identifier: Apache-2.0
"""box: a container with a share, as a node would start it, and a tenant's shell in it."""

import os
import shutil
import subprocess
import tempfile
import unittest

from cli_case import VGPU

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.dirname(os.path.dirname(VGPU))
PROBE, SHARE_TOOL = os.environ["PROBE"], os.environ["SHARE_TOOL"]
OUT_OF_MEMORY, NOT_PERMITTED = "2", "800"
LIMIT_MIB = 100
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]


def namespaces():
    """How new namespaces are made here; a sentence where they cannot be."""
    for more in ([], ["--user", "--map-root-user"]):
        tried = subprocess.run([*NAMESPACES, *more, "mount", "-t", "tmpfs", "none", "/mnt"],
                               capture_output=True, text=True, check=False)
        if tried.returncode == 0:
            return [*NAMESPACES, *more]
    raise AssertionError("this test needs root, or a kernel that lets users make namespaces "
                         f"(kernel.unprivileged_userns_clone=1): {tried.stderr.strip()}")


class Probe:
    """probe, started inside by a shell line that ends in its path."""

    def __init__(self, box, line):
        self.box = box
        number = box.count = box.count + 1
        self.input, self.output = (os.path.join(box.state, "shared", f"{number}.{end}")
                                   for end in ("in", "out"))
        os.mkfifo(self.input)
        os.mkfifo(self.output)
        inside = f"/run/vgpu/{number}"
        box.tell(f"{line} <{inside}.in >{inside}.out 2>{inside}.err &")
        self.to = open(self.input, "w", encoding="utf-8")
        self.answers = open(self.output, encoding="utf-8")
        self.errors = os.path.join(box.state, "shared", f"{number}.err")
        self.started = self.answers.readline().strip()

    def ask(self, words):
        self.to.write(words + "\n")
        self.to.flush()
        return self.answers.readline().strip()

    def alloc(self, mib):
        return self.ask(f"alloc {mib}")

    def said(self):
        with open(self.errors, encoding="utf-8", errors="replace") as file:
            return file.read()

    def close(self):
        self.to.close()
        self.answers.close()


class Box:
    """The container: `tell` runs a line in its shell, `ask` wants what it prints."""

    def __init__(self, share=True, registry=None, host_pids=False, host_proc=False, limit_mib=LIMIT_MIB,
                 context="0", region="/etc/vgpu/region",
                 preload="/opt/vgpu/libvgpu.so\n", is_fixed=True):
        self.count = 0
        self.probes = []
        self.state = tempfile.mkdtemp(prefix="vgpu-tenant-")
        self.root = os.path.join(self.state, "root")
        for name in ("root", "shared"):
            os.mkdir(os.path.join(self.state, name))
        os.chmod(os.path.join(self.state, "shared"), 0o777)
        self.machine = os.path.join(self.state, "machine")
        self.run(VGPU, "sim", "create", "--machine", self.machine, "--preset", "t4-16gb",
                 "--context-memory", context)
        os.chmod(self.machine, 0o666)
        with open(os.path.join(self.state, "preload"), "w", encoding="utf-8") as file:
            file.write(preload)
        mounts = os.path.join(self.state, "mounts")
        if share or registry or host_proc:
            os.mkdir(mounts)
        if share:
            self.run(SHARE_TOOL, os.path.join(mounts, "share"), self.machine, str(limit_mib),
                     region)
            for name in ("region", "mounts/region"):
                os.close(os.open(os.path.join(self.state, name), os.O_CREAT))
            os.chmod(os.path.join(self.state, "region"), 0o666)
        if registry:
            os.mkdir(os.path.join(mounts, "registry"))
            registry(os.path.join(mounts, "registry", "socket"))
        if host_proc:
            os.mkdir(os.path.join(mounts, "proc"))
        if is_fixed:
            os.mkdir(os.path.join(self.state, "fixed"))
        outside = dict(os.environ)
        if host_pids:
            os.mkdir(os.path.join(self.state, "driver-proc"))
            outside["VGPU_SIM_PROC"] = "/driver-proc"
        self.shell = subprocess.Popen(
            [*namespaces(), os.path.join(HERE, "container"), self.root, BUILD, PROBE, self.state],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=outside)

    @staticmethod
    def run(*command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout

    def tell(self, line):
        self.shell.stdin.write(line + "\n")
        self.shell.stdin.flush()

    def ask(self, line):
        """What the line prints, errors too, and its exit status as the last word."""
        self.tell(f"{{ {line}\n}} 2>&1; echo \" status=$?\"; echo end-of-answer")
        text = ""
        for row in self.shell.stdout:
            if row == "end-of-answer\n":
                return text.strip()
            text += row
        raise AssertionError(f"the container ended: {text}")

    def probe(self, line="/opt/probe"):
        self.probes.append(Probe(self, line))
        return self.probes[-1]

    def gpu_mib(self):
        """What the GPU itself says is used."""
        return int(self.run(SHARE_TOOL, "--gpu", self.machine)) >> 20

    def close(self):
        for probe in self.probes:
            probe.close()
        self.shell.stdin.close()
        self.shell.wait(20)
        self.shell.stdout.close()
        shutil.rmtree(self.state, ignore_errors=True)


class BoxCase(unittest.TestCase):
    def box(self, **options):
        box = Box(**options)
        self.addCleanup(box.close)
        return box
