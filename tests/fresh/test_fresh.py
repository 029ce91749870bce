# SPDX-License-Identifier: Apache-2.0
"""Runs rows of tools/fresh in a root of busybox: what is counted, what a run leaves, what a kill leaves."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import unit_tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUSYBOX = shutil.which("busybox") or ""


def tool_load(folder):
    """tools/fresh with a cache of its own, and a root of busybox in it for the name debian-12."""
    os.environ.update(VGPU_CACHE=os.path.join(folder, "cache"), BUILD=os.path.join(folder, "build"))
    loader = importlib.machinery.SourceFileLoader("fresh", os.path.join(TOP, "tools", "fresh"))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("fresh", loader))
    sys.modules["fresh"] = tool
    loader.exec_module(tool)
    tool.clone_head, tool.clone = tool.clone, os.mkdir      # only one case is about the source
    return tool


def root_make(tool):
    path = tool.roots.root_folder("debian-12")
    for name in ("usr/bin", "bin", "dev", "etc", "mnt", "proc", "root", "sys", "tmp", "var/cache/apt/archives"):
        os.makedirs(os.path.join(path, name))
    shutil.copy(BUSYBOX, os.path.join(path, "bin", "busybox"))
    for name in ("sh", "cat", "false", "ls", "sleep", "touch", "umount", "unshare"):
        os.symlink("busybox", os.path.join(path, "bin", name))
    os.symlink("/bin/busybox", os.path.join(path, "usr", "bin", "env"))
    return path


def rows_of(tool, rows, root="debian-12", **more):
    return [tool.Row(f"row-{number}", "suite", root, commands, **more) for number, commands in enumerate(rows)]


def listing(path):
    return sorted(os.path.join(folder, name) for folder, folders, files in os.walk(path) for name in folders + files)


def is_static(program):
    with open(program, "rb") as file:
        return b"/ld-linux" not in file.read(8192)


def obstacle():
    if os.geteuid() != 0:
        return "bare roots are entered by root"
    if not BUSYBOX or not is_static(BUSYBOX):
        return "there is no static busybox"
    tried = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True,
                           check=False)
    return "no namespaces can be made here" if tried.returncode else None


class Case(unittest.TestCase):
    def setUp(self):
        if obstacle():
            self.skipTest(obstacle())
        self.folder = tempfile.mkdtemp(prefix="vgpu-fresh-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder)
        self.tool = tool_load(self.folder)
        self.root = root_make(self.tool)

    def run_rows(self, *rows, root="debian-12", **more):
        """(the last line, all that is printed) for rows with these commands."""
        self.tool.ROWS = rows_of(self.tool, rows, root, **more)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            status = self.tool.main(["suite"])
        line = printed.getvalue().splitlines()[-1]
        self.assertEqual(status, 0 if ", 0 failed," in line else 1)
        return line, printed.getvalue()

    def assert_passes(self, *commands, **more):
        line, printed = self.run_rows(commands, **more)
        self.assertEqual(line, "1 passed, 0 failed, 0 skipped", printed)


class Counting(Case):
    def test_commands_that_count_nothing_are_one_test(self):
        self.assert_passes("true", "true")

    def test_the_last_count_of_each_command_is_summed(self):
        commands = ("echo '9 passed, 9 failed, 9 skipped'; echo '2 passed, 0 failed, 1 skipped'",
                    "echo '3 passed, 0 failed, 4 skipped'", "true")
        self.assertEqual(self.run_rows(commands, commands)[0], "10 passed, 0 failed, 10 skipped")

    def test_a_command_that_fails_has_failed_and_ends_its_row(self):
        line, printed = self.run_rows(("echo '3 passed, 0 failed, 0 skipped'", "cat /etc/absent", "echo more"))
        self.assertEqual(line, "3 passed, 1 failed, 0 skipped")
        self.assertIn("| cat: can't open '/etc/absent'", printed)
        self.assertIn("not ok row-0: 3 passed, 1 failed, 0 skipped", printed)
        self.assertNotIn("more", printed)

    def test_a_row_that_counts_zero_tests_has_failed(self):
        self.assertEqual(self.run_rows(("echo '0 passed, 0 failed, 0 skipped'",))[0], "0 passed, 1 failed, 0 skipped")

    def test_failed_tests_are_not_counted_twice(self):
        line = "3 passed, 2 failed, 0 skipped"
        self.assertEqual(self.run_rows((f"echo '{line}'; false",))[0], line)

    def test_warnings_are_reported(self):
        self.assertIn("; 2 warnings; ", self.run_rows(("echo 'a.c:1:1: warning: x'; echo 'b.c:1:1: warning: x'",))[1])

    def test_the_suites_of_a_change_and_of_the_night_differ(self):
        tool = self.tool
        names = [row.name for row in tool.ROWS]
        self.assertEqual(len(set(names)), len(names))
        every_change = tool.chosen(tool.EVERY_CHANGE)
        self.assertEqual([row for row in tool.ROWS if row not in every_change], tool.chosen(["nightly"]))
        self.assertEqual([row.name for row in tool.chosen(["debian-12"])], ["debian-12"])


class Packages(unittest.TestCase):
    def test_programs_without_which_cases_are_skipped_are_installed(self):
        """A case that a bare root skips is one that no change is tried with."""
        wanted = set()
        for path in pathlib.Path(TOP, "tests").rglob("*.py"):
            wanted |= set(re.findall(r'skipUnless\(shutil\.which\("([^"]+)"\)', path.read_text(encoding="utf-8")))
        sets = pathlib.Path(TOP, "tools", "setup").read_text(encoding="utf-8")
        self.assertIn("tmux", wanted)
        self.assertEqual(wanted - set(re.search(r'^test="(.*)"$', sets, re.M)[1].split()), set())


class Roots(Case):
    def test_a_run_leaves_the_root_as_it_is(self):
        before = listing(self.root)
        self.assert_passes("touch /etc/new /tmp/new new", "ls /etc/new /tmp/new /srv/vgpu/new")
        self.assertEqual(listing(self.root), before)
        self.assertEqual(os.listdir(os.path.join(self.tool.roots.cache_path(), "layers")), ["lock"])

    def test_packages_stay_for_the_next_run(self):
        self.assert_passes("echo contents >/var/cache/apt/archives/a.deb")
        self.assert_passes("cat /var/cache/apt/archives/a.deb")

    def test_user_namespaces_can_be_made_inside(self):
        if subprocess.run(["unshare", "--user", "true"], capture_output=True, check=False).returncode:
            self.skipTest("nor can they outside")
        self.assert_passes("unshare -U -r -m true")

    def test_what_a_change_may_set_reaches_only_who_has_to_know(self):
        os.environ["WERROR"] = "1"
        self.addCleanup(os.environ.pop, "WERROR")
        for warnings_fail, said in ((True, "1"), (False, "no")):
            self.assert_passes(f'[ "${{WERROR-no}}" = {said} ]', warnings_fail=warnings_fail)

    def test_a_root_that_cannot_be_made_fails_with_a_sentence(self):
        self.tool.roots.host_mirror = lambda root: "http://127.0.0.1:1/debian"
        line, printed = self.run_rows(("true",), root="debian-13")
        self.assertEqual(line, "0 passed, 1 failed, 0 skipped")
        self.assertRegex(printed, "not ok row-0: no bare debian-13: (debootstrap fails|there is no debootstrap)")
        self.assertFalse(os.path.exists(self.tool.roots.root_folder("debian-13")))

    def test_an_archive_that_this_machine_does_not_use_may_be_out_of_reach(self):
        self.tool.roots.host_mirror = lambda root: ""
        self.tool.roots.script_mirror = lambda script, suite: "http://127.0.0.1:1/ubuntu"
        line, printed = self.run_rows(("true",), root="ubuntu-24.04")
        self.assertEqual(line, "0 passed, 0 failed, 1 skipped")
        self.assertRegex(printed, "skip row-0: no bare ubuntu-24.04: (Ubuntu's archive cannot be reached|there is no)")

    def test_under_sudo_folders_above_the_cache_are_the_callers(self):
        os.environ.update(VGPU_CACHE=os.path.join(self.folder, "home", ".cache", "vgpu"), SUDO_UID="65534", SUDO_GID="65534")
        for name in ("SUDO_UID", "SUDO_GID"):
            self.addCleanup(os.environ.pop, name)
        self.tool.cache_make()
        for path, user in (("home", 65534), ("home/.cache", 65534), ("home/.cache/vgpu", 65534),
                           ("home/.cache/vgpu/fresh", 0)):
            self.assertEqual(os.stat(os.path.join(self.folder, path)).st_uid, user, path)

    def test_a_clone_has_what_is_committed(self):
        tree, target = os.path.join(self.folder, "tree"), os.path.join(self.folder, "target")
        for words in (["init", "-q", tree], ["-C", tree, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q",
                                              "--allow-empty", "-m", "empty"]):
            subprocess.run(["git", *words], check=True)
        with open(os.path.join(tree, "loose"), "w", encoding="ascii"):
            pass
        os.chown(tree, 65534, 65534)            # a user's, cloned by root
        os.chown(os.path.join(tree, ".git"), 65534, 65534)
        self.tool.TOP = tree
        self.tool.clone_head(target)
        self.assertEqual(os.listdir(target), [".git"])


class Killed(Case):
    def test_nothing_stays_after_a_kill_but_what_the_next_run_removes(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            child = subprocess.Popen([sys.executable, "-B", __file__, "sleep", self.folder, SLEEP],
                                     stdout=subprocess.PIPE, text=True)
            while "sleep" not in child.stdout.readline():
                self.assertIsNone(child.poll())
            sleeper = self.wait_for(self.sleepers, "a process inside")
            child.send_signal(number)
            child.wait()
            child.stdout.close()
            self.wait_for(lambda: not self.sleepers(), f"the end of {sleeper} after signal {number}")
            with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
                self.assertNotIn(self.folder, mounts.read())
            self.assert_passes("true")
            self.assertEqual(os.listdir(os.path.join(self.tool.roots.cache_path(), "layers")), ["lock"])

    def sleepers(self):
        """Processes of the row's command."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                if f"sleep\0{SLEEP}" in file.read().decode(errors="replace"):
                    found.append(pid)
        return found

    def wait_for(self, condition, what):
        for _ in range(600):
            result = condition()
            if result:
                return result
            time.sleep(0.05)
        raise AssertionError(f"no {what}")


class Steps(unittest.TestCase):
    """.ci/run with steps of its own; a command is a list of words without quotes."""

    def run_steps(self, *steps, limit=90):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, ".ci"))
            shutil.copy(os.path.join(TOP, ".ci", "run"), os.path.join(folder, ".ci"))
            with open(os.path.join(folder, ".ci", "budget"), "w", encoding="ascii") as file:
                file.write("\n".join(["# steps", f"limit {limit}", *steps, ""]))
            with open(os.path.join(folder, "Makefile"), "w", encoding="ascii") as file:
                file.write("demo:\ntest:\n\t@echo 7 passed, 0 failed, $(WERROR) skipped\n")
            done = subprocess.run([os.path.join(folder, ".ci", "run")], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, check=False)
        return done.returncode, done.stdout.splitlines()[-1], done.stdout

    def test_steps_are_summed(self):
        status, line, printed = self.run_steps("test 15 echo 3 passed, 0 failed, 1 skipped",
                                               "fresh 10 echo 0 passed, 0 failed, 4 skipped")
        self.assertEqual((status, line), (0, "3 passed, 0 failed, 5 skipped"))
        self.assertRegex(printed, r"test +[01] of +15 minutes, 3 passed, 0 failed, 1 skipped\n")  # rounded up

    def test_a_step_that_counts_nothing_or_fails_has_failed(self):
        good = "fresh 10 echo 1 passed, 0 failed, 0 skipped"
        for bad in ("e2e 40 true", "e2e 40 false", "e2e 40 echo 0 passed, 0 failed, 2 skipped"):
            status, line, _ = self.run_steps(bad, good)
            self.assertEqual((status, line.split(" skipped")[0][:-2]), (1, "1 passed, 1 failed,"))

    def test_a_forge_judges_a_step_as_the_run_does(self):
        with open(os.path.join(TOP, ".github", "workflows", "ci.yml"), encoding="utf-8") as file:
            script = re.search(r"^ +set -o pipefail\n(?: {10}.*\n)+", file.read(), re.M)[0]
        for name in ("fresh", "e2e"):
            for said in ("3 passed, 0 failed, 1 skipped", "0 passed, 0 failed, 4 skipped", "3 passed, 1 failed, 0 skipped"):
                run = self.run_steps(f"{name} 10 echo {said}")[0]
                with tempfile.TemporaryDirectory() as folder:
                    lines = script.replace("${{ matrix.step.command }}", f"echo '{said}'").replace("/tmp/output", f"{folder}/output")
                    done = subprocess.run(["bash", "-e", "-c", lines], env={**os.environ, "STEP": name},
                                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
                self.assertEqual((name, said, done.returncode), (name, said, run))

    def test_without_a_bare_root_the_tests_run_on_the_machine(self):
        status, line, _ = self.run_steps("test 15 echo 0 passed, 0 failed, 1 skipped")
        self.assertEqual((status, line), (0, "7 passed, 0 failed, 2 skipped"))

    def test_a_step_over_its_budget_is_named(self):
        status, _, printed = self.run_steps("e2e 0 sh -c sleep${IFS}1;echo${IFS}1${IFS}passed,${IFS}0${IFS}failed,"
                                            "${IFS}0${IFS}skipped")
        self.assertEqual(status, 0)
        self.assertRegex(printed, "e2e +1 of +0 minutes, .*; over its budget")

    def test_the_limit_ends_a_step(self):
        status, line, _ = self.run_steps("e2e 40 sleep 1000", limit=0)
        self.assertEqual((status, line), (1, "0 passed, 1 failed, 0 skipped"))

    def test_the_budget_is_within_the_limit(self):
        with open(os.path.join(TOP, ".ci", "budget"), encoding="utf-8") as file:
            minutes = {words[0]: int(words[1]) for words in map(str.split, file)
                       if len(words) > 1 and words[1].isdigit() and words[0] != "#"}
        self.assertLessEqual(sum(minutes.values()) - minutes["limit"], minutes["limit"])


# Told apart from every other sleep on the machine.
SLEEP = str(100000 + os.getpid())

if __name__ == "__main__":
    if sys.argv[1:2] == ["sleep"]:
        fresh = tool_load(sys.argv[2])
        fresh.ROWS = rows_of(fresh, [(f"/bin/busybox sleep {sys.argv[3]}",)])    # a process: some shells sleep by themselves
        sys.exit(fresh.main(["suite"]))
    else:
        unit_tap.run("__main__", sys.argv[1:])
