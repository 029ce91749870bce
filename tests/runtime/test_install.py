#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu-runtime install: a release on a node, and the container engine's configuration."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from cli_case import main
from fixtures import LIBRARY, RUNTIME

VERSION_2 = 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\n  sandbox_image = "pause:1"'
VERSION_3 = "root = '/x'\nversion = 3\n"


class Install(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.to = self.folder / "vgpu"

    def install(self, *words, status=0, program=RUNTIME):
        done = subprocess.run([program, "install", "--to", str(self.to), *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def releases(self):
        return sorted(path.name for path in self.to.iterdir() if path.name != "current")

    def test_a_release_is_a_folder_and_current_leads_to_it(self):
        self.install("--simulator")
        current = self.to / "current"
        self.assertEqual(self.releases(), [os.readlink(current)])
        for name, mode in (("sbin/vgpu-runtime", 0o755), ("lib/libvgpu.so", 0o644),
                           ("lib/sim/libcuda.so.1", 0o644), ("lib/sim/libnvidia-ml.so.1", 0o644)):
            self.assertEqual((current / name).stat().st_mode & 0o777, mode, name)
        self.assertEqual((current / "lib/libvgpu.so").read_bytes(), pathlib.Path(LIBRARY).read_bytes())
        # What was installed can install: it finds its library beside itself.
        self.install(program=str(current / "sbin/vgpu-runtime"))

    def test_installed_again_nothing_is_written(self):
        self.install()
        library = self.to / "current/lib/libvgpu.so"
        before = library.stat()
        self.install()
        self.assertEqual((library.stat().st_ino, library.stat().st_mtime_ns), (before.st_ino, before.st_mtime_ns))
        self.assertEqual(len(self.releases()), 1)

    def test_another_release_leaves_the_one_in_use(self):
        self.install()
        library = (self.to / "current/lib/libvgpu.so").resolve()
        old = library.read_bytes()
        self.install("--simulator")             # other files, another release
        self.assertEqual(len(self.releases()), 2)
        self.assertNotEqual((self.to / "current/lib/libvgpu.so").resolve(), library)
        self.assertEqual(library.read_bytes(), old)

    def test_what_a_killed_one_left_is_no_release(self):
        self.install()
        name = self.releases()[0]
        (self.to / name).rename(self.to / f".{name}.1")
        (self.to / "current").unlink()
        self.install()
        self.assertTrue((self.to / "current/sbin/vgpu-runtime").exists())

    def configure(self, text):
        path = self.folder / "config.toml"
        path.write_text(text)
        path.chmod(0o600)
        self.install("--containerd", str(path))
        return path

    def test_containerd_is_configured_once(self):
        for text, plugin in ((VERSION_2, "io.containerd.grpc.v1.cri"), (VERSION_3, "io.containerd.cri.v1.runtime")):
            path = self.configure(text)
            added = path.read_text()
            self.assertTrue(added.startswith(text + ("" if text.endswith("\n") else "\n")), added)
            self.assertIn(f'\n[plugins."{plugin}".containerd.runtimes.vgpu]\n', added)
            self.assertIn(f'BinaryName = "{self.to}/current/sbin/vgpu-runtime"', added)
            self.assertIn('container_annotations = ["vgpu.io/*"]', added)
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            self.install("--containerd", str(path))
            self.assertEqual(path.read_text(), added)

    def test_another_version_of_the_file_is_left(self):
        for text in ("", "version = 1\n", "# version = 2\n"):
            path = self.folder / "config.toml"
            path.write_text(text)
            self.assertIn("is not of version 2 or 3", self.install("--containerd", str(path), status=1))
            self.assertEqual(path.read_text(), text)

    def test_crio_is_configured(self):
        path = self.folder / "vgpu.conf"
        self.install("--crio", str(path))
        self.assertIn(f'runtime_path = "{self.to}/current/sbin/vgpu-runtime"', path.read_text())

    def test_wrong_arguments(self):
        for words, text in ((("here",), "takes options only"), (("--to", "relative"), "an absolute path"),
                            (("--crio", "x"), "an absolute path"), (("--nonsense",), "--nonsense")):
            self.assertIn(text, self.install(*words, status=2))
        done = subprocess.run([RUNTIME, "install"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "vgpu-runtime: missing --to FOLDER\n"))

    def test_a_folder_that_cannot_be_written(self):
        (self.folder / "vgpu").write_text("a file\n")
        self.assertIn("cannot write", self.install(status=1))

    def test_it_needs_nothing_of_the_node(self):
        self.install()
        listed = subprocess.run(["ldd", str(self.to / "current/sbin/vgpu-runtime")], capture_output=True, text=True)
        # Of a program that may lie anywhere, ldd says the latter.
        self.assertRegex(listed.stderr + listed.stdout, "not a dynamic executable|statically linked")


if __name__ == "__main__":
    main("__main__")
