#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whose a share is and what it is called: test_names.py VGPU BURN SOURCE_ROOT.

Containers by the names that Docker, Podman and nerdctl gave them, by id and by the beginning of an id; shares that
users of the machine made by `vgpu run`, for root, beside them.
"""

import fcntl
import json
import os
import pathlib
import secrets
import subprocess

import grpc

from beside import StandaloneCase
from cli_case import BURN, VGPU, main
from fixtures import MESSAGES
from peer import eventually

GIB = 1 << 30
# Nobody else's: who runs the tests may have shares and programs of their own.
USER, OTHER = str(200000 + os.getpid()), str(5000000 + os.getpid())
TRAIN = f"train{os.getpid()}"


class Names(StandaloneCase):
    def docker(self, name, container_id=None, network_of=None):
        """A container as Docker has it: its files are mounted, its name is in none of them."""
        container_id = container_id or secrets.token_hex(32)
        data = os.path.join(self.fixtures.folder, "data", "containers")
        for folder in {container_id, network_of or container_id}:
            os.makedirs(os.path.join(data, folder), exist_ok=True)
            pathlib.Path(data, folder, "hostname").touch()
        self.rename(container_id, name)

        def change(config, _):
            config["mounts"].append({"destination": "/etc/hostname", "type": "bind", "options": ["rbind"],
                                     "source": os.path.join(data, network_of or container_id, "hostname")})
        return self.probe("VGPU_MEMORY_LIMIT=1g", change=change, name=container_id)

    def rename(self, container_id, name):
        path = pathlib.Path(self.fixtures.folder, "data", "containers", container_id, "config.v2.json")
        path.with_suffix(".new").write_text(json.dumps({"ID": container_id, "Name": f"/{name}"}), encoding="utf-8")
        os.rename(path.with_suffix(".new"), path)

    def podman(self, name):
        container_id = secrets.token_hex(32)
        storage = pathlib.Path(self.fixtures.folder, f"storage-{name}", "overlay-containers")
        storage.mkdir(parents=True)
        (storage / "containers.json").write_text(json.dumps([
            {"id": secrets.token_hex(32), "names": ["another"]}, {"id": container_id, "names": [name]}]), encoding="utf-8")
        return self.probe("VGPU_MEMORY_LIMIT=1g", name=container_id, bundle_path=str(storage / container_id / "userdata"))

    def set(self, word, memory="2Gi"):
        done = self.vgpu("set", word, "--memory", memory)
        return done.returncode, done.stderr

    def test_a_container_is_called_as_its_engine_calls_it(self):
        self.node()
        web, second = self.docker("web"), self.podman("train_1.2")
        third = self.probe("VGPU_MEMORY_LIMIT=1g", name=secrets.token_hex(32), change=lambda config, _: config[
            "annotations"].update({"nerdctl/name": "nerd"}))
        joined = self.docker("joined", network_of=web.name)
        for name, container in (("web", web), ("train_1.2", second), ("nerd", third), ("joined", joined)):
            self.assertTrue(eventually(lambda name=name: name in self.shares()), list(self.shares()))
            self.assertEqual(self.shares()[name]["container"], container.name)
            self.assertIn(name, self.vgpu("ps").stdout)
            self.assertEqual(self.set(name), (0, ""))
            self.assertEqual(container.ask("info"), "2048 2048")

    def test_so_it_is_by_its_id_and_by_the_beginning_of_it(self):
        self.node()
        same = secrets.token_hex(31)
        first, second = self.docker("one", same + "00"), self.docker("two", same + "01")
        self.assertTrue(eventually(lambda: {"one", "two"} <= set(self.shares())), list(self.shares()))
        self.assertEqual(self.set(first.name, "2Gi"), (0, ""))
        self.assertEqual((first.ask("info"), second.ask("info")), ("2048 2048", "1024 1024"))
        code, said = self.set(same)
        self.assertEqual(code, 1)
        for part in ("matches 2 shares", f"one ({same[:12]})", f"two ({same[:12]})"):
            self.assertIn(part, said)
        self.assertEqual((first.ask("info"), second.ask("info")), ("2048 2048", "1024 1024"))
        second.end()
        self.assertTrue(eventually(lambda: "two" not in self.shares()))
        for number, word in enumerate((same, same[:12], same[:7])):
            self.assertEqual(self.set(word, f"{number + 3}Gi"), (0, ""))
            self.assertEqual(first.ask("info"), f"{(number + 3) * 1024} {(number + 3) * 1024}")
        code, said = self.set("nobody")
        self.assertEqual(code, 1)
        self.assertIn("nobody", said)

    def test_equal_names_are_distinguished_by_id(self):
        self.node()
        first, second = self.docker("web"), self.podman("web")
        self.assertTrue(eventually(lambda: f"{second.name[:12]} has share" in self.logged_by_node()))
        code, said = self.set("web")
        self.assertEqual(code, 1)
        for container in (first, second):
            self.assertIn(f"web ({container.name[:12]})", said)
        self.assertEqual(self.set(second.name[:12]), (0, ""))
        self.assertEqual((first.ask("info"), second.ask("info")), ("1024 1024", "2048 2048"))

    def test_a_container_that_is_renamed_is_known_by_its_new_name(self):
        self.node()
        container = self.docker("before")
        self.assertTrue(eventually(lambda: "before" in self.shares()))
        self.rename(container.name, "after")
        self.assertEqual(self.set("after"), (0, ""))
        self.assertEqual(self.set("before")[0], 1)
        self.assertIn("after", self.shares())

    def test_a_name_that_is_none_is_not_believed(self):
        self.node()
        for name in ("\x1b[31mred", "", "a b", "x" * 200):
            container = self.docker(name)
            self.assertTrue(eventually(lambda: container.name[:12] in self.shares()), list(self.shares()))
            container.end()

    def run_as(self, user, name, *words):
        """A program of that user's in a share of its own."""
        home = self.home(user)
        try:
            process = subprocess.Popen(
                [VGPU, "run", "--machine", self.fixtures.machine, "--name", name, *words, "--", BURN, "-i", "0",
                 "-m", "64", "60"],
                env={"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": home}, user=int(user), group=int(user), extra_groups=[],
                stdout=subprocess.DEVNULL)
        except PermissionError:
            self.skipTest("needs a build that every user can run")

        def end():
            process.kill()
            process.wait()
        self.addCleanup(end)
        return process

    def user_shares(self):
        with grpc.insecure_channel(f"unix:{self.fixtures.folder}/node.sock") as channel:
            method = channel.unary_unary(
                "/vgpu.v1.Shares/List", request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=MESSAGES.vgpu__v1__ListSharesResponse.FromString)
            return [share for share in method(MESSAGES.vgpu__v1__ListSharesRequest(), timeout=10).shares if share.user]

    def limit_of(self, user, name):
        done = subprocess.run([VGPU, "ps", "--json"], env={"PATH": "/bin", "XDG_RUNTIME_DIR": self.home(user)},
                              user=int(user), group=int(user), extra_groups=[], capture_output=True, text=True, check=True)
        return [share["gpus"][0]["limit_bytes"] for share in json.loads(done.stdout)["shares"] if share["name"] == name]

    def test_what_users_run_is_listed_measured_and_set(self):
        self.node(f"--metrics-listen=unix:{self.fixtures.folder}/metrics.sock")
        self.run_as(USER, TRAIN, "--memory", "1Gi", "--cores", "30")
        self.assertTrue(eventually(lambda: [(share.user, share.uid, share.name, share.process_count, share.gpus[0].limit_bytes)
                                            for share in self.user_shares()] == [(USER, int(USER), TRAIN, 1, GIB)], 20),
                        self.user_shares())
        self.assertTrue(eventually(lambda: self.user_shares()[0].gpus[0].physical_bytes >= 64 << 20), self.user_shares())
        labels = f'user="{USER}",name="{TRAIN}"}}'
        found = [line for line in self.metrics().splitlines() if labels in line]
        self.assertTrue(any(line.startswith("vgpu_container_memory_limit_bytes{") and line.endswith(f" {GIB}")
                            for line in found), self.metrics())
        self.assertTrue(any(line.startswith("vgpu_container_processes{") and line.endswith(" 1") for line in found))
        self.assertEqual(self.set(TRAIN, "2Gi"), (0, ""))
        self.assertEqual(self.limit_of(USER, TRAIN), [2 * GIB])
        self.assertEqual(self.set(f"{USER}/{TRAIN}", "3Gi"), (0, ""))
        self.assertEqual(self.limit_of(USER, TRAIN), [3 * GIB])

    def test_equal_names_of_two_users_are_distinguished(self):
        self.node()
        for user in (USER, OTHER):
            self.run_as(user, TRAIN, "--memory", "1Gi")
        self.assertTrue(eventually(lambda: len(self.user_shares()) == 2, 20), self.user_shares())
        code, said = self.set(TRAIN)
        self.assertEqual(code, 1)
        for user in (USER, OTHER):
            self.assertIn(f"{user}/{TRAIN}", said)
        self.assertEqual(self.set(f"{OTHER}/{TRAIN}", "2Gi"), (0, ""))
        self.assertEqual((self.limit_of(USER, TRAIN), self.limit_of(OTHER, TRAIN)), ([GIB], [2 * GIB]))

    def test_who_was_killed_is_not_listed(self):
        self.node()
        process = self.run_as(USER, "gone", "--memory", "1Gi")
        self.assertTrue(eventually(lambda: self.user_shares(), 20))
        subprocess.run(["pkill", "-KILL", "-u", USER], check=False)
        process.wait(20)
        self.assertTrue(eventually(lambda: not self.user_shares()), self.user_shares())

    def test_forged_run_folders_harm_nobody(self):
        self.node(f"--metrics-listen=unix:{self.fixtures.folder}/metrics.sock")
        self.run_as(USER, TRAIN, "--memory", "1Gi")
        self.assertTrue(eventually(lambda: self.user_shares(), 20))
        good = pathlib.Path(self.home(USER), "vgpu", TRAIN, "share").read_bytes()
        root = pathlib.Path(self.home(OTHER), "vgpu")
        self.assertTrue(eventually(lambda: not root.exists(), 20), list(root.rglob("*")))   # of the case before
        root.mkdir(0o700)
        held = []
        for name, file in (("pipe", "share"), ("pages", "grant"), ("charges", "region"), ("link", "share")):
            (root / name).mkdir(0o700)
            if file != "share":
                (root / name / "share").write_bytes(good)
            if name == "link":
                os.symlink("/etc/shadow", root / name / file)
            else:
                os.mkfifo(root / name / file)
        for name in ("short", "many", "odd"):
            (root / name).mkdir(0o700)
            (root / name / "share").write_bytes({"short": good[:100], "odd": good, "many": good[:64] + good[64:72] +
                                                 b"\xff\xff\xff\x3f" + good[76:]}[name])
        for path in [root, *root.rglob("*")]:
            os.chown(path, int(OTHER), int(OTHER), follow_symlinks=False)
        for path in root.rglob("share"):
            if path.is_file() and not path.is_symlink():
                file = open(path, "rb")     # in use: somebody has its lock
                self.addCleanup(file.close)
                fcntl.flock(file, fcntl.LOCK_SH)
                held.append(file)
        self.assertIn((TRAIN, USER), [(share.name, share.user) for share in self.user_shares()])
        self.assertIn(f'user="{USER}",name="{TRAIN}"}}', self.metrics())
        self.assertEqual(self.set(f"{USER}/{TRAIN}"), (0, ""))
        self.assertEqual(self.set(f"{OTHER}/pipe")[0], 1)


if __name__ == "__main__":
    main(__name__)
