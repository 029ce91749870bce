# SPDX-License-Identifier: Apache-2.0
"""protocol_grpcio BIN LIB DESCRIPTORS: the table of protocol.py, with grpcio as kubelet."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "net"))
import mig  # noqa: E402
from offers import Bench  # noqa: E402
from peer import Tap, eventually  # noqa: E402
from protocol import COUNTS, ROWS  # noqa: E402


class GrpcioKubelet:
    gpus, split, gb = 2, 10, 40

    def __init__(self, bench):
        self.bench = bench
        self.options = [f"--resource-name={name}" for name in COUNTS[1:]]
        self.node = bench.node(*self.options)

    def within(self, claim):
        return eventually(claim, 20)

    def healthy(self, resource):
        return [name for name, health in (self.bench.listed(resource) or {}).items()
                if health == "Healthy"]

    def take(self, resource, count):
        answer = self.bench.kubelet.endpoints[resource].allocate(self.healthy(resource)[:count])
        return {pair.key: pair.value for pair in answer.container_responses[0].envs}

    def restart_kubelet(self):
        self.bench.kubelet.stop()
        self.bench.kubelet.start()

    def restart_agent(self):
        self.node.kill()
        self.node.wait()
        self.bench.kubelet.endpoints.clear()
        self.node = self.bench.node(*self.options)

    def delete_socket(self, resource):
        self.bench.kubelet.endpoints.pop(resource)
        (self.bench.folder / "plugins" / f"vgpu-{resource.replace('/', '-')}.sock").unlink()

    def disturb(self, *words):
        self.bench.sim("inject", *words)

    def cut(self, gpu, slices):
        mig.cut(self.bench.lib_dir, self.bench.machine, gpu, slices)
        return mig.devices(self.bench.lib_dir, self.bench.machine, gpu)


def main(bin_dir, lib_dir, descriptors):
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        peer = GrpcioKubelet(Bench(bin_dir, lib_dir, descriptors, pathlib.Path(name)))
        for sentence, check in ROWS:
            tap.check(sentence, check(peer))
        peer.node.terminate()
        peer.node.wait(20)
        peer.bench.kubelet.stop()
    tap.done()


main(*sys.argv[1:])
