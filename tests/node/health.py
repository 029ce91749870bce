# SPDX-License-Identifier: Apache-2.0
"""health BIN LIB DESCRIPTORS: a GPU that is unhealthy takes its own slots away and no others; a driver that
hangs does not hang vgpu-node."""

import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "net"))
from fake_api import FakeApi, page  # noqa: E402
from fake_kubelet import FakeKubelet  # noqa: E402
from peer import Messages, Tap, differs, eventually  # noqa: E402


class Registered:
    """Answers the API server's part, and keeps what the Node was last sent."""

    def __init__(self, api):
        self.api = api
        self.healthy = None
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                request = self.api.next(timeout=60)
            except queue.Empty:
                return
            if request.method == "PATCH":
                body = json.loads(request.body)
                text = body["metadata"]["annotations"]["nvidia.com/node-device-register"]
                self.healthy = [device["healthy"] for device in json.loads(text)]
                request.reply(200, {})
            elif request.is_watch():
                request.head()
            elif request.path == "/api/v1/pods":
                request.reply(200, page(1, []))
            else:
                request.reply(200, page(1, [{"metadata": {"name": "n1", "uid": "u",
                                                          "resourceVersion": "1"}}]))


class Slots:
    """The slots that kubelet gets."""

    def __init__(self, kubelet):
        self.kubelet = kubelet

    def plugin(self):
        return self.kubelet.endpoints.get("nvidia.com/vgpu")

    def healthy(self):
        end = self.plugin()
        return end and end.lists and sum(health == "Healthy" for health in end.lists[-1].values())

    def become(self, count, seconds=20):
        return [] if eventually(lambda: self.healthy() == count, seconds) else [f"{self.healthy()} healthy"]


def faults(tap, sim, slots, node_read):
    tap.check("all GPUs are healthy", slots.become(40))
    sim("inject", "xid", "1", "79")
    tap.check("an Xid of the GPU takes its slots away, and no others", slots.become(30))
    tap.check("… the Node says which", [] if eventually(
        lambda: node_read.healthy == [True, False, True, True]) else [str(node_read.healthy)])
    tap.check("… and when it was quiet for a while they come back", slots.become(40))
    before = len(slots.plugin().lists)
    sim("inject", "xid", "2", "31")
    eventually(lambda: slots.healthy() != 40, 3)
    tap.check("an Xid of a program takes nothing away", differs(
        (slots.healthy(), len(slots.plugin().lists)), (40, before)))
    sim("inject", "ecc", "0", "uncorrected")
    tap.check("an uncorrected ECC error takes the GPU's slots away", slots.become(30))
    tap.check("… and they come back", slots.become(40))
    sim("inject", "lose", "3")
    tap.check("a GPU that fell off the bus takes its slots away", slots.become(30))
    sim("inject", "restore", "3")
    tap.check("… and back on it, they come back", slots.become(40))
    sim("inject", "hang", "nvmlDeviceGetMemoryInfo")
    tap.check("a driver that hangs makes all GPUs unhealthy", slots.become(0))
    answer = slots.plugin().allocate(["vgpu-1"])
    tap.check("… while kubelet is still answered", differs(len(answer.container_responses), 1))
    sim("inject", "clear")
    tap.check("… and healthy again when it moves on", slots.become(40))


def stopped(tap, process, slots):
    """As by a virtual machine's pause: longer than a driver may be silent."""
    before = len(slots.plugin().lists)
    process.send_signal(signal.SIGSTOP)
    time.sleep(4)
    process.send_signal(signal.SIGCONT)
    time.sleep(3)
    tap.check("a vgpu-node that stood still does not take the driver for hanging", differs(
        (slots.healthy(), len(slots.plugin().lists)), (40, before)))


def main(bin_dir, lib_dir, descriptors):
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = {**os.environ, "VGPU_SIM": f"{name}/machine", "LD_LIBRARY_PATH": lib_dir}

        def sim(*words):
            subprocess.run([f"{bin_dir}/vgpu", "sim", words[0], "--machine", f"{name}/machine",
                            *words[1:]], check=True, stdout=subprocess.DEVNULL)

        sim("create", "--preset", "a100-40gb", "--gpus", "4")
        api = FakeApi()
        node_read = Registered(api)
        api.write_config(folder / "config")
        kubelet = FakeKubelet(Messages(descriptors), folder)
        kubelet.start()
        log = open(folder / "log", "w+", encoding="utf-8")
        process = subprocess.Popen(
            [f"{bin_dir}/vgpu-node", f"--device-plugin-path={name}", "--health-recovery=3",
             "--driver-timeout=2", "--resource-name=nvidia.com/vgpu", "--node-name=n1",
             f"--kubeconfig={folder}/config", f"--state-dir={folder}/state",
             f"--run-dir={folder}/run"], env=environment, stderr=log)
        faults(tap, sim, Slots(kubelet), node_read)
        stopped(tap, process, Slots(kubelet))
        process.terminate()
        tap.check("it ends in order", differs(process.wait(20), 0))
        log.seek(0)
        said = log.read()
        tap.check("all of it is in the log", [
            words for words in ("GPU 1 ", "is unhealthy", "is healthy again", "has not answered for 2 s")
            if words not in said])
        kubelet.stop()
        log.close()
    tap.done()


main(*sys.argv[1:])
