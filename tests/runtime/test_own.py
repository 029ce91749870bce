#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
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
from fixtures import DRIVER, OUT_OF_MEMORY, RUNTIME, FixturesCase, ask, image_add, output, pod, privileged

SEE = "printf '%s\\n' \"$NVIDIA_VISIBLE_DEVICES\"; "


ABSENT = "GPU-00000000-0000-0000-0000-000000000000"


class Own(FixturesCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fixtures.configure(f"--sim={cls.fixtures.machine}", f"--sim-driver={DRIVER}")

    def test_limits_by_variables(self):
        for name in ("VGPU_MEMORY_LIMIT", "CUDA_MEM_LIMIT", "CUDA_DEVICE_MEMORY_LIMIT_0"):
            done = self.fixtures.run(ask("info", "alloc 102", "alloc 100"), env=(f"{name}=100m",))
            self.assertEqual(done.stdout, f"0\n100 100\n{OUT_OF_MEMORY}\n0\n", done.stderr)

    def test_the_share_cannot_be_raised_from_inside(self):
        script = ("export VGPU_MEMORY_LIMIT=9g CUDA_MEM_LIMIT=9g VGPU_SHARE=/tmp/x; unset LD_PRELOAD; "
                  "(echo >/etc/vgpu/share) 2>/dev/null && echo written; "
                  "mv /etc/vgpu /tmp/v 2>/dev/null && echo moved; " + ask("alloc 102", "alloc 100"))
        done = self.fixtures.run(script, env=("VGPU_MEMORY_LIMIT=100m",))
        self.assertEqual(done.stdout, f"0\n{OUT_OF_MEMORY}\n0\n", done.stderr)

    def test_compute_is_limited_too(self):
        def burn(_, bundle):
            image_add(os.path.join(bundle, "rootfs"), BURN)
        output(VGPU, "run", "--machine", self.fixtures.machine, "--kernel", "vgpu_burn=2000", "--", "true")
        before, begin = self.busy_s(), time.monotonic()
        done = self.fixtures.run("vgpu-burn 2", env=("VGPU_CORES=25", "VGPU_DEVICES=0"), change=burn)
        used, passed = self.busy_s() - before, time.monotonic() - begin
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(used, 0.05)
        self.assertLess(used, 0.3 * passed)

    def busy_s(self):
        gpus = json.loads(output(VGPU, "sim", "stat", "--machine", self.fixtures.machine, "--json"))["gpus"]
        return gpus[0]["busy_ns"] / 1e9

    def test_devices_by_number_and_by_name(self):
        uuids = self.fixtures.uuids
        for wanted, given in ((None, uuids), ("all", uuids), ("2", uuids[2:3]), (f"3,{uuids[0]}", [uuids[3], uuids[0]])):
            env = ["VGPU_MEMORY_LIMIT=100m"] + ([f"NVIDIA_VISIBLE_DEVICES={wanted}"] if wanted else [])
            done = self.fixtures.run(SEE, env=env)
            self.assertEqual(done.stdout, ",".join(given) + "\n", done.stderr)

    def test_devices_named_one_by_one_are_all_it_gets(self):
        done = self.fixtures.run(ask("info", "uuid"), env=(
            f"MANAGER_VISIBLE_DEVICE_0={self.fixtures.uuids[1]}", "VGPU_MEMORY_0=100m"))
        self.assertEqual(done.stdout, f"0\n100 100\n{self.fixtures.uuids[1]}\n", done.stderr)

        done = self.fixtures.run(ask("info", "uuid"), env=("NVIDIA_VISIBLE_DEVICES=all", f"MANAGER_VISIBLE_DEVICE_0={self.fixtures.uuids[1]}",
                                                      "VGPU_MEMORY_0=100m"))
        self.assertEqual(done.stdout, f"0\n100 100\n{self.fixtures.uuids[1]}\n", done.stderr)
        done = self.fixtures.run(SEE, env=("VGPU_DEVICES=", f"GPU_DEVICES_UUID={self.fixtures.uuids[1]}", "VGPU_MEMORY_LIMIT_0=1g"))
        self.assertEqual(done.stdout, self.fixtures.uuids[1] + "\n", done.stderr)

    def test_lists_that_are_none_start_nothing(self):
        for env in (("MANAGER_VISIBLE_DEVICE_0=1",), ("VGPU_DEVICES_0=all",), ("VGPU_DEVICES=1:0",), ("VGPU_DEVICES=all,1",),
                    ("VGPU_DEVICES=all", "GPU_DEVICES_UUID=" + ABSENT), ("VGPU_DEVICES=1\n",)):
            done = self.fixtures.run("echo started", env=("VGPU_MEMORY_LIMIT_0=1g", *env))
            self.assertEqual((done.stdout, done.returncode != 0), ("", True), (env, done.stderr))

    def test_names_of_others_pass(self):
        done = self.fixtures.run(ask("info"), env=("VGPU_MEMORY=100m", "VGPU_MEMORY_SERVICE_HOST=10.0.0.1",
                                                   "VGPU_CORES_PORT_443_TCP_ADDR=10.0.0.1", "CUDA_DEVICE_ORDER=PCI_BUS_ID",
                                                   "LOGGER_LEVEL=9"))
        self.assertEqual(done.stdout, "0\n100 100\n", done.stderr)
        self.assertIn("LOGGER_LEVEL", done.stderr)

    def test_mistakes_are_reported_and_nothing_starts(self):
        for variable, words in (("VGPU_MEMORY_LIMIT=lots", "VGPU_MEMORY_LIMIT"),
                                ("NVIDIA_VISIBLE_DEVICES=9", "no GPU '9'"),
                                ("CUDA_CORE_LIMIT=120", "CUDA_CORE_LIMIT"),
                                ("CUDA_MEM_LIMIT_5=1g", "CUDA_MEM_LIMIT_5: there is no GPU 5"),
                                ("VGPU_CORES_7=30", "VGPU_CORES_7"), ("VGPU_DEVICES=" + ABSENT, ABSENT),
                                ("MANAGER_VISIBLE_DEVICE_0=" + ABSENT, ABSENT),
                                ("VGPU_CORE=30", "did you mean 'VGPU_CORES'?"),
                                ("CUDA_MEM_LIMT=1g", "did you mean 'CUDA_MEM_LIMIT'?"),
                                ("VGPU_CORES=", "VGPU_CORES is set and has no value")):
            done = self.fixtures.run("echo started", env=("VGPU_MEMORY_LIMIT_0=1g", variable))
            self.assertNotEqual(done.returncode, 0)
            self.assertNotIn("started", done.stdout)
            self.assertIn(words, done.stderr)
            self.assertIn(words, self.logged()[-1]["msg"])

    def mounted(self, *targets, kind="file", **about):
        """Runs a container with a file or a folder of its user's at each of the targets; what it sees there."""
        def change(config, bundle):
            for number, target in enumerate(targets):
                source = os.path.join(bundle, "own", str(number), os.path.basename(target))
                os.makedirs(source if kind == "folder" else os.path.dirname(source))
                pathlib.Path(source, "own" if kind == "folder" else "").write_text("user's\n", encoding="utf-8")
                config["mounts"].append({"destination": target, "type": "bind", "source": source,
                                         "options": ["rbind", "ro"]})
        below = "/own" if kind == "folder" else ""
        script = "; ".join(f"cat {target}{below} 2>/dev/null || echo gone" for target in targets)
        return self.fixtures.run(script, env=("VGPU_MEMORY_LIMIT=1g",), change=change, **about)

    def test_what_a_user_mounts_stays(self):
        folders = ("/data/libnvidia-logs", "/nvidia-smi", "/data/libcuda.so.1", "/usr/lib/libnvidia-models",
                   "/usr/lib/libcuda.so.1", "/opt/nvidia-smi-2024", "/dev/nvidia-data", "/etc/vgpu-data")
        files = ("/data/nvidia-smi", "/data/libcuda.so.1", "/usr/lib/libnvidia-notes.txt", "/usr/bin/nvidia-smi.log",
                 "/usr/lib/libcuda.so.backup", "/usr/bin/nvidia-smi-wrapper", "/opt/lib/libnvidia-ml.so.1")
        for kind, targets in (("folder", folders), ("file", files)):
            done = self.mounted(*targets, kind=kind)
            self.assertEqual(dict(zip(targets, done.stdout.splitlines())), dict.fromkeys(targets, "user's"), done.stderr)

    def test_mounts_over_the_driver_or_the_share_are_left_out_and_logged(self):
        targets = ("/usr/lib/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03", "/lib64/libnvidia-ml.so.1",
                  "/usr/bin/nvidia-smi", "/usr/local/nvidia/lib/libnvidia-ptxjitcompiler.so.1", "/etc/vgpu/extra")
        open(self.fixtures.log, "w", encoding="utf-8").close()
        done = self.mounted(*targets)
        self.assertEqual(done.stdout.splitlines(), ["gone"] * len(targets), done.stderr)
        said = [entry for entry in self.logged() if "is left out" in entry["msg"]]
        for target in targets:
            self.assertEqual([entry["level"] for entry in said if f"at '{target}'" in entry["msg"]], ["info"], said)
        self.assertEqual(done.stderr, "")

    def test_without_limits_nothing_is_touched(self):
        for env in ((), ("NVIDIA_VISIBLE_DEVICES=all",), ("VGPU_MEMORY_LIMIT=1g", "NVIDIA_VISIBLE_DEVICES=void")):
            name, bundle = self.fixtures.bundle("echo plain", env=env)
            before = pathlib.Path(bundle, "config.json").read_bytes()
            self.assertEqual(self.fixtures.call("run", "-b", bundle, name).stdout, "plain\n")
            self.assertEqual(pathlib.Path(bundle, "config.json").read_bytes(), before)

    def test_a_limit_beside_a_gpu_and_a_list_of_none_does_not_start(self):
        """NVIDIA's own CDI specifications say `void` and bring devices: the limit would be lost."""
        def device(config, _):
            config["linux"].setdefault("devices", []).append(
                {"path": "/dev/nvidia0", "type": "c", "major": 195, "minor": 0})

        def annotate(config, _):
            config.setdefault("annotations", {})["cdi.k8s.io/x"] = "nvidia.com/gpu=all"
        for change, env in ((device, ("NVIDIA_VISIBLE_DEVICES=void",)), (device, ("NVIDIA_VISIBLE_DEVICES=none",)),
                            (annotate, ("NVIDIA_VISIBLE_DEVICES=void",)),
                            (privileged, ("NVIDIA_VISIBLE_DEVICES=void",)),
                            (None, ("VGPU_DEVICES=none", "NVIDIA_VISIBLE_DEVICES=all"))):
            done = self.fixtures.run("echo started", env=("VGPU_MEMORY_LIMIT=1g", *env), change=change)
            self.assertEqual(done.stdout, "", env)
            self.assertRegex(done.stderr, r"the container has a limit and a GPU \(.*name the GPU in VGPU_DEVICES")

    def test_a_variable_that_nobody_reads_is_noted(self):
        name, bundle = self.fixtures.bundle("echo plain", env=("VGPU_FOO=1", "NVIDIA_VISIBLE_DEVICES=all"))
        log = pathlib.Path(bundle, "log")
        self.assertEqual(self.fixtures.call("--log", str(log), "run", "-b", bundle, name).stdout, "plain\n")
        self.assertIn("unknown variable 'VGPU_FOO'", log.read_text(encoding="utf-8"))

    def test_two_names_of_one_limit(self):
        done = self.fixtures.run("echo started", env=("CUDA_MEM_LIMIT=1g", "VGPU_MEMORY_LIMIT=0"))
        self.assertEqual(done.stdout, "")
        self.assertIn("VGPU_MEMORY_LIMIT is 0 (no limit), and CUDA_MEM_LIMIT is '1g'", done.stderr)
        open(self.fixtures.log, "w", encoding="utf-8").close()
        done = self.fixtures.run(ask("info"), env=("CUDA_MEM_LIMIT=1g", "VGPU_MEMORY_LIMIT=100m"))
        self.assertIn("0\n100 100\n", done.stdout, done.stderr)
        self.assertIn("VGPU_MEMORY_LIMIT counts", "".join(entry["msg"] for entry in self.logged()))

    def test_numbers_of_gpus_have_no_gap(self):
        done = self.fixtures.run("echo started", env=(
            f"MANAGER_VISIBLE_DEVICE_1={self.fixtures.uuids[0]}", "CUDA_MEM_LIMIT_1=1g"))
        self.assertEqual(done.stdout, "")
        self.assertIn("MANAGER_VISIBLE_DEVICE_1 names GPU 1, and nothing names GPU 0", done.stderr)

    def test_what_is_left_is_swept_up(self):
        done = self.fixtures.run("echo 1", env=("VGPU_MEMORY_LIMIT=1g",))
        self.assertEqual(done.stdout, "1\n", done.stderr)
        left = set(os.listdir(self.fixtures.state))  # `run` has no `delete`
        for name in left:
            os.utime(os.path.join(self.fixtures.state, name), (1, 1))
        self.fixtures.run("echo 2", env=("VGPU_MEMORY_LIMIT=1g",))
        self.assertFalse(left & set(os.listdir(self.fixtures.state)))

    def cdi(self, *words):
        return subprocess.run([RUNTIME, "cdi", *words], env={"VGPU_RUNTIME_CONF": self.fixtures.conf},
                              capture_output=True, text=True, check=False)

    def test_a_share_as_a_cdi_device(self):
        made = self.cdi("--name", "train", "--memory", "100m", "--gpus", "1")
        self.assertEqual(made.returncode, 0, made.stderr)
        spec = json.loads(made.stdout)
        self.assertEqual((spec["cdiVersion"], spec["kind"], spec["devices"][0]["name"]),
                         ("0.5.0", "vgpu.io/share", "train"))

        def inject(config, _):  # as an engine does
            edits = spec["devices"][0]["containerEdits"]
            config["process"]["env"] += edits["env"] + [f"CUDA_VISIBLE_DEVICES={self.fixtures.uuids[1]}"]
            config["mounts"] += [{"source": m["hostPath"], "destination": m["containerPath"], "type": "bind",
                                  "options": m["options"]} for m in edits["mounts"]]
        for _ in range(2):  # the share outlives its containers
            done = self.fixtures.run(ask("info", "uuid", "alloc 102"), change=inject)
            self.assertEqual(done.stdout, f"0\n100 100\n{self.fixtures.uuids[1]}\n{OUT_OF_MEMORY}\n", done.stderr)
        self.assertIn("already", self.cdi("--name", "train", "--memory", "1g").stderr)
        self.assertIn("invalid value 'none' of --gpus", self.cdi("--name", "none", "--memory", "1g", "--gpus", "none").stderr)
        self.assertIn("VGPU_FOO", self.cdi("--name", "foo", "--memory", "1g", "--env", "VGPU_FOO=1").stderr)
        self.assertEqual(self.cdi("--name", "foo", "--remove").returncode, 0)
        self.assertEqual(self.cdi("--name", "train", "--remove").returncode, 0)
        self.assertIn("there is no share", self.cdi("--name", "train", "--remove").stderr)

    def test_a_limit_beyond_the_gpu_is_warned_of(self):
        excess = r"1TiB is more than GPU 0 has, [\d.]+[GM]iB: it limits nothing\n$"
        for words, name in ((("--memory", "1t"), "--memory"), (("--env", "CUDA_MEM_LIMIT_0=1t"), "CUDA_MEM_LIMIT_0"),
                            (("--cores", "30", "--env", "VGPU_MEMORY=1t"), "VGPU_MEMORY")):
            made = self.cdi("--name", "large", *words)
            self.assertEqual((made.returncode, json.loads(made.stdout)["kind"]), (0, "vgpu.io/share"))
            self.assertRegex(made.stderr, f"^vgpu-runtime: warning: {name}: {excess}")
            self.cdi("--name", "large", "--remove")
        for words in (("--memory", "100m"), ("--cores", "30")):
            self.assertEqual(self.cdi("--name", "large", *words).stderr, "")
            self.cdi("--name", "large", "--remove")
        open(self.fixtures.log, "w", encoding="utf-8").close()
        self.fixtures.run("true", env=("VGPU_MEMORY_LIMIT=1t",))
        self.assertIn("VGPU_MEMORY_LIMIT: 1TiB is more than GPU 0 has", " ".join(entry["msg"] for entry in self.logged()))

    def test_cdi_explains_itself(self):
        self.assertIn("--memory SIZE", self.cdi("--help").stdout)
        for words, part in ((("--name", "x"), "missing a limit"), (("--memory", "1g"), "--name"),
                            (("--name", "x", "--memori", "1g"), "--memory"), (("--name", "../x", "--memory", "1g"), "--name"),
                            (("--name", "x", "--memory", "much"), "--memory: "),
                            (("--name", "x", "--cores", "50", "--cores-max", "20"), "--cores-max: 20 is below --cores, "),
                            (("--name", "x", "--memory", "1g", "--env", "VGPU_CORES=x"), "VGPU_CORES: ")):
            done = self.cdi(*words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(part, done.stderr)
            self.assertEqual(done.stdout, "")
        hostile = "x\nerror\x1b[2J\u009b31m"
        for words in ((hostile,), ("--name", hostile, "--memory", "1g"), ("--name", "x", "--memory", hostile),
                      ("--name", "x", "--memory", "1g", "--env", f"VGPU_{hostile}=1"), ("--name", hostile, "--remove")):
            said = self.cdi(*words).stderr
            self.cdi("--name", "x", "--remove")
            self.assertTrue(said[:-1].isprintable() and said.endswith("\n"), said)


class AgentsCdi(FixturesCase):
    """Devices that the agent names by CDI are injected out of the node's specifications."""

    def test_edits_of_all_kinds(self):
        folder = os.path.join(self.fixtures.folder, "cdi")
        os.mkdir(folder)
        pathlib.Path(folder, "x.yaml").write_text(
            "cdiVersion: 0.6.0\nkind: nvidia.com/gpu\ncontainerEdits:\n  env:\n  - ALL=1\ndevices:\n- name: zero\n"
            "  containerEdits:\n    env:\n    - ONE=2\n    deviceNodes:\n    - path: /dev/nvidia0\n"
            "      hostPath: /dev/zero\n    mounts:\n    - hostPath: /etc/hostname\n      containerPath: /driver\n"
            "      options: [ro, bind]\n", encoding="utf-8")
        self.fixtures.agent.start()
        answer = self.fixtures.share("cdi", "main", 100)
        answer.cdi_devices.append("nvidia.com/gpu=zero")
        os.environ["VGPU_RUNTIME_CDI"] = folder
        self.addCleanup(os.environ.pop, "VGPU_RUNTIME_CDI")
        done = self.fixtures.run("echo $ALL $ONE; ls /dev/nvidia0 /driver; dd if=/dev/nvidia0 bs=1 count=3 | busybox wc -c",
                                 annotations=pod("cdi"))
        self.assertEqual(done.stdout, "1 2\n/dev/nvidia0\n/driver\n3\n", done.stderr)
        answer.cdi_devices[0] = "nvidia.com/gpu=one"
        done = self.fixtures.run("id", annotations=pod("cdi"))
        self.assertIn("no CDI specification", done.stderr)


class Pass(FixturesCase):
    """A runtime behind that tells what it was told."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="vgpu-pass-", dir=self.fixtures.folder)
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
        self.assertIn("is vgpu-runtime itself", self.call("state", "x", VGPU_RUNTIME_REAL=link).stderr)
        copy = os.path.join(self.folder, "copy")
        pathlib.Path(copy).write_bytes(pathlib.Path(RUNTIME).read_bytes())
        os.chmod(copy, 0o755)
        self.assertIn("is vgpu-runtime itself", self.call("state", "x", VGPU_RUNTIME_REAL=copy).stderr)
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
