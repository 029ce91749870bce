#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that are started in a container that runs: test_exec.py VGPU BURN SOURCE_ROOT.

An engine makes the environment of such a program from its own copy of the configuration, in which nothing is of
what vgpu-runtime added.
"""

import json
import os
import pathlib
import subprocess
import time

from cli_case import main
from fixtures import OUT_OF_MEMORY, FixturesCase, ask, pod

# Every byte of it but the environment stays: a number that jansson cannot hold, odd spaces, what nobody knows.
PROCESS = ('{"terminal":false ,"user":{"uid":0,"gid":0},"args":%s,%s"cwd":"/", "unknown":[1.50],'
           '"rlimits":[{"type":"RLIMIT_CORE","hard":18446744073709551615,"soft":0}],"noNewPrivileges":true}\n')
ENVIRONMENT = "cat /proc/self/environ | busybox tr '\\0' '\\n'"


class Exec(FixturesCase):
    def setUp(self):
        super().setUp()
        self.fixtures.agent.start()
        self.addCleanup(self.fixtures.agent.stop)

    def start(self, annotations=None):
        name, bundle = self.fixtures.bundle("exec busybox sleep 600", annotations=annotations)
        with open(os.devnull, "wb") as null:
            self.assertEqual(self.fixtures.call_quiet(null, "run", "--detach", "--bundle", bundle, name), 0)
        self.addCleanup(self.fixtures.call, "delete", "--force", name)
        return name

    def start_with_share(self, gpu=2):
        uid = f"uid-{time.monotonic_ns()}"
        self.fixtures.share(uid, "main", 100, gpu)
        return self.start(pod(uid))

    def exec(self, name, script, env=("PATH=/bin",), option="--process"):
        """As an engine does it; what is left of the file is in .text, what it was in .before."""
        path = pathlib.Path(self.fixtures.folder, "process.json")
        env = "" if env is None else f'"env": {json.dumps(env)},'
        before = PROCESS % (json.dumps(["/bin/sh", "-c", script]), env)
        path.write_text(before, encoding="utf-8")
        os.chmod(path, 0o640)
        done = self.fixtures.call("exec", option, str(path), name)
        done.before, done.text = before, path.read_text(encoding="utf-8")
        self.assertEqual(path.stat().st_mode & 0o777, 0o640)
        return done

    def test_the_share_is_seen_and_holds(self):
        name = self.start_with_share()
        for option in ("--process", "-p"):
            done = self.exec(name, ask("info", "uuid", "alloc 102"), option=option)
            self.assertEqual(done.stdout, f"0\n100 100\n{self.fixtures.uuids[2]}\n{OUT_OF_MEMORY}\n", done.stderr)

    def test_only_the_environment_changes(self):
        name, uuid = self.start_with_share(1), self.fixtures.uuids[1]
        ours = [f"VGPU_DEVICES={uuid}", f"NVIDIA_VISIBLE_DEVICES={uuid}", "VGPU_SIM=/dev/gpu",
                "LD_LIBRARY_PATH=/opt/driver", f"CUDA_VISIBLE_DEVICES={uuid}"]
        text = json.dumps(["PATH=/bin", *ours], separators=(",", ":"))
        done = self.exec(name, "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.text, done.before.replace('["PATH=/bin"]', text))
        done = self.exec(name, "true", env=None)
        self.assertEqual(json.loads(done.text)["env"], ours)

    def test_what_is_the_users_to_say(self):
        name, uuid = self.start_with_share(1), self.fixtures.uuids[1]
        done = self.exec(name, ENVIRONMENT, env=(
            "PATH=/bin", "CUDA_VISIBLE_DEVICES=0", "LD_LIBRARY_PATH=/own", "VGPU_SIM=/tmp/forged", "OWN=1",
            "NVIDIA_VISIBLE_DEVICES=all", "GPU_DEVICES_UUID=forged", "CUDA_DEVICE_MEMORY_LIMIT_0=50m"))
        lines = done.stdout.split("\n")
        for line in ("CUDA_VISIBLE_DEVICES=0", "LD_LIBRARY_PATH=/opt/driver:/own", "VGPU_SIM=/dev/gpu", "OWN=1",
                     f"NVIDIA_VISIBLE_DEVICES={uuid}", "CUDA_DEVICE_MEMORY_LIMIT_0=50m"):
            self.assertIn(line, lines, done.stderr)
        self.assertNotIn("forged", done.stdout)

    def test_variables_of_cdi_devices_too(self):
        folder = pathlib.Path(self.fixtures.folder, "cdi")
        folder.mkdir()
        (folder / "x.yaml").write_text("cdiVersion: 0.6.0\nkind: nvidia.com/gpu\ndevices:\n- name: zero\n"
                                       "  containerEdits:\n    env:\n    - OF_CDI=1\n", encoding="utf-8")
        os.environ["VGPU_RUNTIME_CDI"] = str(folder)
        self.addCleanup(os.environ.pop, "VGPU_RUNTIME_CDI")
        self.fixtures.share("cdi", "main", 100).cdi_devices.append("nvidia.com/gpu=zero")
        done = self.exec(self.start(pod("cdi")), ENVIRONMENT)
        self.assertEqual(done.stdout.split("\n").count("OF_CDI=1"), 1, done.stderr)

    def test_a_completed_environment_is_not_completed_again(self):
        name = self.start_with_share()
        done = self.exec(name, ENVIRONMENT, env=("PATH=/bin", "LD_LIBRARY_PATH=/opt/driver:/own"))
        self.assertIn("LD_LIBRARY_PATH=/opt/driver:/own\n", done.stdout)

    def test_a_container_without_a_share_is_left_alone(self):
        name = self.start()
        done = self.exec(name, "echo plain", env=("PATH=/bin", "NVIDIA_VISIBLE_DEVICES=all"))
        self.assertEqual((done.stdout, done.text), ("plain\n", done.before), done.stderr)

    def test_arguments_instead_of_a_file(self):
        """The runtime behind has the completed configuration."""
        done = self.fixtures.call("exec", self.start_with_share(), "/bin/sh", "-c", ask("info", "alloc 102"))
        self.assertEqual(done.stdout, f"0\n100 100\n{OUT_OF_MEMORY}\n", done.stderr)

    def test_what_was_kept_goes_with_the_container(self):
        name = self.start_with_share()
        folder, = [entry for entry in pathlib.Path(self.fixtures.state).iterdir() if entry.name.endswith("-" + name)]
        self.assertEqual((folder / "saved_env").stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.fixtures.call("delete", "--force", name).returncode, 0)
        self.assertFalse(folder.exists())

    def test_nothing_that_goes_wrong_is_in_the_way(self):
        name = self.start_with_share()
        folder, = [entry for entry in pathlib.Path(self.fixtures.state).iterdir() if entry.name.endswith("-" + name)]
        for kept in ("[1", "[1]", "{}", '["x"]', None):
            if kept is None:
                (folder / "saved_env").unlink()  # of an older release
            else:
                (folder / "saved_env").write_text(kept, encoding="utf-8")
            done = self.exec(name, "echo there")
            self.assertEqual(done.stdout, "there\n", f"{kept}: {done.stderr}")

    def test_a_process_that_is_none_is_the_other_runtimes_to_refuse(self):
        name = self.start_with_share()
        path = pathlib.Path(self.fixtures.folder, "none.json")
        for text in ("", "[]", '{"env":{}}', '{"env":["A'):
            path.write_text(text, encoding="utf-8")
            self.assertNotEqual(self.fixtures.call("exec", "--process", str(path), name).returncode, 0)
            self.assertEqual(path.read_text(encoding="utf-8"), text)

    def test_a_pipe_is_not_emptied(self):
        name = self.start_with_share()
        pipe = os.path.join(self.fixtures.folder, "pipe")
        os.mkfifo(pipe)
        text = PROCESS % ('["/bin/sh", "-c", "echo piped"]', "")
        with subprocess.Popen(["sh", "-c", f"printf %s \"$1\" >{pipe}", "sh", text]) as writer:
            done = self.fixtures.call("exec", "--process", pipe, name, timeout=20)
            writer.kill()
        self.assertEqual(done.stdout, "piped\n", done.stderr)


if __name__ == "__main__":
    main("__main__")
