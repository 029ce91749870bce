#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu doctor: what is wrong is found and named: test_doctor.py VGPU VGPU_BURN SOURCE_ROOT."""

import json
import os
import re

from cli_case import SOURCE, Case, main, vgpu


class Doctor(Case):
    def doctor(self, **environment):
        done = vgpu("doctor", "--json", environment={
            "XDG_RUNTIME_DIR": self.runtime, "VGPU_REGION": os.path.join(self.folder, "none"),
            **environment})
        found = json.loads(done.stdout)
        wrong = {row["subject"]: row for row in found["checks"] if row["verdict"] == "wrong"}
        self.assertEqual((done.returncode, done.stderr), (1 if wrong else 0, ""))
        self.assertEqual(found["wrong"] > 0, bool(wrong))
        for row in wrong.values():
            self.assertTrue(row["fix"])
        return wrong

    def test_nothing_is_wrong_here(self):
        self.assertEqual(self.doctor(), {})
        done = vgpu("doctor", environment={"XDG_RUNTIME_DIR": self.runtime})
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("WRONG", done.stdout)
        self.create("--gpus", "4")
        self.assertEqual(self.doctor(VGPU_SIM=self.machine, VGPU_MEMORY_LIMIT="300m", VGPU_MEMORY_1="200m",
                                     CUDA_MEM_RATIO_3="1.5", VGPU_CONTEXT_MEMORY="exempt",
                                     VGPU_MEMORY_SERVICE_HOST="10.0.0.1", CUDA_MODULE_LOADING="LAZY"), {})

    def says(self, subject, *parts, **environment):
        wrong = self.doctor(**environment)
        self.assertEqual(list(wrong), [subject])
        for part in parts:
            self.assertIn(part, wrong[subject]["text"] + wrong[subject]["fix"])

    def test_libraries_that_are_not_there(self):
        self.says("simulator", "VGPU_SIM_LIB", VGPU_SIM_LIB="/nowhere")
        self.says("library", "VGPU_LIB", VGPU_LIB="/nowhere")
        broken = os.path.join(self.folder, "libvgpu.so")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("not a library")
        self.says("library", "does not load", VGPU_LIB=broken)

    def test_machines_that_are_none(self):
        self.says("machine", "VGPU_SIM", "No such file", VGPU_SIM="/nowhere")
        self.create()
        with open(self.machine, "r+b") as file:
            file.seek(8)
            file.write((99).to_bytes(4, "little"))
        self.says("machine", "version 99", "--force", VGPU_SIM=self.machine)

    def test_values_that_cannot_be(self):
        for name, value in (("VGPU_MEMORY_LIMIT", "lots"), ("VGPU_MEMORY_LIMIT", "0.0001k"), ("CUDA_DEVICE_MEMORY_LIMIT_0", "1x"),
                            ("CUDA_MEM_LIMIT_63", "-1"), ("VGPU_MEMORY_RATIO", "0.5"),
                            ("CUDA_OVERSUBSCRIBE", "perhaps"), ("VGPU_CONTEXT_MEMORY_1", "no")):
            self.says("environment", name, value, **{name: value})
        self.says("environment", "VGPU_MEMORY_LIMIT is set and has no value", VGPU_MEMORY_LIMIT="")
        self.says("environment", "/nowhere", "VGPU_SHARE", VGPU_SHARE="/nowhere")

    def test_misspelt_names_are_to_be_renamed(self):
        for name, meant in (("VGPU_MEMORY_LIMTI", "VGPU_MEMORY_LIMIT"), ("VGPU_CORE", "VGPU_CORES"),
                            ("CUDA_MEM_LIMT_0", "CUDA_MEM_LIMIT_0"), ("cuda_mem_limit", "CUDA_MEM_LIMIT"), ("GVPU_MEMORY_LIMIT", "VGPU_MEMORY_LIMIT"),
                            ("CUDA_CORES", "CUDA_CORE_LIMIT"), ("VGPU_COMPUTE", "VGPU_CORES")):
            self.says("environment", name, f"did you mean '{meant}'?", f"rename '{name}' to {meant}", **{name: "1"})

    def test_a_name_that_may_be_an_applications_is_noted(self):
        self.assertEqual(self.doctor(GPU_MEMORY_LIMIT="4096"), {})
        self.assertIn("'GPU_MEMORY_LIMIT' (did you mean 'VGPU_MEMORY_LIMIT'?)",
                      vgpu("doctor", environment={"GPU_MEMORY_LIMIT": "4096"}).stdout)

    def test_limits_on_gpus_that_are_not_here(self):
        self.create("--gpus", "2")
        absent = "GPU-00000000-0000-0000-0000-000000000000"
        for variables in ({"GPU_DEVICES_UUID": absent, "CUDA_MEM_LIMIT_0": "1g"}, {"CUDA_MEM_LIMIT_5": "1g"},
                          {"VGPU_DEVICES": absent, "VGPU_CORES_0": "30"}, {"VGPU_MEMORY_RATIO_2": "2"},
                          {"NVIDIA_VISIBLE_DEVICES": absent, "CUDA_DEVICE_MEMORY_LIMIT_0": "1g"}):
            self.says("environment", list(variables)[-1], "refuses all GPUs", VGPU_SIM=self.machine, **variables)
        self.assertEqual(self.doctor(VGPU_SIM=self.machine, CUDA_MEM_LIMIT_1="1g", CUDA_VISIBLE_DEVICES="0",
                                     VGPU_CORES_5="0"), {})

    def test_limits_that_contradict_each_other(self):
        self.says("environment", "CUDA_CORE_SOFT_LIMIT", "below CUDA_CORE_LIMIT",
                  CUDA_CORE_SOFT_LIMIT="20", CUDA_CORE_LIMIT="30")
        self.says("environment", "VGPU_CORES_MAX_1", VGPU_CORES_MAX_1="20", VGPU_CORES="30", VGPU_FOO="1")
        self.says("environment", "VGPU_MEMORY_LIMIT_64", "0 to 63", VGPU_MEMORY_LIMIT_64="1g")
        self.create("--gpus", "2")
        self.says("environment", "VGPU_DEVICES is '1'", VGPU_SIM=self.machine, VGPU_DEVICES="1", VGPU_CORES_0="30")
        for name, value in (("VGPU_DEVICES", "1:0"), ("NVIDIA_VISIBLE_DEVICES", "all,1"), ("MANAGER_VISIBLE_DEVICE_0", "1")):
            self.says("environment", f"{name} is '{value}'", VGPU_SIM=self.machine, VGPU_CORES_0="30", **{name: value})
        self.assertEqual(self.doctor(VGPU_SIM=self.machine, NVIDIA_VISIBLE_DEVICES="0:1", VGPU_CORES="30"), {})

    def test_two_names_of_one_limit(self):
        self.says("environment", "VGPU_MEMORY_LIMIT is 0 (no limit), and CUDA_MEM_LIMIT is '1g'",
                  VGPU_MEMORY_LIMIT="0", CUDA_MEM_LIMIT="1g")
        environment = {"VGPU_MEMORY_LIMIT": "1g", "CUDA_MEM_LIMIT": "2g"}
        self.assertEqual(self.doctor(**environment), {})
        self.assertIn("VGPU_MEMORY_LIMIT is '1g', and CUDA_MEM_LIMIT is '2g': VGPU_MEMORY_LIMIT counts",
                      vgpu("doctor", environment=environment).stdout)

    def test_a_bad_log_level_is_only_noted(self):
        self.assertEqual(self.doctor(LOGGER_LEVEL="9"), {})
        done = vgpu("doctor", environment={"LOGGER_LEVEL": "9"})
        self.assertIn("LOGGER_LEVEL: invalid value '9' (expected one of: 0, 1, 2, 3, 4, 5); using the default", done.stdout)

    def test_a_limit_beyond_the_gpu_is_noted(self):
        self.create("--gpus", "2")
        for name in ("CUDA_MEM_LIMIT", "CUDA_MEM_LIMIT_1", "VGPU_MEMORY"):
            with self.subTest(name):
                done = vgpu("doctor", environment={"VGPU_SIM": self.machine, name: "1t"})
                self.assertEqual(done.returncode, 0)
                self.assertRegex(done.stdout, rf"note  environment  {name}: 1TiB is more than GPU {name[-1] == '1':d} has, "
                                              r"[\d.]+[GM]iB: it limits nothing\n")
                self.assertNotIn("every variable", done.stdout)
        self.assertIn("every variable", vgpu("doctor", environment={"VGPU_SIM": self.machine, "VGPU_MEMORY": "60g",
                                                                    "VGPU_MEMORY_RATIO": "2"}).stdout)

    def test_every_variable_that_is_read_is_known(self):
        read = set()
        for part in ("src", "lib", "tests", "tools", "bench"):
            for folder, _, names in os.walk(os.path.join(SOURCE, part)):
                for name in (name for name in names if name.endswith((".c", ".py", ".sh"))):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        read |= set(re.findall(r'(?:getenv\(|environ(?:\.get\(|\[))"(VGPU_\w+)"', file.read()))
        self.assertIn("VGPU_SIM_LIB", read)
        done = vgpu("doctor", environment={name: "" for name in read if "MEMORY" not in name})
        self.assertNotIn("unknown variable", done.stdout)

    def test_names_move_no_cursor_and_begin_no_line(self):
        for words in ((), ("--json",)):
            done = vgpu("doctor", *words, environment={"VGPU_A\033[2J\nforged": "1", "VGPU_MEMORY_LIMI\033\nforged": "1g"})
            self.assertIn("VGPU_A?[2J?forged", done.stdout)
            self.assertIn("VGPU_MEMORY_LIMI??forged", done.stdout)
            self.assertNotIn("\033", done.stdout)
            self.assertNotIn("\nforged", done.stdout)

    def test_a_file_that_is_no_region(self):
        path = os.path.join(self.folder, "region")
        with open(path, "w", encoding="utf-8") as file:
            file.write("not a region")
        self.says("environment", "not a region", CUDA_DEVICE_MEMORY_SHARED_CACHE=path, VGPU_REGION=path)

    def test_bad_arguments(self):
        self.refuses(vgpu("doctor", "now"), 2, "unexpected argument 'now'")
        self.refuses(vgpu("doctor", "--jason"), 2, "no option '--jason'")


if __name__ == "__main__":
    main("__main__")
