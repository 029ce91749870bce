#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu doctor inside a container: what the node gave wrongly is found: test_doctor.py VGPU BURN SOURCE_ROOT."""

import json
import os
import socket

from box import BoxCase
from cli_case import main

DOCTOR = ("VGPU_LIB=/opt/vgpu/libvgpu.so VGPU_SIM_LIB=/opt/driver XDG_RUNTIME_DIR=/tmp "
          "/opt/vgpu/bin/vgpu doctor --json")


class Doctor(BoxCase):
    def wrong(self, box, **environment):
        words = " ".join(f"{name}={value}" for name, value in environment.items())
        answer = box.ask(f"{words} {DOCTOR}")
        self.assertIn("{", answer)
        found = json.loads(answer[answer.index("{"):answer.rindex("}") + 1])
        for row in found["checks"]:
            self.assertEqual("fix" in row, row["verdict"] != "ok", row)
        return {row["subject"]: row["text"] for row in found["checks"] if row["verdict"] == "wrong"}

    def test_a_container_as_it_should_be(self):
        self.assertEqual(self.wrong(self.box()), {})
        self.assertEqual(self.wrong(self.box(host_pids=True, host_proc=True)), {})

    def test_a_preload_that_is_missing_or_leads_nowhere(self):
        wrong = self.wrong(self.box(preload=""))
        self.assertIn("its programs are not limited", wrong["preload"])
        wrong = self.wrong(self.box(preload="/opt/vgpu/libvgpu.so # ours\n/nowhere/libother.so\n"))
        self.assertIn("'/nowhere/libother.so'", wrong["preload"])

    def test_a_driver_that_is_preloaded(self):
        wrong = self.wrong(self.box(), LD_PRELOAD="/opt/driver/libcuda.so.1")
        self.assertIn("LD_PRELOAD names the driver", wrong["preload"])

    def test_a_share_that_is_not_held_fast(self):
        box = self.box(share=False)
        with open(os.path.join(box.state, "shared", "share"), "wb") as file:
            file.write(b"nonsense")
        box.ask("mkdir -p /etc/vgpu; cp /run/vgpu/share /etc/vgpu/share")
        self.assertIn("share", self.wrong(box)["container"])
        box = self.box(is_fixed=False)
        self.assertIn("is not a mount", self.wrong(box)["container"])

    def test_a_region_that_cannot_be_written(self):
        box = self.box(region="/etc/vgpu/none")
        self.assertIn("the share's region", self.wrong(box)["container"])

    def test_an_agent_that_is_gone(self):
        def dead(path):
            server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            server.bind(path)
            server.close()
        self.assertIn("no answer from the node's agent", self.wrong(self.box(registry=dead))["processes"])

    def test_a_kubernetes_node(self):
        box = self.box()
        runtime = '[plugins.x.containerd.runtimes.vgpu]\n[y.options]\nBinaryName = "{}"\n'
        box.ask("mkdir -p /var/lib/kubelet/device-plugins")
        self.assertNotIn("node", self.wrong(box))               # nothing of vgpu's is here: a note
        box.ask("mkdir -p /tmp/containerd; ln -sf /tmp/containerd /etc/containerd || cp -r /tmp/containerd /etc/")
        for text, sentence in ((runtime.format("/nowhere"), "which is not a program"),
                               (runtime.format("/bin/sh"), "does not pass vgpu.io annotations")):
            box.ask(f"printf '%s' '{text}' >/etc/containerd/config.toml")
            self.assertIn(sentence, self.wrong(box)["node"])
        box.ask("touch /var/lib/kubelet/device-plugins/kubelet.sock")
        box.ask("printf 'container_annotations = 1' >>/etc/containerd/config.toml")
        self.assertIn("vgpu-node does not answer", self.wrong(box)["node"])

    def test_control_groups_that_are_not_there(self):
        box = self.box()
        wrong = [self.wrong(box, VGPU_COMPAT=mode).get("processes") for mode in ("1", "2")]
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            text = file.read()
        self.assertEqual([bool(row) for row in wrong], [":pids:" not in text, "\n0::" not in "\n" + text])


if __name__ == "__main__":
    main("__main__")
