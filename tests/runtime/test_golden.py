#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What vgpu-runtime writes into config.json, byte by byte: test_golden.py VGPU BURN SOURCE_ROOT.

golden/NAME.in.json is what an engine wrote, golden/NAME.CASE.json what becomes of it. @…@ stand for what
differs from run to run. GOLDEN_WRITE=1 writes the latter anew, to be read before it is believed.
"""

import os
import pathlib
import subprocess

from cli_case import main
from fixtures import DRIVER, RUNTIME, FixturesCase

GOLDEN = pathlib.Path(os.path.dirname(os.path.abspath(__file__)), "golden")
UID = "0f5ddf7a-0000-4000-8000-000000000001"


class Golden(FixturesCase):
    starts_containers = False

    def setUp(self):
        super().setUp()
        self.bundle = pathlib.Path(self.fixtures.folder, "bundle")
        (self.bundle / "rootfs" / "etc").mkdir(parents=True, exist_ok=True)
        self.fixtures.agent.start()
        self.addCleanup(self.fixtures.agent.stop)

    def names(self):
        return {"@LAB@": self.fixtures.folder, "@UID@": UID, "@RUNTIME@": RUNTIME, "@DRIVER@": DRIVER,
                "@LIBRARY@": os.path.join(os.path.dirname(os.path.dirname(DRIVER)), "lib/libvgpu.so"),
                **{f"@GPU{i}@": uuid for i, uuid in enumerate(self.fixtures.uuids)}}

    def becomes(self, name, case):
        text = (GOLDEN / f"{name}.in.json").read_text(encoding="utf-8")
        config = self.bundle / "config.json"
        config.write_text(text.replace("@UID@", UID), encoding="utf-8")
        os.chmod(config, 0o640)
        done = subprocess.run([RUNTIME, "--root", "/r", "create", "--bundle", self.bundle, "id"], check=False,
                              env={"VGPU_RUNTIME_CONF": self.fixtures.conf, "VGPU_RUNTIME_REAL": "/bin/true"},
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(os.stat(config).st_mode & 0o777, 0o640)
        self.assertEqual(sorted(p.name for p in self.bundle.iterdir()), ["config.json", "rootfs"])
        made = config.read_text(encoding="utf-8")
        for mark, value in self.names().items():
            made = made.replace(value, mark)
        path = GOLDEN / f"{name}.{case}.json"
        if os.environ.get("GOLDEN_WRITE"):
            path.write_text(made, encoding="utf-8")
        self.assertEqual(made, path.read_text(encoding="utf-8"))

    def share(self):
        if (UID, "main") not in self.fixtures.agent.table:
            answer = self.fixtures.share(UID, "main", 100, 1)
            answer.device_nodes.add(path="/dev/nvidia1", major=195, minor=1)
        return self.fixtures.agent.table[UID, "main"]

    def test_with_a_share(self):
        self.share()
        for name in ("containerd", "bare"):
            with self.subTest(name):
                self.becomes(name, "share")

    def test_without(self):
        kept = self.fixtures.agent.table.pop((UID, "main"), None)
        for name in ("containerd", "bare", "privileged"):
            with self.subTest(name):
                self.becomes(name, "without")
        if kept:
            self.fixtures.agent.table[UID, "main"] = kept

    def test_with_limits_of_its_own(self):
        self.fixtures.configure(f"--sim={self.fixtures.machine}", f"--sim-driver={DRIVER}")
        self.becomes("docker", "limits")


if __name__ == "__main__":
    main("__main__")
