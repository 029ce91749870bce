# SPDX-License-Identifier: Apache-2.0
"""registration BIN: what vgpu-node writes on its Node, and when."""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "net"))
from fake_api import FakeApi, event, page  # noqa: E402
from peer import Tap, differs  # noqa: E402


def node(version, annotations):
    return {"metadata": {"name": "n1", "uid": "u", "resourceVersion": str(version),
                         "annotations": annotations}}


class Nodes:
    """The requests about nodes; those about pods are answered meanwhile: there are none."""

    def __init__(self, api):
        self.api, self.pods = api, 0

    def take(self):
        """The next request; None if it was about pods."""
        request = self.api.next()
        if request.path != "/api/v1/pods":
            return request
        self.pods += 1
        if request.is_watch():
            request.head()
        else:
            request.reply(200, page(1, []))
        return None

    def next(self):
        request = None
        while not request:
            request = self.take()
        return request

    def none(self, seconds):
        """Nothing comes, once the pods are watched."""
        while self.pods < 2:
            assert not self.take()
        return self.api.none(seconds)


VOLCANO = {"volcano.sh/node-vgpu-register", "volcano.sh/node-vgpu-handshake"}
CAPACITY = {"volcano.sh/vgpu-memory": "4096", "volcano.sh/vgpu-cores": "100"}


def volcano_of(bin_dir, first, *options):
    """What is written on a Node that has these annotations and this capacity at first: annotations, capacity."""
    fake = FakeApi()
    api = Nodes(fake)
    with tempfile.TemporaryDirectory() as folder:
        machine, config = f"{folder}/machine", pathlib.Path(folder) / "config"
        subprocess.run([f"{bin_dir}/vgpu", "sim", "create", "--machine", machine, "--preset", "gtx-1050ti"], check=True,
                       stdout=subprocess.DEVNULL)
        fake.write_config(config)
        process = subprocess.Popen(
            [f"{bin_dir}/vgpu-node", f"--device-plugin-path={folder}", "--node-name=n1", f"--kubeconfig={config}",
             f"--state-dir={folder}/state", f"--run-dir={folder}/run", *options], stderr=subprocess.DEVNULL, env={
                 "VGPU_SIM": machine, "LD_LIBRARY_PATH": str(pathlib.Path(bin_dir).parent / "lib" / "sim")})
        api.next().reply(200, page(5, [{**node(4, first), "status": {"capacity": CAPACITY if first else {}}}]))
        requests = [api.next(), api.next()]
        patch = next(r for r in requests if r.method == "PATCH")
        watch = next(r for r in requests if r.is_watch())
        annotations = json.loads(patch.body)["metadata"]["annotations"]
        now = {name: text for name, text in annotations.items() if text is not None}
        patch.reply(200, node(6, now))
        watch.head()
        watch.data(event("MODIFIED", {**node(6, now), "status": {"capacity": CAPACITY if first else {}}}))
        patch = api.next()
        written = patch.path, json.loads(patch.body)["status"]["capacity"]
        patch.reply(200, node(7, now))
        process.terminate()
        process.wait(20)
    return annotations, written


def links_of(bin_dir, gpu):
    """What a node of four such GPUs says of its links, and the NUMA nodes of its GPUs."""
    fake = FakeApi()
    api = Nodes(fake)
    with tempfile.TemporaryDirectory() as name:
        config = pathlib.Path(name) / "config"
        fake.write_config(config)
        process = subprocess.Popen(
            [f"{bin_dir}/vgpu", "run", f"--sim={gpu}:4", "--", f"{bin_dir}/vgpu-node",
             f"--device-plugin-path={name}", "--node-name=n1", f"--kubeconfig={config}",
             f"--state-dir={name}/state", f"--run-dir={name}/run"], stderr=subprocess.DEVNULL)
        api.next().reply(200, page(5, [node(4, {})]))
        requests = [api.next(), api.next()]
        patch = next(r for r in requests if r.method == "PATCH")
        annotations = json.loads(patch.body)["metadata"]["annotations"]
        patch.reply(200, node(6, annotations))
        process.terminate()
        process.wait(20)
    return json.loads(annotations["vgpu.io/node-links"] or "[]"), [
        device["numa"] for device in json.loads(annotations["nvidia.com/node-device-register"])]


def links(tap, bin_dir):
    switched, numa = links_of(bin_dir, "a100-40gb")
    tap.check("every pair of GPUs at a switch has all its NVLinks", differs(
        switched, [[i, j, 112] for i in range(4) for j in range(i + 1, 4)]))
    tap.check("GPUs sit where the driver says, if the kernel does not", differs(numa, [0, 0, 1, 1]))
    tap.check("without NVLink neighbours are linked by PCIe", differs(
        links_of(bin_dir, "t4-16gb")[0], [[0, 1, 20], [2, 3, 20]]))


def volcano(tap, bin_dir):
    told, (path, capacity) = volcano_of(bin_dir, {}, "--volcano")
    uuid = json.loads(told["nvidia.com/node-device-register"])[0]["uuid"]
    tap.check("Volcano gets its own format", differs(
        told["volcano.sh/node-vgpu-register"], f"{uuid},10,4096,NVIDIA GeForce GTX 1050 Ti,true,hami-core:"))
    tap.check("… and does not ask again", differs(
        told["volcano.sh/node-vgpu-handshake"], "Requesting_9999.12.31 23:59:00"))
    tap.check("… with capacity of memory and cores", differs(
        (path, capacity), ("/api/v1/nodes/n1/status", CAPACITY)))
    left = {name: told[name] for name in VOLCANO}
    told, (path, capacity) = volcano_of(bin_dir, left)
    tap.check("what an agent before told Volcano is taken back", differs(
        [told[name] for name in VOLCANO] + list(capacity.values()), [None] * 4))


def written(tap, bin_dir):
    fake = FakeApi()
    api = Nodes(fake)
    with tempfile.TemporaryDirectory() as name:
        config = pathlib.Path(name) / "config"
        fake.write_config(config)
        process = subprocess.Popen(
            [f"{bin_dir}/vgpu", "run", "--sim=gtx-1050ti:1", "--", f"{bin_dir}/vgpu-node",
             f"--device-plugin-path={name}", "--node-name=n1", f"--kubeconfig={config}",
             f"--state-dir={name}/state", f"--run-dir={name}/run", "--device-memory-scaling=2.0"],
            stderr=subprocess.DEVNULL)
        request = api.next()
        tap.check("it watches its own Node only", differs(
            (request.path, request.parameter("fieldSelector")),
            ("/api/v1/nodes", "metadata.name%3Dn1")))
        request.reply(200, page(5, [node(4, {"other": "x"})]))
        requests = [api.next(), api.next()]
        patch = next(r for r in requests if r.method == "PATCH")
        watch = next(r for r in requests if r.is_watch())
        annotations = json.loads(patch.body)["metadata"]["annotations"]
        text = annotations["nvidia.com/node-device-register"]
        device = json.loads(text)[0]
        uuid = device["uuid"]
        bus = device["busId"]
        tap.check("the GPUs are registered as users know it: memory scaled, split, in this order",
                  differs(text, '[{"id":0,"type":"NVIDIA GeForce GTX 1050 Ti","uuid":"' + uuid +
                          '","core":100,"memory":8192,"number":10,"numa":0,"mig":false,"busId":"' +
                          bus + '","capability":6.1,"healthy":true}]'))
        tap.check("… and the node's settings", differs(
            annotations["nvidia.com/node-config-info"],
            '{"deviceSplit":10,"coresScaling":1,"memoryFactor":1,"memoryScaling":2}'))
        tap.check("it is a merge patch of its own Node", differs(
            (patch.path, patch.fields["content-type"]),
            ("/api/v1/nodes/n1", "application/merge-patch+json")))
        patch.reply(200, node(6, annotations))
        watch.head()
        watch.data(event("MODIFIED", node(6, annotations)))
        tap.check("what is right is not written again", differs(api.none(0.5), True))
        watch.data(event("MODIFIED", node(7, {"nvidia.com/node-device-register": "[]"})))
        request = api.next()
        tap.check("what somebody changed is put right", differs(request.method, "PATCH"))
        request.reply(200, node(8, annotations))
        tap.check("a GPU alone has no links", differs(annotations.get("vgpu.io/node-links"), None))
        process.terminate()
        tap.check("it ends in order", differs(process.wait(20), 0))


def main(bin_dir):
    tap = Tap()
    links(tap, bin_dir)
    written(tap, bin_dir)
    volcano(tap, bin_dir)
    tap.done()


main(*sys.argv[1:])
