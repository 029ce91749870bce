#!/usr/bin/env python3
"""Containers without Kubernetes behind vgpu-runtime: test_own.py VGPU BURN SOURCE_ROOT.

Limits by their own variables, as Docker's users give them; shares as CDI devices; and everything that is
passed to the runtime behind.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import time

from cli_case import BURN, VGPU, main
from lab import DRIVER, OUT_OF_MEMORY, RUNTIME, LabCase, ask, image_add, output, pod

SEE = "printf '%s\\n' \"$NVIDIA_VISIBLE_DEVICES\"; "


class Own(LabCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lab.configure(f"--sim={cls.lab.machine}", f"--sim-driver={DRIVER}")

    def test_limits_by_variables(self):
        for name in ("VGPU_MEMORY_LIMIT", "CUDA_MEM_LIMIT", "CUDA_DEVICE_MEMORY_LIMIT_0"):
            done = self.lab.run(ask("info", "alloc 102", "alloc 100"), env=(f"{name}=100m",))
            self.assertEqual(done.stdout, f"0\n100 100\n{OUT_OF_MEMORY}\n0\n", done.stderr)

    def test_the_share_cannot_be_raised_from_inside(self):
        script = ("export VGPU_MEMORY_LIMIT=9g CUDA_MEM_LIMIT=9g VGPU_SHARE=/tmp/x; unset LD_PRELOAD; "
                  "(echo >/etc/vgpu/share) 2>/dev/null && echo written; "
                  "mv /etc/vgpu /tmp/v 2>/dev/null && echo moved; " + ask("alloc 102", "alloc 100"))
        done = self.lab.run(script, env=("VGPU_MEMORY_LIMIT=100m",))
        self.assertEqual(done.stdout, f"0\n{OUT_OF_MEMORY}\n0\n", done.stderr)

    def test_compute_is_limited_too(self):
        def burn(_, bundle):
            image_add(os.path.join(bundle, "rootfs"), BURN)
        output(VGPU, "run", "--machine", self.lab.machine, "--kernel", "vgpu_burn=2000", "--", "true")
        before, begin = self.busy_s(), time.monotonic()
        done = self.lab.run("vgpu-burn 2", env=("VGPU_CORES=25", "VGPU_DEVICES=0"), change=burn)
        used, passed = self.busy_s() - before, time.monotonic() - begin
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(used, 0.05)
        self.assertLess(used, 0.3 * passed)

    def busy_s(self):
        gpus = json.loads(output(VGPU, "sim", "stat", "--machine", self.lab.machine, "--json"))["gpus"]
        return gpus[0]["busy_ns"] / 1e9

    def test_devices_by_number_and_by_name(self):
        uuids = self.lab.uuids
        for wanted, given in ((None, uuids), ("all", uuids), ("2", uuids[2:3]), (f"3,{uuids[0]}", [uuids[3], uuids[0]])):
            env = ["VGPU_MEMORY_LIMIT=100m"] + ([f"NVIDIA_VISIBLE_DEVICES={wanted}"] if wanted else [])
            done = self.lab.run(SEE, env=env)
            self.assertEqual(done.stdout, ",".join(given) + "\n", done.stderr)

    def test_mistakes_are_told_and_nothing_starts(self):
        for variable, words in (("VGPU_MEMORY_LIMIT=lots", "VGPU_MEMORY_LIMIT"),
                                ("NVIDIA_VISIBLE_DEVICES=9", "no GPU '9'"),
                                ("CUDA_CORE_LIMIT=120", "CUDA_CORE_LIMIT")):
            done = self.lab.run("echo started", env=("VGPU_MEMORY_LIMIT_0=1g", variable))
            self.assertNotEqual(done.returncode, 0)
            self.assertNotIn("started", done.stdout)
            self.assertIn(words, done.stderr)
            self.assertIn(words, self.logged()[-1]["msg"])

    def test_without_limits_nothing_is_touched(self):
        for env in ((), ("NVIDIA_VISIBLE_DEVICES=all",), ("VGPU_MEMORY_LIMIT=1g", "NVIDIA_VISIBLE_DEVICES=void")):
            name, bundle = self.lab.bundle("echo plain", env=env)
            before = pathlib.Path(bundle, "config.json").read_bytes()
            self.assertEqual(self.lab.call("run", "-b", bundle, name).stdout, "plain\n")
            self.assertEqual(pathlib.Path(bundle, "config.json").read_bytes(), before)

    def test_what_is_left_is_swept_up(self):
        done = self.lab.run("echo 1", env=("VGPU_MEMORY_LIMIT=1g",))
        self.assertEqual(done.stdout, "1\n", done.stderr)
        left = set(os.listdir(self.lab.state))  # `run` has no `delete`
        for name in left:
            os.utime(os.path.join(self.lab.state, name), (1, 1))
        self.lab.run("echo 2", env=("VGPU_MEMORY_LIMIT=1g",))
        self.assertFalse(left & set(os.listdir(self.lab.state)))

    def cdi(self, *words):
        return subprocess.run([RUNTIME, "cdi", *words], env={"VGPU_RUNTIME_CONF": self.lab.conf},
                              capture_output=True, text=True, check=False)

    def test_a_share_as_a_cdi_device(self):
        made = self.cdi("--name", "train", "--memory", "100m", "--gpus", "1")
        self.assertEqual(made.returncode, 0, made.stderr)
        spec = json.loads(made.stdout)
        self.assertEqual((spec["cdiVersion"], spec["kind"], spec["devices"][0]["name"]),
                         ("0.5.0", "vgpu.io/share", "train"))

        def inject(config, _):  # as an engine does
            edits = spec["devices"][0]["containerEdits"]
            config["process"]["env"] += edits["env"] + [f"CUDA_VISIBLE_DEVICES={self.lab.uuids[1]}"]
            config["mounts"] += [{"source": m["hostPath"], "destination": m["containerPath"], "type": "bind",
                                  "options": m["options"]} for m in edits["mounts"]]
        for _ in range(2):  # the share outlives its containers
            done = self.lab.run(ask("info", "uuid", "alloc 102"), change=inject)
            self.assertEqual(done.stdout, f"0\n100 100\n{self.lab.uuids[1]}\n{OUT_OF_MEMORY}\n", done.stderr)
        self.assertIn("already", self.cdi("--name", "train", "--memory", "1g").stderr)
        self.assertEqual(self.cdi("--name", "train", "--remove").returncode, 0)
        self.assertIn("there is no share", self.cdi("--name", "train", "--remove").stderr)

    def test_cdi_explains_itself(self):
        self.assertIn("--memory SIZE", self.cdi("--help").stdout)
        for words, part in ((("--name", "x"), "which limits"), (("--memory", "1g"), "--name"),
                            (("--name", "x", "--memori", "1g"), "--memory"), (("--name", "../x", "--memory", "1g"), "--name"),
                            (("--name", "x", "--memory", "much"), "VGPU_MEMORY_LIMIT")):
            done = self.cdi(*words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(part, done.stderr)
            self.assertEqual(done.stdout, "")


class AgentsCdi(LabCase):
    """Devices that the agent names by CDI are injected out of the node's specifications."""

    def test_edits_of_all_kinds(self):
        folder = os.path.join(self.lab.folder, "cdi")
        os.mkdir(folder)
        pathlib.Path(folder, "x.yaml").write_text(
            "cdiVersion: 0.6.0\nkind: nvidia.com/gpu\ncontainerEdits:\n  env:\n  - ALL=1\ndevices:\n- name: zero\n"
            "  containerEdits:\n    env:\n    - ONE=2\n    deviceNodes:\n    - path: /dev/nvidia0\n"
            "      hostPath: /dev/zero\n    mounts:\n    - hostPath: /etc/hostname\n      containerPath: /driver\n"
            "      options: [ro, bind]\n", encoding="utf-8")
        self.lab.agent.start()
        answer = self.lab.share("cdi", "main", 100)
        answer.cdi_devices.append("nvidia.com/gpu=zero")
        os.environ["VGPU_RUNTIME_CDI"] = folder
        self.addCleanup(os.environ.pop, "VGPU_RUNTIME_CDI")
        done = self.lab.run("echo $ALL $ONE; ls /dev/nvidia0 /driver; dd if=/dev/nvidia0 bs=1 count=3 | busybox wc -c",
                            annotations=pod("cdi"))
        self.assertEqual(done.stdout, "1 2\n/dev/nvidia0\n/driver\n3\n", done.stderr)
        answer.cdi_devices[0] = "nvidia.com/gpu=one"
        done = self.lab.run("id", annotations=pod("cdi"))
        self.assertIn("no CDI specification", done.stderr)


class Pass(LabCase):
    """A runtime behind that tells what it was told."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="vgpu-pass-", dir=self.lab.folder)
        self.behind = os.path.join(self.folder, "behind")
        pathlib.Path(self.behind).write_text("#!/bin/sh\nprintf '[%s]' \"$@\"\nexit 7\n", encoding="utf-8")
        os.chmod(self.behind, 0o755)

    def call(self, *words, **environment):
        return subprocess.run([RUNTIME, *words], capture_output=True, text=True, check=False, timeout=20,
                              env={"PATH": "/usr/sbin:/usr/bin:/bin", "VGPU_RUNTIME_REAL": self.behind, **environment})

    def test_everything_else_passes_as_it_is(self):
        for words in (("--version",), ("--root", "/r", "state", "x"), ("kill", "x", "KILL"), (),
                      ("--new-option", "value", "exec", "--cwd", "/a b", "x", "--", "sh", "-c", "create"),
                      ("delete", "--force", "x"), ("events", "--stats", "x"), ("unheard-of", "", "-b", "/nowhere"),
                      ("list", "-f", "json")):
            done = self.call(*words)
            self.assertEqual(done.stdout, "".join(f"[{word}]" for word in words) or "[]")
            self.assertEqual((done.returncode, done.stderr), (7, ""))

    def test_a_start_is_seen_wherever_its_options_stand(self):
        for words in (("create", "--bundle", "/nowhere", "x"), ("--systemd-cgroup", "run", "-b=/nowhere", "x"),
                      ("--root", "create", "--log", "/dev/null", "create", "--pid-file", "p", "-bundle", "/nowhere", "x"),
                      ("--unknown", "word", "create", "-b/nowhere", "x"), ("restore", "--bundle=/nowhere", "x")):
            done = self.call(*words)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("/nowhere/config.json", done.stderr)

    def test_options_with_a_mistake_stop_starts_and_nothing_else(self):
        conf = os.path.join(self.folder, "conf")
        for text, word in (("--wiat=3", "--wait"), ("--wait=long", "--wait"), ("wait=3", "--option=value")):
            pathlib.Path(conf).write_text(text + "\n", encoding="utf-8")
            done = self.call("create", "x", VGPU_RUNTIME_CONF=conf)
            self.assertEqual(done.returncode, 1)
            self.assertIn(word, done.stderr)
            self.assertEqual(self.call("kill", "x", VGPU_RUNTIME_CONF=conf).returncode, 7)

    def test_it_is_never_its_own_runtime(self):
        link = os.path.join(self.folder, "runc")
        os.symlink(RUNTIME, link)
        self.assertIn("is itself", self.call("state", "x", VGPU_RUNTIME_REAL=link).stderr)
        copy = os.path.join(self.folder, "copy")
        pathlib.Path(copy).write_bytes(pathlib.Path(RUNTIME).read_bytes())
        os.chmod(copy, 0o755)
        self.assertIn("is itself", self.call("state", "x", VGPU_RUNTIME_REAL=copy).stderr)
        found = self.call("--version", VGPU_RUNTIME_REAL="", PATH=f"{self.folder}:/usr/sbin:/usr/bin")
        self.assertIn("runc version", found.stdout)
        nothing = self.call("--version", VGPU_RUNTIME_REAL="", PATH="/nowhere")
        self.assertIn("neither runc nor crun", nothing.stderr)

    def test_text_logs_are_written_too(self):
        log = os.path.join(self.folder, "log")
        self.call("--log", log, "create", "-b", "/nowhere", "x")
        self.assertRegex(pathlib.Path(log).read_text(encoding="utf-8"),
                         r'^time="\d{4}-.*Z" level=error msg="vgpu-runtime: cannot read \'/nowhere/config.json\'.*"\n$')

    def test_help(self):
        self.assertIn("--socket PATH", self.call("--help").stdout)


if __name__ == "__main__":
    main("__main__")
