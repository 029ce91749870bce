# SPDX-License-Identifier: Apache-2.0
"""The table of tests/node/protocol.py, with the real kubelet."""

import os
import subprocess
import sys
import time

from fixtures import case, expect, pod
from paths import BUILD, HERE, NODE

from cases.test_node import agent, ids_of_kubelet

sys.path.insert(0, os.path.join(HERE, "..", "node"))
import mig  # noqa: E402
import protocol  # noqa: E402

LIB = os.path.join(BUILD, "lib", "sim")


class Kubelet:
    gpus, split, gb = 2, 10, 40

    def __init__(self, cluster, node):
        self.cluster, self.node, self.pods = cluster, node, 0

    def within(self, claim):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if claim():
                return True
            time.sleep(0.2)
        return claim()

    def healthy(self, resource):
        return ids_of_kubelet(resource)

    def take(self, resource, count):
        """A pod says what it has of the variables that Allocate may give."""
        self.pods += 1
        name = f"taker-{self.pods}"
        self.within(lambda: int(self.cluster.node(NODE)["status"]["allocatable"].get(resource, 0)) >= count)
        self.cluster.apply(pod(name, limits={resource: str(count)}, command="env | grep ^NVIDIA_ || true"))
        self.cluster.wait_phase(name, "Succeeded")
        return dict(line.split("=", 1) for line in self.cluster.logs(name).splitlines())

    def restart_kubelet(self):
        self.cluster.kill("kubelet")
        self.cluster.start("kubelet")

    def restart_agent(self):
        self.node.kill()
        self.node.start()

    def delete_socket(self, resource):
        os.unlink(f"/var/lib/kubelet/device-plugins/vgpu-{resource.replace('/', '-')}.sock")

    def disturb(self, *words):
        subprocess.run([os.path.join(BUILD, "bin", "vgpu"), "sim", "inject", "--machine",
                        self.node.machine, *words], check=True, stdout=subprocess.DEVNULL)

    def cut(self, gpu, slices):
        mig.cut(LIB, self.node.machine, gpu, slices)
        return mig.devices(LIB, self.node.machine, gpu)


@case("the real kubelet passes the table that grpcio passes")
def table(cluster):
    with agent(cluster, "a100-40gb", 2, "--health-recovery=2") as node:
        peer = Kubelet(cluster, node)
        for sentence, check in protocol.ROWS:
            complaints = check(peer)
            expect(not complaints, f"{sentence}: {complaints}")
