# SPDX-License-Identifier: Apache-2.0
"""offers BIN LIB DESCRIPTORS: MIG devices and GB of memory, as kubelet gets them."""

import os
import pathlib
import subprocess
import sys
import tempfile

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "net"))
import mig  # noqa: E402
from fake_kubelet import FakeKubelet  # noqa: E402
from peer import Messages, Tap, differs, eventually  # noqa: E402

MEMORY = "gpu.das.com/mem"


class Bench:
    """A machine of two A100, kubelet, and vgpu-node between them."""

    def __init__(self, bin_dir, lib_dir, descriptors, folder):
        self.bin_dir, self.lib_dir, self.folder = bin_dir, lib_dir, folder
        self.machine = str(folder / "machine")
        self.sim("create", "--preset", "a100-40gb", "--gpus", "2")
        (folder / "plugins").mkdir()
        self.kubelet = FakeKubelet(Messages(descriptors), folder / "plugins")
        self.kubelet.start()

    def sim(self, verb, *words):
        subprocess.run([f"{self.bin_dir}/vgpu", "sim", verb, "--machine", self.machine, *words],
                       check=True, stdout=subprocess.DEVNULL)

    def node(self, *options):
        environment = {**os.environ, "VGPU_SIM": self.machine, "LD_LIBRARY_PATH": self.lib_dir}
        return subprocess.Popen(
            [f"{self.bin_dir}/vgpu-node", f"--device-plugin-path={self.folder}/plugins",
             f"--state-dir={self.folder}/state", f"--run-dir={self.folder}/run", "--health-recovery=2",
             "--resource-name=nvidia.com/vgpu", *options], env=environment,
            stderr=subprocess.DEVNULL)

    def listed(self, resource):
        """Health by id, as last sent; None: not registered."""
        end = self.kubelet.endpoints.get(resource)
        return end.lists[-1] if end and end.lists else None

    def healthy(self, resource):
        return sum(h == "Healthy" for h in (self.listed(resource) or {}).values())

    def becomes(self, resource, count):
        return [] if eventually(lambda: self.healthy(resource) == count, 20) else \
            [f"{self.healthy(resource)} healthy of {resource}: {self.listed(resource)}"]


def memory(tap, bench):
    tap.check("each GB of each GPU is one", bench.becomes(MEMORY, 80))
    before = sorted(bench.listed(MEMORY))
    answer = bench.kubelet.endpoints[MEMORY].allocate(before[:3])
    tap.check("Allocate gives nothing with it, not even a mark", differs(
        [given.ByteSize() for given in answer.container_responses], [0]))
    bench.sim("inject", "lose", "1")
    tap.check("a GPU that is lost takes its own away", bench.becomes(MEMORY, 40))
    tap.check("… under the same ids", differs(sorted(bench.listed(MEMORY)), before))
    bench.sim("inject", "restore", "1")
    tap.check("… and back they are", bench.becomes(MEMORY, 80))
    bench.kubelet.stop()
    bench.kubelet.start()
    tap.check("after a restart of kubelet all are listed, under the same ids",
              bench.becomes(MEMORY, 80) or differs(sorted(bench.listed(MEMORY)), before))


def refusal(end, ids):
    try:
        end.allocate(ids)
        return None
    except grpc.RpcError as error:
        return error.code().name, error.details()


def profiles(tap, bench):
    mig.cut(bench.lib_dir, bench.machine, 0, [1, 1, 3])
    uuids = mig.devices(bench.lib_dir, bench.machine, 0)
    tap.check("a GPU put into MIG mode while we run is offered by its profiles",
              bench.becomes("nvidia.com/mig-1g.5gb", 2) + bench.becomes("nvidia.com/mig-3g.20gb", 1))
    tap.check("… under both names", bench.becomes("mig.das.com/1g.5gb", 2))
    tap.check("… its id is the device's UUID", differs(
        sorted([*bench.listed("nvidia.com/mig-1g.5gb"), *bench.listed("nvidia.com/mig-3g.20gb")]),
        sorted(uuids)))
    tap.check("… the vGPUs are the other GPU's", bench.becomes("nvidia.com/vgpu", 10))
    end = bench.kubelet.endpoints["nvidia.com/mig-1g.5gb"]
    ids = sorted(bench.listed("nvidia.com/mig-1g.5gb"))
    given = end.allocate(ids).container_responses[0]
    tap.check("Allocate makes the device visible that kubelet chose, and marks the container",
              differs(({e.key: e.value for e in given.envs}, [a.key for a in given.annotations]),
                      ({"NVIDIA_VISIBLE_DEVICES": ",".join(ids)}, ["vgpu.io/requested"])))
    tap.check("a device that is not of this node is refused",
              differs(refusal(end, ["MIG-no-such"])[0], "INVALID_ARGUMENT"))
    tap.check("what is held under one name is not offered under the other",
              bench.becomes("mig.das.com/1g.5gb", 0) + bench.becomes("nvidia.com/mig-1g.5gb", 2))
    tap.check("… nor given", differs(
        refusal(bench.kubelet.endpoints["mig.das.com/1g.5gb"], ids[:1]),
        ("FAILED_PRECONDITION", f"'{ids[0]}' is in use already, as nvidia.com/mig-1g.5gb")))
    bench.sim("inject", "lose", "0")
    tap.check("devices of a lost GPU are unhealthy", bench.becomes("nvidia.com/mig-1g.5gb", 0))
    tap.check("… and still listed", differs(sorted(bench.listed("nvidia.com/mig-1g.5gb")), ids))
    bench.sim("inject", "restore", "0")
    tap.check("… and healthy again", bench.becomes("nvidia.com/mig-1g.5gb", 2))


def strategies(tap, bench):
    node = bench.node("--mig-strategy=none", "--memory-units=no")
    tap.check("with none there are the vGPUs of the whole GPU only",
              bench.becomes("nvidia.com/vgpu", 10) or
              differs(sorted(bench.kubelet.endpoints), ["nvidia.com/vgpu"]))
    node.terminate()
    node.wait(20)
    bench.sim("destroy")
    bench.sim("create", "--preset", "a100-40gb", "--gpus", "2")
    for gpu in range(2):
        mig.cut(bench.lib_dir, bench.machine, gpu, [2, 2, 2])
    bench.kubelet.stop()
    bench.kubelet.start()
    node = bench.node("--mig-strategy=single", "--memory-units=no")
    tap.check("with single equal devices are counted as vGPUs", bench.becomes("nvidia.com/vgpu", 6))
    ids = sorted(bench.listed("nvidia.com/vgpu"))
    given = bench.kubelet.endpoints["nvidia.com/vgpu"].allocate(ids[:1]).container_responses[0]
    tap.check("… and Allocate gives the device", differs(
        [(e.key, e.value) for e in given.envs], [("NVIDIA_VISIBLE_DEVICES", ids[0])]))
    node.terminate()
    tap.check("it ends in order", differs(node.wait(20), 0))


def configured(tap, bench):
    """Settings of this node beat the options, and a wrong one is refused with a sentence."""
    file = bench.folder / "nodes.yaml"
    file.write_text(f"nodes:\n- name: other\n  nonsense: 1\n- name: {os.uname().nodename}\n"
                    "  deviceSplitCount: 3\n  exclude_devices: [1]\n  migStrategy: none\n"
                    "  memoryUnits: false\n", encoding="utf-8")
    bench.sim("destroy")
    bench.sim("create", "--preset", "a100-40gb", "--gpus", "2")
    bench.kubelet.stop()
    bench.kubelet.start()
    node = bench.node("--device-split-count=10", f"--node-config-path={file}")
    tap.check("a node's own settings beat the options", bench.becomes("nvidia.com/vgpu", 3) or
              differs(sorted(bench.kubelet.endpoints), ["nvidia.com/vgpu"]))
    node.terminate()
    node.wait(20)
    rows = [("deviceSplitCont: 3", "unknown key 'deviceSplitCont' (did you mean 'device-split-count'?)"),
            ("kubeconfig: /x", "unknown key 'kubeconfig'"),
            ("deviceSplitCount: 0", "device-split-count"), ("migStrategy: all", "invalid value 'all' of --mig-strategy"),
            ("excludeDevices: x", "'x' names no device to exclude")]
    wrong = []
    for line, sentence in rows:
        file.write_text(f"- name: {os.uname().nodename}\n  {line}\n", encoding="utf-8")
        done = subprocess.run([f"{bench.bin_dir}/vgpu-node", f"--node-config-path={file}"], text=True,
                              stderr=subprocess.PIPE, timeout=20, check=False)
        if done.returncode != 2 or sentence not in done.stderr or str(file) not in done.stderr:
            wrong.append(f"{line}: {done.returncode} {done.stderr}")
    tap.check("a wrong setting is refused with the file and a sentence", wrong)


def named(tap, bench):
    bench.kubelet.stop()
    bench.kubelet.start()
    subprocess.run(["ln", "-s", f"{bench.bin_dir}/vgpu-node", f"{bench.folder}/deviceplugin"], check=True)
    environment = {**os.environ, "VGPU_SIM": bench.machine, "LD_LIBRARY_PATH": bench.lib_dir}
    node = subprocess.Popen([f"{bench.folder}/deviceplugin", f"--device-plugin-path={bench.folder}/plugins",
                             f"--state-dir={bench.folder}/state", f"--run-dir={bench.folder}/run",
                             "--domain=gpu.example.com",
                             "--device-memory-scaling=2.0"],
                            env=environment, stderr=subprocess.DEVNULL)
    offered = ["gpu.das.com/mem", "gpu.example.com/vgpu", "gpu.example.com/vgpu-number",
               "volcano.sh/vgpu-number"]
    eventually(lambda: len(bench.kubelet.endpoints) >= len(offered), 20)
    tap.check("as 'deviceplugin', with a domain of the operator's, it offers names of that domain",
              bench.becomes("gpu.example.com/vgpu", 20) or differs(sorted(bench.kubelet.endpoints), offered))
    node.terminate()
    node.wait(20)


def main(bin_dir, lib_dir, descriptors):
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(bin_dir, lib_dir, descriptors, pathlib.Path(name))
        node = bench.node()
        memory(tap, bench)
        profiles(tap, bench)
        node.terminate()
        node.wait(20)
        bench.kubelet.stop()
        bench.kubelet.start()
        strategies(tap, bench)
        configured(tap, bench)
        named(tap, bench)
        bench.kubelet.stop()
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
