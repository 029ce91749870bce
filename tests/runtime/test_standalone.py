#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu-node --standalone beside vgpu-runtime: test_standalone.py VGPU BURN SOURCE_ROOT.

Containers of runc's, without Kubernetes: their processes register, `vgpu ps` and `vgpu set` see and change
their shares, they wait for their time slices, and nothing of it depends on the agent staying alive.
"""

import json
import os
import pathlib
import secrets
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import group  # noqa: E402
from judge import Load, Window, judge_all  # noqa: E402

import grpc  # noqa: E402

from beside import Container, StandaloneCase
from cli_case import BURN, VGPU, main
from fixtures import DRIVER, MESSAGES, OUT_OF_MEMORY, PROBE, image_add, output
from peer import eventually

MIB = 1 << 20


class Standalone(StandaloneCase):
    def test_ps_and_set_see_and_change_containers(self):
        self.node()
        container = self.probe("VGPU_MEMORY_LIMIT=100m")
        self.assertEqual(container.ask("alloc 40"), "0")
        share = self.shares()[container.name]
        self.assertEqual([gpu["limit_bytes"] for gpu in share["gpus"]], [100 * MIB])
        self.assertEqual([gpu["held_bytes"] for gpu in share["gpus"]], [40 * MIB])
        self.assertEqual([process["program"] for process in share["processes"]], ["probe"])
        pid = share["processes"][0]["host_pid"]
        self.assertEqual(pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8"), "probe\n")
        self.assertIn(container.name, self.vgpu("ps").stdout)
        self.assertIn(container.name, self.vgpu("top", "--once", "--interval", "0.1").stdout)
        done = self.vgpu("set", container.name, "--memory", "200Mi")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("40MiB of 200MiB", done.stdout)
        self.assertEqual(container.ask("info"), "160 200")
        done = self.vgpu("set", container.name, "--memory", "100Gi")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot fit", done.stderr)
        self.assertEqual(container.ask("info"), "160 200")
        self.assertEqual(self.vgpu("set", "nobody", "--memory", "1Gi").returncode, 1)
        container.end()
        self.assertTrue(eventually(lambda: container.name not in self.shares()), "a share outlives its container")

    def test_a_container_is_no_other_to_itself(self):
        """As engines call them: 64 letters of id."""
        self.node()
        container = self.probe("VGPU_MEMORY_LIMIT=10g", "VGPU_CORES=70", devices="0,1", name=secrets.token_hex(32))
        for words in (("--cores", "80"), ("--memory", "12Gi"), ("--memory", "14Gi", "--cores", "90"), ("--cores", "70"),
                      ("--memory", "1Gi", "--cores", "10"), ("--memory", "10Gi", "--cores", "70")):
            done = self.vgpu("set", container.name[:12], *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        other = self.probe("VGPU_MEMORY_LIMIT=2g", "VGPU_CORES=20", devices="1", name=secrets.token_hex(32))
        for words, why in ((("--cores", "81"), "other shares have 20 %"),
                           (("--memory", "14Gi"), "other shares leave 13GiB")):
            done = self.vgpu("set", container.name[:12], *words)
            self.assertEqual(done.returncode, 1)
            self.assertIn(why, done.stderr)
        for name, words in ((container.name, ("--cores", "80", "--memory", "13Gi")), (other.name, ("--cores", "10")),
                            (other.name, ("--cores", "20")), (container.name, ("--memory", "12Gi"))):
            done = self.vgpu("set", name[:12], *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)

    def test_a_container_that_is_started_again_is_the_one_that_is_set(self):
        node = self.node()
        name = secrets.token_hex(32)
        first = self.probe("VGPU_MEMORY_LIMIT=10g", name=name)
        node.send_signal(signal.SIGSTOP)    # it sees the end of one and the start of the next at once
        first.end()
        again = self.probe("VGPU_MEMORY_LIMIT=10g", name=name)
        node.send_signal(signal.SIGCONT)
        self.assertTrue(eventually(lambda: self.vgpu("set", name[:12], "--memory", "12Gi").returncode == 0 and
                                   again.ask("info") == "12288 12288"), again.ask("info"))

    def test_a_simulated_machine_needs_no_further_options(self):
        """No LD_LIBRARY_PATH for vgpu-node, no --sim-driver for vgpu-runtime: both find the driver beside them."""
        self.fixtures.configure(f"--sim={self.fixtures.machine}")
        self.addCleanup(self.fixtures.configure, f"--sim={self.fixtures.machine}", f"--sim-driver={DRIVER}")
        self.node(f"--metrics-listen=unix:{self.fixtures.folder}/metrics.sock", LD_LIBRARY_PATH="")
        container = self.probe("VGPU_MEMORY_LIMIT=100m")
        self.assertEqual(container.ask("info"), "100 100")
        self.assertTrue(eventually(lambda: self.metrics().count("vgpu_device_memory_total_bytes{") ==
                                   len(self.fixtures.uuids)), self.metrics() + self.logged_by_node())
        self.assertEqual(self.vgpu("set", container.name, "--memory", "200Mi").returncode, 0)
        told = subprocess.run([VGPU, "doctor"], check=False, capture_output=True, text=True, env={
            **{name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"},
            "VGPU_SIM": self.fixtures.machine}).stdout
        self.assertIn(f"the driver lists {len(self.fixtures.uuids)} GPUs", told)

    def sockets(self):
        return [str(path) for path in pathlib.Path(self.fixtures.folder).rglob("*") if path.is_socket()]

    def test_its_sockets_go_with_it(self):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)    # vgpu-node goes on where it is ignored, as under nohup
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            node = self.node(f"--metrics-listen=unix:{self.fixtures.folder}/metrics.sock")
            self.assertTrue(eventually(lambda: len(self.sockets()) == 3), self.sockets())
            node.send_signal(number)
            self.assertEqual((node.wait(20), self.sockets()), (0, []))
        node = self.node()
        node.kill()
        node.wait()
        self.assertNotEqual(self.sockets(), [])
        node = self.node()
        self.assertEqual(self.vgpu("ps").returncode, 0)
        node.terminate()
        self.assertEqual((node.wait(20), self.sockets()), (0, []))

    def test_the_next_waits_for_the_one_that_ends(self):
        def files():
            return {path: os.stat(path).st_ino for path in self.sockets() if os.path.exists(path)}
        former = self.node()
        before = files()
        self.node()
        self.assertTrue(eventually(lambda: "waiting until it ends" in self.logged_by_node()))
        self.assertEqual(files(), before)
        former.terminate()
        self.assertEqual(former.wait(20), 0)
        self.assertTrue(eventually(lambda: len(files()) == 2 and self.answers(
            os.path.join(self.fixtures.folder, "registry", "socket"))), self.sockets())
        self.assertTrue(eventually(lambda: self.vgpu("ps").returncode == 0))

    def test_a_raise_by_environment_needs_the_operators_leave(self):
        self.node()
        container = self.probe("VGPU_MEMORY_LIMIT=200m")
        done = container.exec("/bin/sh", "-c", "echo info | probe", env=["CUDA_DEVICE_MEMORY_LIMIT_0=300m"])
        self.assertEqual(done.stdout, "0\n200 200\n", done.stderr)
        self.assertIn("this node lets no environment raise it", done.stderr)

    def test_a_raise_by_environment_is_reserved_on_the_gpu(self):
        self.node("--env-ceiling=gpu")
        container = self.probe("VGPU_MEMORY_LIMIT=200m")
        other = self.probe("VGPU_MEMORY_LIMIT=10g")
        self.assertEqual(other.ask("info"), "10240 10240")
        done = container.exec("/bin/sh", "-c", "printf 'info\\nalloc 300\\nalloc 2\\n' | probe",
                              env=["CUDA_DEVICE_MEMORY_LIMIT_0=300m", "CUDA_DEVICE_MEMORY_SHARED_CACHE=/tmp/d.cache"])
        self.assertEqual(done.stdout, f"0\n300 300\n0\n{OUT_OF_MEMORY}\n")
        self.assertEqual(self.shares()[container.name]["gpus"][0]["limit_bytes"], 300 * MIB)
        done = container.exec("/bin/sh", "-c", "echo info | probe", env=["CUDA_DEVICE_MEMORY_LIMIT_0=8g"])
        self.assertEqual(done.stdout, "0\n300 300\n")
        self.assertIn("the GPU has too little free memory", done.stderr)

    def test_users_programs_use_the_agents_arbiter_and_elect_one_without_it(self):
        home = self.home("0")
        environment = {**os.environ, "XDG_RUNTIME_DIR": home,
                       "VGPU_NODE_SOCKET": os.path.join(home, "nobody")}
        output(VGPU, "run", "--machine", self.fixtures.machine, "--kernel", "vgpu_burn=1000", "--", "true")
        names = [f"user{os.getpid()}-{number}" for number in range(2)]
        programs = [subprocess.Popen([VGPU, "run", "--machine", self.fixtures.machine, "--name", name, "--memory", "1Gi",
                                      "--cores", "50", "--cores-max", "100", "--", BURN, "-i", "0", "60"],
                                     env=environment, stdout=subprocess.DEVNULL) for name in names]

        def end():
            for program in programs:
                program.kill()
                program.wait()
        self.addCleanup(end)

        def holder():
            with open(f"{home}/vgpu/.arbiter", "rb") as lock:
                return struct.unpack_from("=III", lock.read())[2]

        def timeslices():
            told = json.loads(subprocess.run([VGPU, "ps", "--json"], env=environment, capture_output=True,
                                             check=True).stdout)["shares"]
            return [share["gpus"][0]["timeslices"] for share in told if share["name"] in names]

        def go_on():
            before = timeslices()
            return eventually(lambda: len(before) == 2 and all(
                now > then + 5 for now, then in zip(timeslices(), before)), 15)

        self.assertTrue(eventually(lambda: len(timeslices()) == 2) and go_on(), "they elect nobody")
        elected = holder()
        node = self.node()
        self.assertTrue(eventually(lambda: holder() == node.pid), f"{elected} keeps the lock")
        self.assertTrue(go_on(), "vgpu-node gives them no time slices")
        node.kill()
        node.wait()
        self.assertTrue(eventually(lambda: holder() not in (0, node.pid)), "they elect nobody after vgpu-node")
        self.assertTrue(go_on(), "they have no time slices after vgpu-node")

    def test_any_grpc_client_of_roots_lists_sets_and_watches(self):
        self.node()
        container = self.probe("VGPU_MEMORY_LIMIT=100m")
        with grpc.insecure_channel(f"unix:{self.fixtures.folder}/node.sock") as channel:
            def method(name, kind, answer):
                return getattr(channel, kind)(
                    f"/vgpu.v1.Shares/{name}", request_serializer=lambda m: m if isinstance(m, bytes) else
                    m.SerializeToString(), response_deserializer=answer.FromString)

            def refused(*words):
                with self.assertRaises(grpc.RpcError) as caught:
                    change(*words, timeout=10)
                return caught.exception.code()

            listed = MESSAGES.vgpu__v1__ListSharesResponse
            change = method("Set", "unary_unary", MESSAGES.vgpu__v1__SetShareResponse)
            shares = method("List", "unary_unary", listed)(MESSAGES.vgpu__v1__ListSharesRequest(), timeout=10).shares
            self.assertEqual([share.name for share in shares], [container.name])
            samples = method("Watch", "unary_stream", listed)(MESSAGES.vgpu__v1__WatchSharesRequest(), timeout=20)
            self.assertEqual(next(samples).shares[0].gpus[0].limit_bytes, 100 * MIB)
            request = MESSAGES.vgpu__v1__SetShareRequest(name=container.name)
            request.gpus.add(limit_bytes=150 * MIB)
            self.assertEqual(change(request, timeout=10).share.gpus[0].limit_bytes, 150 * MIB)
            self.assertTrue(any(sample.shares[0].gpus[0].limit_bytes == 150 * MIB for sample in
                                (next(samples) for _ in range(3))))
            self.assertEqual(container.ask("info"), "150 150")
            samples.cancel()
            request.gpus[0].uuid = "GPU-of-nobody"
            self.assertEqual(refused(request), grpc.StatusCode.NOT_FOUND)
            request = MESSAGES.vgpu__v1__SetShareRequest(name=container.name, has_cores=True)
            request.gpus.add(cores_percent=101)
            self.assertEqual(refused(request), grpc.StatusCode.INVALID_ARGUMENT)
            self.assertEqual(refused(MESSAGES.vgpu__v1__SetShareRequest(name="nobody")), grpc.StatusCode.NOT_FOUND)
            self.assertEqual(refused(b"\xff\xff\xff"), grpc.StatusCode.INTERNAL)
        self.assertEqual(os.stat(f"{self.fixtures.folder}/node.sock").st_mode & 0o777, 0o600)
        self.assertEqual(container.ask("info"), "150 150")

    def test_the_api_tells_what_is_held_where(self):
        self.node()
        container = self.probe("VGPU_MEMORY_LIMIT=100m")
        self.assertEqual(container.ask("alloc 40"), "0")
        with grpc.insecure_channel(f"unix:{self.fixtures.folder}/node.sock") as channel:
            method = channel.unary_unary("/vgpu.v1.Shares/List", request_serializer=lambda message: message.SerializeToString(),
                                         response_deserializer=MESSAGES.vgpu__v1__ListSharesResponse.FromString)
            (share,) = method(MESSAGES.vgpu__v1__ListSharesRequest(), timeout=10).shares
        (gpu,) = [gpu for gpu in share.gpus if gpu.held_bytes]
        ((held,),) = [process.gpus for process in share.processes]
        self.assertEqual((gpu.held_bytes, gpu.physical_bytes, gpu.virtual_limit_bytes), (40 * MIB, 40 * MIB, 0))
        self.assertEqual((held.uuid, held.held_bytes, held.physical_bytes), (gpu.uuid, 40 * MIB, 40 * MIB))

    def test_a_process_registers_with_the_next_agent_too(self):
        first = self.node()
        container = self.probe("VGPU_MEMORY_LIMIT=100m")
        first.kill()
        first.wait()
        self.node()
        self.assertTrue(eventually(lambda: container.name in self.shares()))
        done = container.exec("/bin/sh", "-c", "echo pids | probe")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_process_of_no_container_is_refused(self):
        self.node()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
            peer.connect(os.path.join(self.fixtures.folder, "registry", "socket"))
            peer.send(struct.pack("=QIIQ", 0x7972747369676572, 2, os.getpid(), 0) + bytes(384))
            _, version, status, pid, _ = struct.unpack("=QIiIi", peer.recv(64))
        self.assertEqual((version, status, pid), (2, -13, 0))

    def violate(self, container, mib):
        """A process in the container's control group that goes around the library, as a static binary would."""
        pid = next(process["host_pid"] for process in self.shares()[container.name]["processes"])
        process = subprocess.Popen([PROBE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={"VGPU_SIM": self.fixtures.machine, "LD_LIBRARY_PATH": DRIVER})

        def end():
            process.kill()
            process.communicate()
        self.addCleanup(end)
        group.join(process.pid, pid)
        self.assertEqual(process.stdout.readline(), "0\n")
        process.stdin.write(f"alloc {mib}\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "0\n")
        return process

    def test_a_process_that_goes_around_the_library_is_found_and_its_share_throttled(self):
        self.node("--violation-policy=throttle", "--metrics-listen=127.0.0.1:0")
        container, honest = (self.probe("VGPU_MEMORY_LIMIT=1g") for _ in range(2))
        self.assertEqual((container.ask("alloc 40"), honest.ask("alloc 900")), ("0", "0"))
        violator = self.violate(container, 300)
        said = [f"violation by share '{container.name}' (stranger): its process {violator.pid} is on GPU 0",
                f"violation by share '{container.name}' (memory): it holds 340MiB of GPU 0, and its region says 40MiB",
                f"share '{container.name}' is throttled"]
        self.assertTrue(eventually(lambda: all(words in self.logged_by_node() for words in said), 15),
                        self.logged_by_node())
        self.assertNotIn(f"violation by share '{honest.name}'", self.logged_by_node())
        self.assertEqual(container.ask("alloc 2"), OUT_OF_MEMORY)
        self.assertEqual(self.shares()[container.name]["gpus"][0]["cores_percent"], 1)
        self.assertEqual(honest.ask("alloc 2"), "0")

    def test_gpu_time_that_nobody_said_is_found(self):
        output(VGPU, "run", "--machine", self.fixtures.machine, "--kernel", "vgpu_burn=1000", "--", "true")
        self.node()
        container = self.probe("VGPU_MEMORY_LIMIT=1g", "VGPU_CORES=30")
        process = subprocess.Popen([BURN, "-i", "0", "-m", "20", "60"], stdout=subprocess.DEVNULL,
                                   env={"VGPU_SIM": self.fixtures.machine, "LD_LIBRARY_PATH": DRIVER})

        def end():
            process.kill()
            process.wait()
        self.addCleanup(end)
        group.join(process.pid, next(one["host_pid"] for one in self.shares()[container.name]["processes"]))
        self.assertTrue(eventually(lambda: f"violation by share '{container.name}' (compute): it uses " in
                                   self.logged_by_node(), 25), self.logged_by_node())

    def test_by_policy_a_violator_is_evicted(self):
        self.node("--violation-policy=evict")
        container, honest = (self.probe("VGPU_MEMORY_LIMIT=1g") for _ in range(2))
        self.assertEqual((container.ask("alloc 40"), honest.ask("alloc 900")), ("0", "0"))
        violator = self.violate(container, 300)
        self.assertEqual((violator.wait(20), container.process.wait(20)), (-9, 137))
        self.assertEqual(honest.ask("alloc 2"), "0")

    def test_a_region_written_by_hand_is_reported(self):
        self.node()
        container = self.probe("VGPU_MEMORY_LIMIT=1g")
        self.assertEqual(container.ask("alloc 40"), "0")
        # The word of the first device: what is used, and by whose operation.
        container.exec("/bin/sh", "-c", "printf '\\0\\0\\0\\0\\0\\0\\0\\0' | "
                       "dd of=/etc/vgpu/region bs=1 seek=128 conv=notrunc")
        self.assertTrue(eventually(lambda: f"violation by share '{container.name}' (region): its region " in
                                   self.logged_by_node(), 15), self.logged_by_node())

    def test_containers_get_time_slices_and_outlive_the_agent(self):
        def burn(_, bundle):
            image_add(os.path.join(bundle, "rootfs"), BURN)
        output(VGPU, "run", "--machine", self.fixtures.machine, "--kernel", "vgpu_burn=1000", "--", "true")
        node = self.node()
        both = [Container(self, "vgpu-burn 60", ["VGPU_DEVICES=0", "VGPU_MEMORY_LIMIT=1g", f"VGPU_CORES={cores}"],
                          change=burn)
                for cores in (30, 60)]

        def busy():
            shares = self.shares()
            return [shares[container.name]["gpus"][0]["gpu_ns"] for container in both]

        def timeslices():
            shares = self.shares()
            return [shares[container.name]["gpus"][0]["timeslices"] if container.name in shares else 0
                    for container in both]

        self.assertTrue(eventually(lambda: min(timeslices()) > 20), f"no time slices: {timeslices()}")
        def loads():
            """What the region says of both; what the GPU says of the whole."""
            listed = self.shares()
            window = Window(self.fixtures.stat, *(process["host_pid"] for container in both
                                                  for process in listed[container.name]["processes"]))
            before, begin = busy(), time.monotonic()
            time.sleep(5)
            after, passed_ns, whole = busy(), (time.monotonic() - begin) * 1e9, window.end()
            return [*(Load((now - then) * 100 / passed_ns, whole.late_percent) for now, then in zip(after, before)), whole]
        self.assertIsNone(judge_all((30, 60, 90), loads))
        counted = timeslices()
        node.send_signal(signal.SIGKILL)
        node.wait()
        time.sleep(0.3)
        self.node()
        self.assertTrue(eventually(lambda: all(now > then + 5 for now, then in zip(timeslices(), counted))),
                        "the next arbiter gives no time slices")
        after = busy()
        time.sleep(0.5)
        self.assertTrue(all(now > then for now, then in zip(busy(), after)), "somebody does not go on")
        for container in both:
            self.assertNotIn(f"violation by share '{container.name}'", self.logged_by_node())


if __name__ == "__main__":
    main(__name__)
