#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nobody who set a limit runs without one: test_closed.py VGPU VGPU_BURN SOURCE_ROOT."""

from cli_case import BURN, main, vgpu
from share_case import MIB, OUT_OF_MEMORY, ShareCase

ABSENT = "GPU-00000000-0000-0000-0000-000000000000"


class Closed(ShareCase):
    def run_with(self, *words, **variables):
        return vgpu("run", *words, environment={"XDG_RUNTIME_DIR": self.runtime, **variables})

    def test_limits_by_environment_hold_under_vgpu_run(self):
        self.create("--preset", "t4-16gb", "--context-memory", "0")
        for name in ("VGPU_MEMORY_LIMIT", "VGPU_MEMORY", "VGPU_MEMORY_0", "CUDA_DEVICE_MEMORY_LIMIT_0"):
            self.environment = {**self.environment, name: "100m", "VGPU_REGION": f"{self.folder}/{name}"}
            guest = self.start("--machine", self.machine)
            self.assertEqual((guest.alloc(102), guest.ask("info")[1]), (OUT_OF_MEMORY, 100 * MIB))
            del self.environment[name]

    def test_misspelt_limits_start_nothing(self):
        for name, meant in (("VGPU_CORE", "VGPU_CORES"), ("VGPU_MEM", "VGPU_MEMORY_LIMIT"),
                            ("CUDA_MEM_LIMT_1", "CUDA_MEM_LIMIT_1"), ("vgpu_memory", "VGPU_MEMORY"),
                            ("VGPU_MEMORY_LIMIT ", "VGPU_MEMORY_LIMIT")):
            for words in ((), ("--memory", "1g")):
                done = self.run_with("--sim=t4-16gb", *words, "--", "echo", "started", **{name: "1g"})
                self.refuses(done, 125, f"'{name}'", f"did you mean '{meant}'?")

    def test_limits_on_gpus_that_are_not_here_start_nothing(self):
        for variables in ({"CUDA_MEM_LIMIT_5": "1g"}, {"VGPU_CORES_1": "30"},
                          {"GPU_DEVICES_UUID": ABSENT, "CUDA_MEM_LIMIT_0": "1g"},
                          {"VGPU_DEVICES": ABSENT, "VGPU_MEMORY_0": "1g"},
                          {"NVIDIA_VISIBLE_DEVICES": ABSENT, "CUDA_DEVICE_MEMORY_LIMIT_0": "1g"},
                          {"MANAGER_VISIBLE_DEVICE_0": ABSENT, "CUDA_MEM_LIMIT_0": "1g"}):
            for words in ((), ("--memory", "1g")):
                done = self.run_with("--sim=t4-16gb", *words, "--", "echo", "started", **variables)
                self.refuses(done, 125, list(variables)[-1])
        done = self.run_with("--sim=t4-16gb:2", "--", "echo", "started", CUDA_MEM_LIMIT_1="1g", CUDA_VISIBLE_DEVICES="0",
                             VGPU_CORES_9="0")
        self.assertEqual((done.stdout, done.stderr), ("started\n", ""))
        self.nothing_is_left()

    def test_lists_that_are_none_start_nothing(self):
        for variables in ({"VGPU_DEVICES": "1:0"}, {"NVIDIA_VISIBLE_DEVICES": "all,1"}, {"MANAGER_VISIBLE_DEVICE_0": "1"},
                          {"VGPU_DEVICES": "all", "GPU_DEVICES_UUID": ABSENT},
                          {"VGPU_DEVICES": "", "GPU_DEVICES_UUID": ABSENT}):
            done = self.run_with("--sim=t4-16gb:2", "--", "echo", "started", VGPU_MEMORY_0="1g", **variables)
            self.refuses(done, 125, list(variables)[-1])

    def test_two_names_of_one_limit(self):
        done = self.run_with("--sim=t4-16gb", "--", "echo", "started", VGPU_CORES="0", CUDA_CORE_LIMIT="30")
        self.refuses(done, 125, "VGPU_CORES is 0 (no limit), and CUDA_CORE_LIMIT is '30'")
        done = self.run_with("--sim=t4-16gb", "--", "echo", "started", VGPU_PRIORITY="1", CUDA_TASK_PRIORITY="0")
        self.assertEqual((done.stdout, done.stderr),
                         ("started\n", "vgpu: warning: VGPU_PRIORITY is '1', and CUDA_TASK_PRIORITY is '0': "
                          "VGPU_PRIORITY counts\n"))

    def test_other_names_are_warned_of_or_left_alone(self):
        done = self.run_with("--sim=t4-16gb", "--", "echo", "started", VGPU_SIM_LBI="/x",
                             VGPU_CORES_SERVICE_HOST="10.0.0.1", VGPU_MEMORY_PORT_443_TCP="tcp://10.0.0.1:443",
                             CUDA_DEVICE_MAX_CONNECTIONS="1")
        self.assertEqual((done.stdout, done.stderr),
                         ("started\n", "vgpu: warning: unknown variable 'VGPU_SIM_LBI' (did you mean 'VGPU_SIM_LIB'?)\n"))

    def test_a_limit_beyond_the_gpu_is_warned_of(self):
        self.create("--preset", "a100-40gb")
        done = self.run_with("--machine", self.machine, "--memory", "1t", "--", "true")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"^vgpu: warning: --memory 1TiB is more than GPU 0 has, [\d.]+[GM]iB: it limits nothing\n$")
        done = self.run_with("--machine", self.machine, "--cores", "20", "--", BURN, "-l", VGPU_MEMORY="1t")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"^warn vgpu: VGPU_MEMORY: 1TiB is more than GPU 0 has, [\d.]+[GM]iB: it limits nothing\n$")
        self.start("--machine", self.machine, "--memory", "1g", "--name", "train")
        done = self.vgpu("set", "train", "--memory", "1t")
        self.assertEqual(done.returncode, 0)
        self.assertIn("warning: --memory 1TiB is more than GPU 0 has", done.stderr)
        self.assertEqual(self.vgpu("set", "train", "--memory", "2g").stderr, "")
        done = self.run_with("--machine", self.machine, "--memory", "60g", "--memory-ratio", "2", "--", "true")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    main("__main__")
