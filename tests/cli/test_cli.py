#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu's words, machines and faults as a user meets them: test_cli.py VGPU VGPU_BURN SOURCE_ROOT."""

import contextlib
import ctypes
import json
import os
import pty
import re
import resource
import shutil
import subprocess

from cli_case import BURN, ENVIRONMENT, SOURCE, VGPU, Case, main, vgpu


class Words(Case):
    def test_help_names_every_command(self):
        text = vgpu("--help")
        self.assertEqual(text.returncode, 0)
        for name in ("run", "sim create", "sim list", "sim show", "sim stat", "sim inject",
                     "sim destroy", "completion"):
            self.assertIn(f"  {name} ", text.stdout)
            page = vgpu("help", *name.split())
            self.assertEqual(page.returncode, 0)
            self.assertIn(f"Usage: vgpu {name}", page.stdout)
            self.assertEqual(vgpu(*name.split(), "--help").stdout, page.stdout)

    def test_version(self):
        self.assertRegex(vgpu("--version").stdout, r"^vgpu \d+\.\d+\.\d+\n$")
        self.assertEqual(vgpu("version").stdout, vgpu("--version").stdout)

    def test_nothing_asked_is_a_usage_error(self):
        done = vgpu()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("Usage: vgpu", done.stderr)

    def test_mistyped_arguments_get_the_nearest_name(self):
        self.refuses(vgpu("rn"), 2, "did you mean 'run'")
        self.refuses(vgpu("smi"), 2, "did you mean 'sim'")
        self.refuses(vgpu("sim", "creat"), 2, "did you mean 'create'")
        self.refuses(vgpu("--hlep"), 2, "did you mean '--help'")
        self.refuses(vgpu("help", "rum"), 2, "did you mean 'run'")
        self.refuses(vgpu("sim", "stat", "--jsn"), 2, "did you mean '--json'")
        self.refuses(vgpu("run", "--memroy", "1g", "--", "true"), 125, "did you mean '--memory'")
        self.refuses(vgpu("xyzzy"), 2, "no command 'vgpu xyzzy';")

    def test_values_missing_and_superfluous(self):
        self.refuses(vgpu("sim", "create", "--gpus"), 2, "--gpus N")
        self.refuses(vgpu("sim", "stat", "--json=1"), 2, "takes no value")
        self.refuses(vgpu("sim", "create", "-g"), 2, "two dashes")

        self.refuses(vgpu("run", "--sim", "--", "true"), 125, "--sim PRESET[:COUNT]")
        self.refuses(vgpu("sim", "create", "--gpus", "--seed", "3"), 2, "--gpus N")
        self.refuses(vgpu("completion", "bash", "zsh"), 2, "unexpected argument 'zsh'")

    def test_no_machine_and_two_are_usage_errors(self):
        for command in (["show"], ["stat"], ["destroy"], ["inject", "clear"]):
            self.refuses(vgpu("sim", *command), 2, "missing --machine PATH")
        for command in ("show", "stat", "destroy"):
            self.refuses(vgpu("sim", command, "/a", "/b"), 2, "unexpected argument '/b' (one machine at a time: '/a')")
            self.refuses(vgpu("sim", command, "--machine", "/a", "/b"), 2, "one machine at a time")

    def test_no_limit_of_compute_is_no_limit(self):
        done = vgpu("run", "--sim=a100-40gb", "--cores", "0", "--", "env")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("VGPU_SHARE=", done.stdout)

    def test_limits_that_limit_nothing_are_refused_without_a_name_that_nobody_gave(self):
        self.refuses(vgpu("run", "--sim=a100-40gb", "--cores", "0", "--priority", "high", "--", "true"), 125,
                     "nothing would be limited")

    def test_help_is_laid_out_in_two_columns(self):
        for name in ("run", "sim create", "kueue config"):
            options = vgpu("help", *name.split()).stdout.split("Options:\n")[1].splitlines()
            self.assertLessEqual(max(map(len, options)), 90)
            for line in options:  # a summary, or what of it did not fit, begins in column 29
                self.assertRegex(line, r"^(?=.{28} \S|  --\S+ \S+$)(  --.*| {29}.*)$")

    def test_a_full_output_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([VGPU, "--help"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("cannot write", done.stderr)

    def test_colours_only_on_a_terminal(self):
        self.assertNotIn("\033", vgpu("sim", "list").stdout + vgpu("rn").stderr)
        for extra, has_colour in (({}, True), ({"NO_COLOR": "1"}, False)):
            main, side = pty.openpty()
            with subprocess.Popen([VGPU, "sim", "list"], stdout=side, stderr=side,
                                  env={**ENVIRONMENT, "TERM": "xterm", **extra}) as process:
                os.close(side)
                text = b""
                try:
                    while chunk := os.read(main, 4096):
                        text += chunk
                except OSError:
                    pass
            os.close(main)
            self.assertEqual(process.returncode, 0)
            self.assertEqual(b"\033[1m" in text, has_colour)

    def test_completion_is_bash_and_offers_presets(self):
        script = vgpu("completion", "bash").stdout
        ask = """
            COMP_WORDS=(%s); COMP_CWORD=%d; _vgpu; echo "${COMPREPLY[*]}"
        """
        for words, index, expected in (("vgpu s", 1, "set sim"), ("vgpu sim cr", 2, "create"),
                                       ("vgpu doc", 1, "doctor"), ("vgpu set --m", 2, "--memory --memory-ratio"),
                                       ("vgpu run --oversold-h", 2, "--oversold-host-memory"),
                                       ("vgpu run --context-memory = e", 4, "exempt"),
                                       ("vgpu run --sim = h2", 4, "h200-141gb"),
                                       ("vgpu sim create --preset t4", 4, "t4-16gb"),
                                       ("vgpu sim create --time", 3, "--time-scale"),
                                       ("vgpu exp", 1, "explain"), ("vgpu explain pod --j", 3, "--json"),
                                       ("vgpu kue", 1, "kueue"), ("vgpu kueue co", 2, "config"),
                                       ("vgpu kueue config --mode t", 4, "transform")):
            done = subprocess.run(["bash", "-c", script + ask % (words, index)], capture_output=True,
                                  text=True, check=False)
            self.assertEqual((done.stdout.strip(), done.stderr), (expected, ""), words)

    def test_a_wrong_command_line_is_refused_before_the_cluster_is_asked(self):
        for words, sentence in (
                ("explain pod a --domain A_b", "'A_b' is not a domain"),
                ("explain pod a --namespace B/c", "--namespace 'B/c' is not a name"),
                ("explain pod a b", "takes the name of one pod"),
                ("explain pod A_b", "takes the name of one pod"),
                ("explain pod", "takes the name of one pod"),
                ("kueue check --domain A_b", "'A_b' is not a domain"),
                ("kueue check --namespace a/b", "--namespace 'a/b' is not a name"),
                ("kueue check word", "takes options only"),
                ("kueue config --resource nvidia.com/vgpu", "missing --quota vgpu.io/total-number=AMOUNT"),
                ("kueue config --resource a.b/c", "'a.b/c' is no resource of GPUs"),
                ("kueue config --quota cpu=two", "'two' is not a quantity"),
                ("kueue config --quota 50", "--quota is NAME=AMOUNT"),
                ("kueue config --namespace ..", "--namespace '..' is not a name"),
                ("kueue config --mode both", "invalid value 'both' of --mode"),
                ("kueue config --part half", "invalid value 'half' of --part"),
                ("kueue config --api v1", "invalid value 'v1' of --api"),
                ("kueue config word", "takes options only")):
            with self.subTest(words):
                self.refuses(vgpu(*words.split()), 2, sentence)

    def test_a_cluster_that_cannot_be_asked_is_no_wrong_command_line(self):
        nowhere = ("--kubeconfig", "/nonexistent/config")
        for words in (("explain", "pod", "a"), ("kueue", "config"), ("kueue", "check")):
            self.refuses(vgpu(*words, *nowhere), 1, "cannot read '/nonexistent/config'")

    def test_the_manual_page_of_vgpu_names_every_command(self):
        with open(os.path.join(SOURCE, "docs", "man", "vgpu.1"), encoding="utf-8") as file:
            manual = re.sub(r"\\f[BRI]", "", file.read())
        commands = vgpu("--help").stdout.split("Commands:")[1].split("Options:")[0]
        for name in re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", commands, re.M):
            self.assertRegex(manual, rf"(?m)^\.B.*\b{name}\b", name)


class Machines(Case):
    def test_a_machine_is_made_shown_and_removed(self):
        self.create("--preset", "h100-80gb", "--gpus", "8", "--seed", "42", "--time-scale", "2.5",
                    "--noise", "0.1", "--slice", "1000", "--launch-latency", "4",
                    "--content-budget", "64Mi", "--instruction-budget", "1000",
                    "--driver-version", "12.4", "--kernel", "spin=100", "--kernel", "a=b=2.5")
        shown = json.loads(vgpu("sim", "show", "--machine", self.machine, "--json").stdout)
        self.assertEqual(len(shown["gpus"]), 8)
        self.assertEqual(shown["gpus"][3]["name"], "NVIDIA H100 80GB HBM3")
        self.assertEqual(shown["gpus"][3]["links"], [18, 18, 18, 0, 18, 18, 18, 18])
        self.assertEqual(len({gpu["uuid"] for gpu in shown["gpus"]}), 8)
        self.assertEqual((shown["seed"], shown["time_scale"], shown["noise"]), (42, 2.5, 0.1))
        self.assertEqual((shown["slice_ns"], shown["launch_ns"]), (1000000, 4000))
        self.assertEqual(shown["content_budget_bytes"], 64 << 20)
        self.assertEqual(shown["instruction_budget"], 1000)
        self.assertEqual(shown["driver_version"], 12040)
        self.assertEqual(shown["kernels"], {"spin": 100000, "a=b": 2500})
        text = vgpu("sim", "show", environment={"VGPU_SIM": self.machine}).stdout
        self.assertIn("NV18", text)
        self.assertIn("spin takes 100 µs", text)
        self.assertEqual(vgpu("sim", "destroy", "--machine", self.machine).returncode, 0)
        self.assertFalse(os.path.exists(self.machine))

    def test_a_seed_fixes_the_uuids(self):
        def uuid(*words):
            vgpu("sim", "create", "--machine", self.machine, *words)
            shown = vgpu("sim", "show", "--machine", self.machine, "--json").stdout
            os.unlink(self.machine)
            return json.loads(shown)["gpus"][0]["uuid"]
        self.assertEqual(uuid("--seed", "5"), uuid("--seed", "5"))
        self.assertNotEqual(uuid("--seed", "5"), uuid("--seed", "6"))
        self.assertNotEqual(uuid(), uuid())

    def test_small_gpus(self):
        self.create("--preset", "t4-16gb", "--gpu-memory", "64Mi", "--context-memory", "0")
        gpu = self.stat()["gpus"][0]
        self.assertEqual((gpu["total_bytes"], gpu["used_bytes"]), (64 << 20, 0))

    def test_list_has_presets_and_machines(self):
        environment = {"VGPU_SIM": self.machine, "XDG_RUNTIME_DIR": self.runtime}
        self.create("--preset", "l4-24gb")
        shutil.copyfile(self.machine, os.path.join(self.runtime, "other"))
        listed = json.loads(vgpu("sim", "list", "--json", environment=environment).stdout)
        presets = {row["name"]: row for row in listed["presets"]}
        self.assertEqual(presets["a100-40gb"]["memory_bytes"], 40960 << 20)
        paths = [row["path"] for row in listed["machines"]]
        self.assertIn(self.machine, paths)
        self.assertIn(os.path.join(self.runtime, "other"), paths)

    def test_stat_of_an_idle_machine(self):
        self.create("--gpus", "2")
        stat_now = self.stat()
        self.assertEqual(stat_now["processes"], [])
        self.assertEqual([gpu["busy_ns"] for gpu in stat_now["gpus"]], [0, 0])
        self.assertEqual(set(stat_now["counters"].values()), {0})
        self.assertGreater(self.stat()["time_ns"], stat_now["time_ns"])
        text = vgpu("sim", "stat", "--machine", self.machine).stdout
        self.assertIn("NVIDIA A100-SXM4-40GB\t0MiB\t40338MiB", text)

    def test_stat_watch_goes_on(self):
        self.create()
        with subprocess.Popen([VGPU, "sim", "stat", "--machine", self.machine, "--watch"],
                              stdout=subprocess.PIPE, env=ENVIRONMENT, text=True) as process:
            titles = 0
            while titles < 2:
                titles += process.stdout.readline().startswith("GPU\tNAME")
            process.kill()
        self.assertEqual(titles, 2)

    def test_stat_watch_has_an_object_per_line(self):
        self.create()
        with subprocess.Popen([VGPU, "sim", "stat", "--machine", self.machine, "--watch", "--json"],
                              stdout=subprocess.PIPE, env=ENVIRONMENT, text=True) as process:
            lines = [process.stdout.readline() for _ in range(2)]
            process.kill()
        times = [json.loads(line)["time_ns"] for line in lines]
        self.assertLess(times[0], times[1])


class BadInput(Case):
    def test_a_message_writes_no_escape(self):
        bad = "a\033[31mb\r\x07"
        for words in (("run", "--sim=t4-16gb", "--memory", "1g", "--name", bad, "--", "true"),
                      ("run", "--sim=t4-16gb", "--", bad), (bad,), ("sim", bad), (f"--{bad}",), ("ps", bad), ("ps", f"--{bad}"), ("ps", "--columns", bad),
                      ("ps", "--user", bad), ("top", "--sort", bad), ("set", bad, "--memory", "1g"),
                      ("sim", "stat", "--machine", bad), ("completion", bad)):
            done = vgpu(*words)
            self.assertNotEqual(done.returncode, 0)
            self.assertTrue("a?[31mb" in done.stderr, (words, done.stderr))
            self.assertEqual([mark for mark in done.stderr if mark < " " and mark != "\n"], [], words)
        for words in ((), ("--if-missing",)):
            done = vgpu("sim", "create", "--machine", os.path.join(self.folder, bad), *words)
            self.assertIn("a?[31mb", done.stdout)
            self.assertNotIn("\033", done.stdout)

    def create_fails(self, code, *parts, words=(), path=None, **more):
        before = sorted(os.listdir(self.folder))
        done = vgpu("sim", "create", "--machine", path or self.machine, *words, **more)
        self.refuses(done, code, *parts)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_values_out_of_range(self):
        for words, part in ((("--preset", "a100"), "did you mean 'a100-40gb'"),
                            (("--preset", "zzz"), "no preset 'zzz'"),
                            (("--gpus", "17"), "from 1 to 16"), (("--gpus", "0"), "from 1 to 16"),
                            (("--gpus", "two"), "whole number"), (("--seed", "0"), "seed"),
                            (("--gpu-memory", "1q"), "unknown unit 'q'"),
                            (("--gpu-memory", "1"), "2Mi to 1Ti"),
                            (("--gpu-memory", "2Ti"), "2Mi to 1Ti"),
                            (("--time-scale", "0"), "time scale"), (("--noise", "3"), "noise"),
                            (("--slice", "-1"), "slice"), (("--driver-version", "9.1"), "11.0"),
                            (("--driver-version", "new"), "not a CUDA version"),
                            (("--kernel", "spin"), "NAME=MICROSECONDS"),
                            (("--kernel", "spin=x"), "must be a number"),
                            (("--kernel", "n" * 200 + "=1"), "too long"), (("word",), "--machine")):
            self.create_fails(2, part, words=words)

    def test_no_machine_named(self):
        for command in ("create", "show", "stat", "destroy"):
            done = vgpu("sim", command)
            self.assertIn("--machine PATH", done.stderr)
            self.assertNotEqual(done.returncode, 0)

    def test_exists_already(self):
        self.create()
        self.create_fails(1, "exists already")

    def test_if_missing(self):
        words = ("sim", "create", "--machine", self.machine, "--if-missing")
        self.assertIn("made ", vgpu(*words).stdout)
        before = os.stat(self.machine)
        done = vgpu(*words, "--gpus", "4")
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.machine} is there already\n"))
        self.assertEqual(os.stat(self.machine).st_ino, before.st_ino)
        with open(self.machine, "w", encoding="ascii") as file:
            file.write("no machine\n")
        self.assertEqual(vgpu(*words).returncode, 1)
        os.unlink(self.machine)

    def test_no_such_folder(self):
        self.create_fails(1, "No such file", path=os.path.join(self.folder, "no", "machine"))

    def test_no_permission(self):
        # A copy: the build may lie in a folder that is closed to other users.
        program = shutil.copy(VGPU, self.folder)
        os.chmod(self.folder, 0o555)
        self.addCleanup(os.chmod, self.folder, 0o755)

        def step_down():
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
        try:
            subprocess.run([program, "--version"], preexec_fn=step_down, check=True,
                           capture_output=True)
        except (PermissionError, subprocess.CalledProcessError):
            self.skipTest("the folder for temporary files is closed to other users")
        self.create_fails(1, "Permission denied", executable=program, preexec_fn=step_down)

    def test_file_size_limit(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
        self.create_fails(1, "File too large", preexec_fn=limit)

    def small_disk(self, size):
        libc = ctypes.CDLL(None, use_errno=True)
        disk = os.path.join(self.folder, "disk")
        os.mkdir(disk)
        if libc.mount(b"none", disk.encode(), b"tmpfs", 0, f"size={size}".encode()) != 0:
            self.skipTest("cannot mount a small disk here")
        self.addCleanup(libc.umount2, disk.encode(), 2)
        return disk

    def test_full_disk(self):
        disk = self.small_disk("64k")
        self.create_fails(1, "No space left", path=os.path.join(disk, "machine"))
        self.assertEqual(os.listdir(disk), [])

    def test_a_disk_that_fills_up_later(self):
        disk = self.small_disk("16m")
        self.machine = os.path.join(disk, "machine")
        self.create()
        with open(os.path.join(disk, "filler"), "wb", buffering=0) as filler:
            with contextlib.suppress(OSError):
                while filler.write(bytes(4096)):
                    pass
        done = vgpu("run", "--machine", self.machine, "--", BURN, "1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("No space left on device", done.stderr)
        os.remove(os.path.join(disk, "filler"))
        self.assertEqual(self.stat()["processes"], [])
        self.assertEqual(vgpu("run", "--machine", self.machine, "--", BURN, "1").returncode, 0)

    def test_files_that_are_no_machines(self):
        with open(self.machine, "wb") as file:
            file.write(b"not a machine" * 1000)
        for words in (("show",), ("stat",), ("inject", "clear"), ("destroy",),
                      ("destroy", "--force")):
            done = vgpu("sim", words[0], "--machine", self.machine, *words[1:])
            self.refuses(done, 1, "not a machine file")
        self.assertTrue(os.path.exists(self.machine))
        self.refuses(vgpu("run", "--machine", self.machine, "--", "true"), 125,
                     "not a machine file")
        self.refuses(vgpu("sim", "show", "--machine", self.folder), 1)
        self.refuses(vgpu("sim", "show", "--machine", "/nowhere"), 1, "No such file")

    def test_another_version(self):
        self.create()
        with open(self.machine, "r+b") as file:
            file.seek(8)
            file.write(b"\x63\x00\x00\x00")
        self.refuses(vgpu("sim", "show", "--machine", self.machine), 1, "version 99")
        self.refuses(vgpu("sim", "destroy", "--machine", self.machine), 1, "version 99")
        done = vgpu("sim", "destroy", "--machine", self.machine, "--force")
        self.assertEqual((done.returncode, os.path.exists(self.machine)), (0, False))

    def test_a_machine_cut_short(self):
        self.create()
        os.truncate(self.machine, 1 << 20)
        done = vgpu("sim", "stat", "--machine", self.machine)
        self.refuses(done, 1)


class Faults(Case):
    def inject(self, *words):
        return vgpu("sim", "inject", "--machine", self.machine, *words)

    def test_gpus_are_lost_and_found(self):
        self.create("--gpus", "2")
        self.assertEqual(self.inject("lose", "1").returncode, 0)
        self.assertEqual([gpu["lost"] for gpu in self.stat()["gpus"]], [False, True])
        self.assertEqual(self.inject("restore", "1").returncode, 0)
        self.assertEqual([gpu["lost"] for gpu in self.stat()["gpus"]], [False, False])

    def test_outsiders_take_memory_and_clear_gives_it_back(self):
        self.create()
        self.assertEqual(self.inject("outsider", "0", "1Gi").returncode, 0)
        self.assertEqual(self.stat()["gpus"][0]["used_bytes"], 1 << 30)
        self.refuses(self.inject("outsider", "0", "100Gi"), 1, "only")
        self.assertEqual(self.inject("clear").returncode, 0)
        self.assertEqual(self.stat()["gpus"][0]["used_bytes"], 0)

    def test_ecc_errors_are_counted(self):
        self.create()
        self.inject("ecc", "0", "corrected", "--times", "3")
        self.inject("ecc", "0", "uncorrected")
        gpu = self.stat()["gpus"][0]
        self.assertEqual((gpu["ecc_corrected"], gpu["ecc_uncorrected"]), (3, 1))
        self.refuses(self.inject("ecc", "0", "maybe"), 2, "'maybe'")

    def test_a_gpu_may_be_named_by_its_uuid(self):
        self.create("--gpus", "2")
        uuid = self.stat()["gpus"][1]["uuid"]
        self.assertEqual(self.inject("lose", uuid).returncode, 0)
        self.assertTrue(self.stat()["gpus"][1]["lost"])

    def test_calls_by_name(self):
        self.create()
        done = self.inject("fail", "cuMemAlloc", "--result", "CUDA_ERROR_OUT_OF_MEMORY", "--times",
                           "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.inject("hang", "nvmlInit_v2").returncode, 0)
        self.assertEqual(self.inject("xid", "0", "79").returncode, 0)

    def test_bad_faults(self):
        self.create()
        for words, code, part in ((("fial", "x"), 2, "did you mean 'fail'"),
                                  ((), 2, "missing ACTION"),
                                  (("lose",), 2, "use: vgpu sim inject lose GPU"),
                                  (("lose", "1"), 1, "no GPU '1'"),
                                  (("xid", "0", "0"), 2, "from 1 to 999"),
                                  (("fail", "cuMemAloc"), 2, "did you mean 'cuMemAlloc'"),
                                  (("fail", "cuInit", "--result", "CUDA_ERROR_UNKOWN"), 2,
                                   "did you mean 'CUDA_ERROR_UNKNOWN'"),
                                  (("outsider", "0", "much"), 2, "not a size"),
                                  (("fail", "cuInit", "--times", "0"), 2, "number of times")):
            self.refuses(self.inject(*words), code, part)

    def test_gpus_without_ecc(self):
        self.create("--preset", "gtx-1050ti")
        self.refuses(self.inject("ecc", "0", "corrected"), 1, "no ECC")


if __name__ == "__main__":
    main("__main__")
