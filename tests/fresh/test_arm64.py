# SPDX-License-Identifier: Apache-2.0
"""tools/arm64: its cross file changes no layout. tools/arm64-namespace where arm64 programs cannot run: one sentence
says why, and nothing is run."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import unit_tap

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NAMESPACE = ["unshare", "--user", "--map-root-user"]


class Cross(unittest.TestCase):
    def test_libraries_are_where_packages_expect_them(self):
        """What a cross file says of meson's own options beats a project's defaults."""
        with tempfile.TemporaryDirectory(prefix="vgpu-arm64-") as folder:
            build = os.path.join(folder, "build")
            with open(os.path.join(folder, "meson.build"), "w", encoding="ascii") as file:
                file.write("project('x', default_options : ['libdir=lib'])\n")
            subprocess.run([os.path.join(TOP, "tools", "arm64"), "cross", folder], check=True)
            subprocess.run(["meson", "setup", "--cross-file", f"{folder}/cross.ini", build, folder], check=True,
                           capture_output=True)
            shown = json.loads(subprocess.run(["meson", "introspect", "--buildoptions", build], check=True,
                                              capture_output=True, text=True).stdout)
        self.assertEqual([option["value"] for option in shown if option["name"] == "libdir"], ["lib"])

    def test_every_build_of_the_makefile_has_one_layout(self):
        with open(os.path.join(TOP, "Makefile"), encoding="utf-8") as file:
            setups = [line for line in file if "meson setup" in line]
        self.assertTrue(setups)
        self.assertEqual([line for line in setups if "-Dlibdir=lib" not in line], [])


class Refusal(unittest.TestCase):
    """With a qemu and a sysroot of its own, of which no case starts anything."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="vgpu-arm64-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = os.path.join(self.folder, "root")
        for path in ("bin/qemu-aarch64-static", "root/usr/bin/tput"):
            self.put(path)
        os.makedirs(os.path.join(self.root, "usr", "lib"))

    def put(self, path):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write("no program\n")
        os.chmod(path, 0o755)

    def refused(self, *before, path=os.environ["PATH"]):
        """The sentence; the command did not run."""
        done = subprocess.run(
            [*before, sys.executable, "-B", os.path.join(TOP, "tools", "arm64-namespace"), self.root, "echo", "ran"],
            env={**os.environ, "PATH": f"{self.folder}/bin:{path}"}, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Aarm64: [^\n]+\n\Z")
        return done.stderr

    def needs_namespaces(self):
        if subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode:
            self.skipTest("no namespaces can be made here")

    def test_without_qemu_it_says_what_to_install(self):
        os.remove(os.path.join(self.folder, "bin", "qemu-aarch64-static"))
        self.assertIn("install Debian's qemu-user-static", self.refused(path="/nowhere"))

    def test_without_a_sysroot_it_says_what_makes_one(self):
        shutil.rmtree(self.root)
        self.assertIn(f"'{self.root}' is no sysroot: `make arm64`", self.refused())

    def test_where_namespaces_are_forbidden_it_says_so(self):
        self.needs_namespaces()
        forbid = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'
        self.assertIn("user namespaces are not allowed here", self.refused(*NAMESPACE, "sh", "-c", forbid, "sh"))

    def test_where_arm64_programs_do_not_start_it_says_what_that_needs(self):
        self.needs_namespaces()
        self.assertRegex(self.refused(), f"Linux {os.uname().release} starts no arm64 programs|cannot be laid over")


unit_tap.run(__name__, sys.argv[1:])
