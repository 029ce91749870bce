#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A container finds its own processes in the driver's lists: test_identity.py VGPU BURN SOURCE_ROOT.

The simulated driver speaks the host's pids, as NVIDIA's closed kernel modules do, or those of the
caller's namespace, as the open ones. A stranger on the same GPU is never shown, and a process is shown
under the pid by which the container knows it.
"""

import os
import socket
import struct
import subprocess
import sys
import threading
import time

from box import BUILD, LIMIT_MIB, OUT_OF_MEMORY, PROBE, BoxCase
from cli_case import VGPU, main

MAGIC = 0x7972747369676572
REQUEST, REPLY = struct.Struct("=QIIQ" + 5 * "64s" + "48sQII"), struct.Struct("=QIiIi")


class Registry:
    """The node's agent, as far as the library knows it: a pid for whoever asks."""

    def __init__(self, status=0, silent=False, garbage=False):
        self.status, self.silent, self.garbage = status, silent, garbage
        self.requests = []
        self.held = []

    def __call__(self, path):
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.server.bind(path)
        os.chmod(path, 0o666)
        self.server.listen(16)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.server.accept()
            pid = struct.unpack("=iii", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
            words = REQUEST.unpack(connection.recv(4096))
            self.requests.append((pid, words))
            if self.silent:
                self.held.append(connection)
                continue
            connection.send(b"?" if self.garbage else REPLY.pack(MAGIC, 2, self.status, pid, 0))
            connection.close()


class Identity(BoxCase):
    def stranger(self, box):
        """A program of somebody else's on the same GPU, outside."""
        process = subprocess.Popen([PROBE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={"VGPU_SIM": box.machine,
                                        "LD_LIBRARY_PATH": os.path.join(BUILD, "lib", "sim")})
        self.addCleanup(process.communicate)
        self.assertEqual(process.stdout.readline(), "0\n")
        process.stdin.write("alloc 64\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "0\n")
        return process.pid

    def check(self, environment="", others=(), **options):
        """Two of the container's programs see themselves and nobody else, by their own pids."""
        box = self.box(**options)
        self.stranger(box)
        one, two = box.probe(f"{environment} /opt/probe"), box.probe(f"{environment} /opt/probe")
        self.assertEqual((one.started, two.started), ("0", "0"), one.said())
        pids = {one.ask("pid"), two.ask("pid")}
        self.assertTrue(all(int(pid) < 1000 for pid in pids), "not a namespace of its own")
        self.assertEqual(set(one.ask("pids").split()[1:]), pids | set(others), one.said())
        self.assertEqual(set(two.ask("pids").split()[1:]), pids | set(others), two.said())
        return box, one

    def test_a_driver_that_speaks_our_pids(self):
        self.check("VGPU_COMPAT=100")

    def test_registration(self):
        registry = Registry()
        box, one = self.check("VGPU_COMPAT=200", registry=registry, host_pids=True)
        pid, words = registry.requests[0]
        self.assertEqual((words[0], words[1], str(words[2])), (MAGIC, 2, one.ask("pid")))
        self.assertEqual(words[4].rstrip(b"\0"), b"probe")
        self.assertEqual([word.rstrip(b"\0") for word in words[5:9]],
                         [b"11111111-2222-3333-4444-555555555555", b"", b"", b"box"])
        self.assertNotEqual(pid, words[2])

    def test_without_a_share_the_environment_says_whose_the_process_is(self):
        registry = Registry()
        box = self.box(registry=registry, host_pids=True, share=False)
        probe = box.probe("VGPU_MEMORY_LIMIT=100m VGPU_POD_UID=u VGPU_POD_NAMESPACE=s VGPU_POD_NAME=n "
                          "VGPU_CONTAINER_NAME=c VGPU_REGION=/run/vgpu/region /opt/probe")
        self.assertEqual(probe.started, "0", probe.said())
        self.assertEqual([word.rstrip(b"\0") for word in registry.requests[0][1][5:9]],
                         [b"u", b"s", b"n", b"c"])

    def test_registration_where_the_driver_speaks_our_pids(self):
        for environment in ("", "VGPU_COMPAT=200", "VGPU_COMPAT=100"):
            registry = Registry()
            _, probe = self.check(environment, registry=registry)
            self.assertEqual(len(registry.requests), 2)
            self.assertEqual(probe.alloc(LIMIT_MIB + 2), OUT_OF_MEMORY)

    def test_registration_is_detected(self):
        registry = Registry()
        self.check(registry=registry, host_pids=True)
        self.assertEqual(len(registry.requests), 2)

    def test_the_hosts_proc_is_detected(self):
        self.check(host_pids=True, host_proc=True)

    def test_without_anything_to_go_by_the_driver_tells(self):
        self.check(host_pids=True)

    def test_the_driver_tells_of_contexts_that_do_not_count_too(self):
        self.check("VGPU_MEMORY_LIMIT=100m VGPU_CONTEXT_MEMORY=exempt VGPU_REGION=/run/vgpu/region",
                   share=False, host_pids=True, context="20Mi")

    def test_a_driver_that_speaks_our_pids_is_detected(self):
        self.check()

    def test_the_context_is_counted_however_the_pid_is_found(self):
        for options in ({"host_pids": True}, {"host_pids": True, "registry": Registry()}, {}):
            box = self.box(context="20Mi", **options)
            self.stranger(box)
            before = box.gpu_mib()
            probe = box.probe()
            self.assertEqual(probe.started, "0", probe.said())
            self.assertEqual(probe.ask("info"), f"{LIMIT_MIB - 20} {LIMIT_MIB}")
            self.assertEqual(box.gpu_mib() - before, 20)

    def test_of_several_newcomers_the_largest_counts(self):
        """Who it is cannot be told, so it counts as the largest of them: never too little."""
        box = self.box(host_pids=True, context="20Mi")
        inject = [VGPU, "sim", "inject", "--machine", box.machine]
        subprocess.run([*inject, "hang", "cuCtxCreate_v2"], check=True)
        probe = threading.Thread(target=box.probe)
        probe.start()
        time.sleep(1)           # it hangs where the driver would make its context
        script = ("import ctypes, sys; c = ctypes.CDLL('libcuda.so.1'); p = ctypes.c_void_p(); c.cuInit(0)\n"
                  "c.cuDevicePrimaryCtxRetain(ctypes.byref(p), 0); c.cuCtxSetCurrent(p)\n"
                  "print(c.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(30 << 20)), flush=True)\n"
                  "sys.stdin.read()")
        other = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True,
                                 env={"VGPU_SIM": box.machine,
                                      "LD_LIBRARY_PATH": os.path.join(BUILD, "lib", "sim")})
        self.addCleanup(other.communicate)
        self.assertEqual(other.stdout.readline(), "0\n")
        subprocess.run([*inject, "clear"], check=True)
        probe.join(20)
        self.assertEqual(box.probes[0].started, "0", box.probes[0].said())
        self.assertIn("counts as the largest", box.probes[0].said())
        self.assertEqual(box.probes[0].ask("info"), f"{LIMIT_MIB - 50} {LIMIT_MIB}")

    def test_an_agent_that_refuses_hangs_or_babbles(self):
        for registry, said in ((Registry(status=-13), "refuses"), (Registry(silent=True), "no answer"),
                               (Registry(garbage=True), "no answer")):
            box = self.box(registry=registry, host_pids=True)
            self.stranger(box)
            probe = box.probe("VGPU_COMPAT=200 /opt/probe")
            self.assertEqual(probe.started, "0")
            self.assertIn(said, probe.said())
            self.assertEqual(probe.alloc(LIMIT_MIB + 2), OUT_OF_MEMORY)
            self.assertEqual(probe.alloc(LIMIT_MIB), "0")

    def test_the_hosts_mode_shows_everybody(self):
        box = self.box()
        stranger = self.stranger(box)
        environment = {"VGPU_SIM": box.machine, "VGPU_COMPAT": "0", "VGPU_MEMORY_LIMIT": "100m",
                       "VGPU_REGION": os.path.join(box.state, "host-region"),
                       "LD_PRELOAD": os.path.join(BUILD, "lib", "libvgpu.so"),
                       "LD_LIBRARY_PATH": os.path.join(BUILD, "lib", "sim")}
        done = subprocess.run([PROBE], input="pids\n", capture_output=True, text=True, check=True,
                              env=environment)
        self.assertIn(str(stranger), done.stdout.split())

    @staticmethod
    def group_make():
        """A control group of its own, and the mode that goes by it; None: this user may not."""
        for mode, folder in (("1", "/sys/fs/cgroup/pids"), ("2", "/sys/fs/cgroup")):
            path = os.path.join(folder, f"vgpu-test-{os.getpid()}")
            try:
                os.mkdir(path)
                if os.path.exists(os.path.join(path, "cgroup.procs")):
                    return mode, path
                os.rmdir(path)
            except OSError:
                continue
        return "2" if os.path.exists("/sys/fs/cgroup/cgroup.procs") else "1", None

    def group_leave(self, path, pid):
        with open(os.path.join(os.path.dirname(path), "cgroup.procs"), "w", encoding="ascii") as procs:
            procs.write(str(pid))
        os.rmdir(path)

    def test_under_a_share_the_environment_cannot_ask_for_everybody(self):
        self.check("VGPU_COMPAT=0")
        self.check("VGPU_COMPAT=0", host_pids=True)

    def test_control_groups(self):
        """Who is in our control group is ours, also without a process slot; others are not."""
        mode, path = self.group_make()
        box = self.box(host_pids=True, host_proc=True)
        sister, other = self.stranger(box), self.stranger(box)
        expected = {str(sister), str(other)}
        if path:
            with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as procs:
                procs.write(str(other))
            self.addCleanup(self.group_leave, path, other)
            expected.remove(str(other))
        probe = box.probe(f"VGPU_COMPAT={mode} /opt/probe")
        self.assertEqual(probe.started, "0")
        self.assertEqual(set(probe.ask("pids").split()[1:]), {probe.ask("pid")} | expected)

    def test_modes_that_are_none(self):
        for value in ("5", "-1", "cgroup", "", "1000"):
            box = self.box()
            probe = box.probe(f"ENV_COMPATIBILITY_MODE={value} /opt/probe")
            self.assertNotEqual(probe.started, "0")
            self.assertIn("ENV_COMPATIBILITY_MODE", probe.said())


if __name__ == "__main__":
    main("__main__")
