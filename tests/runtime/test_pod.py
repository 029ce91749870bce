#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Containers of pods, started by runc behind vgpu-runtime: test_pod.py VGPU BURN SOURCE_ROOT.

What a container has is looked at from inside. The agent is a server of grpcio's.
"""

import concurrent.futures
import os
import pathlib
import socket
import threading
import time

import grpc

from cli_case import main
from fixtures import OUT_OF_MEMORY, FixturesCase, ask, pod, privileged

SHOW = "cat /proc/self/environ | busybox tr '\\0' '\\n'; ls /etc/vgpu 2>&1; ls /dev"


class Pod(FixturesCase):
    options = ("--wait=5",)

    def setUp(self):
        super().setUp()
        self.fixtures.agent.start()
        self.addCleanup(self.fixtures.agent.stop)

    def share(self, mib=100, gpu=0, container="main"):
        uid = f"uid-{time.monotonic_ns()}"
        self.fixtures.share(uid, container, mib, gpu)
        return uid

    def test_the_share_holds_inside(self):
        uid = self.share(100, gpu=2)
        done = self.fixtures.run(ask("info", "uuid", "alloc 102", "alloc 100", "alloc 2"), annotations=pod(uid))
        self.assertEqual(done.stdout.split("\n"), ["0", "100 100", self.fixtures.uuids[2], OUT_OF_MEMORY, "0",
                                                   OUT_OF_MEMORY, ""], done.stderr)
        asked = self.fixtures.agent.asked[-1]
        self.assertEqual((asked.pod_uid, asked.namespace, asked.pod, asked.container),
                         (uid, "default", f"pod-{uid}", "main"))

    def test_annotations_of_cri_o_are_read(self):
        uid = self.share(60)
        done = self.fixtures.run(ask("info"), annotations={
            "io.kubernetes.cri-o.ContainerType": "container", "io.kubernetes.pod.uid": uid,
            "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.name": "p",
            "io.kubernetes.container.name": "main"})
        self.assertEqual(done.stdout, "0\n60 60\n", done.stderr)

    def test_visible_devices_are_the_shares_and_not_the_images(self):
        uid = self.share(gpu=1)
        done = self.fixtures.run(SHOW, annotations=pod(uid), env=("NVIDIA_VISIBLE_DEVICES=all",
                                                                  "GPU_DEVICES_UUID=GPU-forged", "VGPU_SIM=/tmp/x"))
        lines = done.stdout.split("\n")
        for name in ("NVIDIA_VISIBLE_DEVICES", "VGPU_DEVICES"):
            self.assertEqual([x for x in lines if x.startswith(name + "=")], [f"{name}={self.fixtures.uuids[1]}"])
        self.assertNotIn("GPU-forged", done.stdout)
        self.assertNotIn("VGPU_SIM=/tmp/x", lines)

    def test_root_inside_cannot_change_it(self):
        uid = self.share(100)
        tries = ["echo x >/etc/vgpu/share", "echo x >/etc/ld.so.preload", "echo x >/etc/vgpu/libvgpu.so",
                 "rm -f /etc/vgpu/share", "rm -f /etc/ld.so.preload", "rm -rf /etc/vgpu", "mv /etc/vgpu /etc/x",
                 "mv /etc /x", "umount /etc/vgpu/share", "umount /etc/vgpu", "mount -o remount,rw /etc/vgpu",
                 "mount -t tmpfs none /etc/vgpu", "mv /etc/vgpu/region /tmp/r", "echo >/etc/vgpu/new"]
        script = "".join(f"({line}) 2>/dev/null && echo 'worked: {line}'; " for line in tries)
        done = self.fixtures.run("id -u; " + script + ask("info", "alloc 102"), annotations=pod(uid))
        self.assertEqual(done.stdout, f"0\n0\n100 100\n{OUT_OF_MEMORY}\n", done.stderr)

    def test_a_read_only_root(self):
        uid = self.share(50)
        done = self.fixtures.run("mv /etc /x 2>/dev/null && echo moved; " + ask("info"), annotations=pod(uid),
                                 change=lambda config, _: config["root"].update(readonly=True))
        self.assertEqual(done.stdout, "0\n50 50\n", done.stderr)

    def test_what_the_image_preloads_stands_behind_ours(self):
        def image(_, bundle):
            pathlib.Path(bundle, "rootfs/etc/ld.so.preload").write_text("/lib/own.so\n", encoding="utf-8")
        uid = self.share()
        done = self.fixtures.run("cat /etc/ld.so.preload", annotations=pod(uid), change=image)
        self.assertEqual(done.stdout, "/etc/vgpu/libvgpu.so\n/lib/own.so\n", done.stderr)

    def refused(self, done, *words):
        """Not started; one sentence on stderr and, for the CRI, in the log."""
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        entry = self.logged()[-1]
        self.assertEqual(entry["level"], "error")
        self.assertEqual(entry["msg"] + "\n", done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_an_image_with_links_at_our_paths_is_refused(self):
        for path_inside, target in (("etc", "tmp"), ("etc/vgpu", "/tmp"), ("etc/ld.so.preload", "/tmp/mine")):
            def image(_, bundle, path_inside=path_inside, target=target):
                path = os.path.join(bundle, "rootfs", path_inside)
                if os.path.isdir(path):
                    os.rename(path, path + ".old")
                os.symlink(target, path)
            self.refused(self.fixtures.run("id", annotations=pod(self.share()), change=image), "/" + path_inside)

    def test_a_volume_over_our_paths_is_refused(self):
        def link(config, bundle):
            os.symlink("etc", os.path.join(bundle, "rootfs", "alias"))
            config["mounts"].append({"destination": "/alias", "type": "bind", "source": "/tmp", "options": ["bind"]})

        def plain(config, _):
            config["mounts"].append({"destination": "/etc/", "type": "bind", "source": "/tmp", "options": ["bind"]})
        for change in (link, plain):
            self.refused(self.fixtures.run("id", annotations=pod(self.share()), change=change), "would hide /etc")

    def test_a_volume_over_our_paths_by_a_link_in_another_is_refused(self):
        def volumes(config, bundle):
            first, second = (os.path.join(bundle, name) for name in ("first", "second"))
            for folder in (first, second):
                os.mkdir(folder)
            os.symlink("/etc", os.path.join(first, "link"))
            os.mkdir(os.path.join(second, "elsewhere"))
            os.symlink("elsewhere", os.path.join(second, "vgpu"))
            for destination, source in (("/a", first), ("/a/link", second)):
                config["mounts"].append({"destination": destination, "type": "bind", "source": source,
                                         "options": ["bind"]})
        done = self.fixtures.run("echo started", annotations=pod(self.share()), change=volumes)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertIn("gets no GPU", done.stderr)
        self.assertIn("gets no GPU", "".join(entry["msg"] for entry in self.logged()))

    def test_no_share_no_gpu(self):
        def devices(config, _):
            config["linux"]["devices"] = [{"path": f"/dev/nvidia{n}", "type": "c", "major": 195, "minor": n}
                                          for n in (0, 255)]
            config["linux"]["resources"]["devices"].append(
                {"allow": True, "type": "c", "major": 195, "minor": 0, "access": "rwm"})
        done = self.fixtures.run(SHOW, annotations=pod("nobody"), env=("NVIDIA_VISIBLE_DEVICES=all",), change=devices)
        self.assertIn("NVIDIA_VISIBLE_DEVICES=void\n", done.stdout, done.stderr)
        self.assertNotIn("=all", done.stdout)
        self.assertNotIn("nvidia0", done.stdout)
        self.assertEqual(done.config["linux"]["devices"], [])
        self.assertNotIn(195, [rule.get("major") for rule in done.config["linux"]["resources"]["devices"]])

    def test_a_gpu_under_another_name_is_one(self):
        def devices(config, _):
            config["linux"]["devices"] = [{"path": "/dev/x0", "type": "c", "major": 195, "minor": 0},
                                          {"path": "/dev/zero2", "type": "c", "major": 1, "minor": 5}]
            config["linux"]["resources"]["devices"] += [
                {"allow": True, "type": "c", "major": 195, "access": "rwm"},
                {"allow": True, "type": "c", "major": 1, "minor": 5, "access": "rwm"}]
        done = self.fixtures.run("ls /dev/x0 /dev/zero2", annotations=pod("nobody"), change=devices)
        self.assertEqual(done.stdout, "/dev/zero2\n", done.stderr)
        self.assertEqual([device["path"] for device in done.config["linux"]["devices"]], ["/dev/zero2"])
        self.assertEqual([rule["major"] for rule in done.config["linux"]["resources"]["devices"] if "major" in rule], [1])
        self.assertIn("the device '/dev/x0' is left out", "".join(entry["msg"] for entry in self.logged()))

    def test_a_privileged_container_without_a_share_has_no_limit(self):
        """It has every GPU, and nothing would hold it: a limit, or what was meant to be one, must not be lost."""
        nameless = {key: value for key, value in pod("nobody").items() if not key.endswith("-name")}
        for notes in (pod("nobody"), nameless):
            for env in (("VGPU_MEMORY_LIMIT=1g",), ("VGPU_CORES=30", "NVIDIA_VISIBLE_DEVICES=all"), ("VGPU_CORE=30",)):
                done = self.fixtures.run("echo started", annotations=notes, env=env, change=privileged)
                self.assertEqual((done.stdout, done.returncode != 0), ("", True), (notes, env))
                self.assertRegex(done.stderr, "has a limit and every GPU of the machine|did you mean 'VGPU_CORES'", env)
            for env in ((), ("NVIDIA_VISIBLE_DEVICES=all",), ("VGPU_MEMORY_LIMIT=0",), ("GPU_MEMORY=1",)):
                done = self.fixtures.run("echo started", annotations=notes, env=env, change=privileged)
                self.assertEqual(done.stdout, "started\n", (notes, env, done.stderr))
        done = self.fixtures.run("echo started", annotations=pod("nobody"), env=("VGPU_MEMORY_LIMIT=1g",))
        self.assertEqual(done.stdout, "started\n", done.stderr)
        done = self.fixtures.run(ask("info"), annotations=pod(self.share(80)), env=("VGPU_MEMORY_LIMIT=1g",), change=privileged)
        self.assertEqual(done.stdout, "0\n80 80\n", done.stderr)

    def test_who_was_promised_a_gpu_does_not_start_without(self):
        done = self.fixtures.run("id", annotations=pod("nobody", **{"vgpu.io/requested": "nvidia.com/vgpu"}))
        self.refused(done, "'main'", "'pod-nobody'", "has no share")

    def test_a_plain_container_passes_byte_by_byte(self):
        name, bundle = self.fixtures.bundle("echo plain", annotations=pod("nobody"))
        path = os.path.join(bundle, "config.json")
        before = (pathlib.Path(path).read_bytes(), os.stat(path).st_ino)
        done = self.fixtures.call("run", "-b", bundle, name)
        self.assertEqual(done.stdout, "plain\n", done.stderr)
        self.assertEqual((pathlib.Path(path).read_bytes(), os.stat(path).st_ino), before)

    def test_a_sandbox_is_nobodys_business(self):
        asked = len(self.fixtures.agent.asked)
        notes = pod("nobody", **{"io.kubernetes.cri.container-type": "sandbox"})
        done = self.fixtures.run("echo pause", annotations=notes, env=("NVIDIA_VISIBLE_DEVICES=all",))
        self.assertEqual(done.stdout, "pause\n", done.stderr)
        self.assertEqual(len(self.fixtures.agent.asked), asked)

    def test_a_refusal_of_the_agent_is_the_reason(self):
        self.fixtures.agent.table["refused", "main"] = (grpc.StatusCode.FAILED_PRECONDITION, "GPU 1 is lost")
        done = self.fixtures.run("id", annotations=pod("refused"), env=("NVIDIA_VISIBLE_DEVICES=all",))
        self.refused(done, "GPU 1 is lost")

    def test_an_agent_that_does_not_know_yet_is_asked_again(self):
        uid = self.share(40)
        answer = self.fixtures.agent.table[uid, "main"]
        self.fixtures.agent.table[uid, "main"] = (grpc.StatusCode.UNAVAILABLE, "starting")
        threading.Timer(0.7, self.fixtures.agent.table.__setitem__, [(uid, "main"), answer]).start()
        done = self.fixtures.run(ask("info"), annotations=pod(uid), env=("NVIDIA_VISIBLE_DEVICES=all",))
        self.assertEqual(done.stdout, "0\n40 40\n", done.stderr)

    def test_another_containers_share_is_not_taken(self):
        uid = self.share(40)
        self.fixtures.agent.table["thief", "main"] = self.fixtures.agent.table[uid, "main"]
        self.refused(self.fixtures.run("id", annotations=pod("thief")), uid)

    def test_answers_that_cannot_be_right(self):
        def without(path, **change):
            answer = type(good)()
            answer.CopyFrom(good)
            for mount in answer.mounts:
                if mount.container_path == path:
                    for name, value in change.items():
                        setattr(mount, name, value)
            return answer
        uid = self.share(40)
        good = self.fixtures.agent.table[uid, "main"]
        empty = os.path.join(self.fixtures.folder, "empty")
        pathlib.Path(empty).touch()
        for wrong, word in ((type(good)(), "no share"),
                            (without("/etc/vgpu/region", read_only=True), "region"),
                            (without("/etc/vgpu/region", container_path="/elsewhere"), "region"),
                            (without("/etc/vgpu/share", host_path=empty), "not a share"),
                            (without("/etc/vgpu/share", host_path="/nowhere"), "cannot open"),
                            (without("/dev/gpu", container_path="/etc/vgpu/../x"), "mount"),
                            (without("/dev/gpu", container_path="relative"), "mount"),
                            (b"\xff\xff\xff garbage", "vgpu-node")):
            self.fixtures.agent.table[uid, "main"] = wrong
            self.refused(self.fixtures.run("id", annotations=pod(uid), env=("NVIDIA_VISIBLE_DEVICES=all",)), word)

    def test_twenty_at_once_each_have_their_own(self):
        uids = [f"crowd-{i}" for i in range(20)]
        for i, uid in enumerate(uids):
            self.fixtures.share(uid, "main", 20 + i, i % 4)
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            # With a sign of wanting a GPU they wait for an agent that is slow.
            runs = list(pool.map(lambda uid: self.fixtures.run(ask("info", "uuid"), annotations=pod(uid), env=(
                "NVIDIA_VISIBLE_DEVICES=all",)), uids))
        for i, done in enumerate(runs):
            self.assertEqual(done.stdout, f"0\n{20 + i} {20 + i}\n{self.fixtures.uuids[i % 4]}\n", done.stderr)

    def test_containers_of_one_pod_by_name(self):
        uid = self.share(30, gpu=0, container="init")
        self.fixtures.share(uid, "sidecar", 70, 3)
        for name, answer in (("init", f"0\n30 30\n{self.fixtures.uuids[0]}\n"),
                             ("sidecar", f"0\n70 70\n{self.fixtures.uuids[3]}\n")):
            done = self.fixtures.run(ask("info", "uuid"), annotations=pod(uid, name))
            self.assertEqual(done.stdout, answer, done.stderr)

    def test_create_start_delete_leave_nothing(self):
        uid = self.share(30)
        name, bundle = self.fixtures.bundle("busybox sleep 60", annotations=pod(uid))
        with open(os.devnull, "w", encoding="utf-8") as null:
            # runc keeps the descriptors it is given: a pipe would never end.
            created = self.fixtures.call_quiet(null, "create", "--bundle", bundle, name)
        self.assertEqual(created, 0)
        self.assertEqual(len(self.state_folders(name)), 1)
        self.assertEqual(self.fixtures.call("start", name).returncode, 0)
        state = self.fixtures.call("state", name)
        self.assertIn('"running"', state.stdout, state.stderr)
        self.assertNotEqual(self.fixtures.call("delete", name).returncode, 0)
        self.assertEqual(len(self.state_folders(name)), 1)
        self.assertEqual(self.fixtures.call("delete", "--force", name).returncode, 0)
        self.assertEqual(self.state_folders(name), [])

    def state_folders(self, name):
        return [entry for entry in os.listdir(self.fixtures.state) if entry.endswith(name)]


class Down(FixturesCase):
    options = ("--wait=1",)

    def tearDown(self):
        self.fixtures.agent.stop()

    def test_a_gpu_container_waits_and_says_why(self):
        begin = time.monotonic()
        done = self.fixtures.run("id", annotations=pod("any"), env=("NVIDIA_VISIBLE_DEVICES=all",))
        self.assertGreater(time.monotonic() - begin, 0.9)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("did not answer within 1 s", done.stderr)
        self.assertIn("did not answer within 1 s", self.logged()[-1]["msg"])

    def test_a_plain_container_does_not_wait(self):
        done = self.fixtures.run("echo plain", annotations=pod("any"))
        self.assertEqual(done.stdout, "plain\n", done.stderr)

    def test_a_privileged_container_with_a_limit_does_not_start(self):
        done = self.fixtures.run("echo started", annotations=pod("any"), env=("VGPU_MEMORY_LIMIT=1g",), change=privileged)
        self.assertEqual(done.stdout, "")
        self.assertIn("has a limit and every GPU of the machine", done.stderr)

    def test_an_agent_that_hangs_holds_a_plain_container_a_second_at_most(self):
        with socket.socket(socket.AF_UNIX) as hung:
            hung.bind(self.fixtures.agent.path)
            hung.listen(8)
            done = self.fixtures.run("echo plain", annotations=pod("any"))
            self.assertEqual(done.stdout, "plain\n", done.stderr)
            done = self.fixtures.run("id", annotations=pod("any"), env=("NVIDIA_VISIBLE_DEVICES=all",))
            self.assertIn("did not answer within 1 s", done.stderr)

    def test_noise_instead_of_grpc(self):
        with socket.socket(socket.AF_UNIX) as noise:
            noise.bind(self.fixtures.agent.path)
            noise.listen(64)
            threading.Thread(target=serve_noise, args=(noise,), daemon=True).start()
            done = self.fixtures.run("id", annotations=pod("any"), env=("NVIDIA_VISIBLE_DEVICES=all",))
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


class Restart(FixturesCase):
    options = ("--wait=10",)

    def test_an_agent_that_comes_back_within_the_wait(self):
        self.fixtures.share("late", "main", 80)
        timer = threading.Timer(1.5, self.fixtures.agent.start)
        timer.start()
        done = self.fixtures.run(ask("info"), annotations=pod("late"), env=("NVIDIA_VISIBLE_DEVICES=all",))
        self.assertEqual(done.stdout, "0\n80 80\n", done.stderr)
        timer.join()


def serve_noise(listener):
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        client.sendall(b"HTTP/1.0 200 OK\r\n\r\nnoise" * 10)
        client.close()


if __name__ == "__main__":
    main("__main__")
