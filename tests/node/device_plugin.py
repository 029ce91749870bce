# SPDX-License-Identifier: Apache-2.0
"""device_plugin BIN DESCRIPTORS measured|sanitized: vgpu-node and kubelet: they find each other, however
either comes and goes."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "net"))
from fake_kubelet import FakeKubelet  # noqa: E402
from peer import Messages, Tap, differs, eventually  # noqa: E402

RESOURCES = ["nvidia.com/vgpu", "nvidia.com/vgpu-number", "volcano.sh/vgpu-number"]


class Node:
    def __init__(self, bin_dir, folder, *options):
        self.log = open(folder / "log", "a+", encoding="utf-8")
        self.process = subprocess.Popen(
            [f"{bin_dir}/vgpu", "run", "--sim=gtx-1050ti:8", "--", f"{bin_dir}/vgpu-node",
             "deviceplugin", f"--device-plugin-path={folder}/plugins", f"--state-dir={folder}/state",
             f"--run-dir={folder}/run", "--memory-units=no",
             f"--pod-resources-socket={folder}/plugins/kubelet.sock",   # the fake one has both on one
             *options], stderr=self.log)

    def status(self, key):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(key):
                return int(line.split()[1])
        return 0

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(20)
        self.log.close()
        return code


def is_listed(kubelet, count=80):
    """Has each resource sent so many slots?"""
    ends = kubelet.endpoints
    return sorted(ends) == RESOURCES and all(
        end.lists and len(end.lists[-1]) == count for end in list(ends.values()))


def first(tap, kubelet, node, memory):
    tap.check("every count resource is registered, and lists GPUs times split count",
              [] if eventually(lambda: is_listed(kubelet), 20) else [str(kubelet.endpoints)])
    end = kubelet.endpoints[RESOURCES[0]]
    tap.check("all are healthy, under ids of their own", differs(
        (set(end.lists[-1].values()), sorted(end.lists[-1])[:2]), ({"Healthy"},
                                                                  ["vgpu-0", "vgpu-1"])))
    answer = end.allocate(["vgpu-79", "vgpu-3"])
    given = answer.container_responses[0]
    tap.check("Allocate answers for its container, and gives it a mark and nothing else", differs(
        (len(answer.container_responses), [(a.key, a.value) for a in given.annotations],
         len(given.envs) + len(given.mounts) + len(given.devices) + len(given.cdi_devices)),
        (1, [("vgpu.io/requested", RESOURCES[0])], 0)))
    try:
        end.allocate(["vgpu-80"])
        refusal = None
    except grpc.RpcError as error:
        refusal = (error.code().name, error.details())
    tap.check("an id that is not ours is refused with a sentence", differs(
        refusal, ("INVALID_ARGUMENT", "'vgpu-80' is not a nvidia.com/vgpu of this node")))
    before = node.cpu_s()
    time.sleep(3)
    used = node.cpu_s() - before
    rss = node.status("VmRSS")
    print(f"# VmRSS {rss} kB with 8 GPUs and 3 resources; {used / 3 * 100:.2f} % of a core idle")
    if memory == "measured":
        tap.check("it is small and quiet", [] if rss < 8000 and used < 0.1 else [f"{rss} {used}"])


def restarts(tap, kubelet):
    slowest = 0
    for _ in range(10):
        kubelet.stop()
        kubelet.start()
        began = time.monotonic()
        if not eventually(lambda: is_listed(kubelet), 20):
            tap.check("kubelet restarts", ["no registration after 20 s"])
            return
        slowest = max(slowest, time.monotonic() - began)
    print(f"# registered again at most {slowest:.2f} s after kubelet's socket came")
    tap.check("after each of ten restarts of kubelet all is there again within 5 s",
              [] if slowest < 5 else [f"{slowest:.1f} s"])


def troubles(tap, kubelet, folder):
    before = kubelet.registered
    (folder / "plugins" / "vgpu-nvidia.com-vgpu.sock").unlink()
    tap.check("a socket that was deleted comes back, registered",
              differs(eventually(lambda: kubelet.registered > before, 20), True))
    kubelet.stop()
    # vgpu-node may put a socket back while the folder is being emptied.
    eventually(lambda: not shutil.rmtree(folder / "plugins", ignore_errors=True) and not (folder / "plugins").exists(), 20)
    time.sleep(0.3)
    (folder / "plugins").mkdir()
    kubelet.refusal = "not yet"
    kubelet.start()
    time.sleep(1.5)
    tap.check("while kubelet refuses nothing is registered", differs(kubelet.endpoints, {}))
    kubelet.refusal = None
    tap.check("… and when it accepts, in a folder made anew, all is",
              differs(eventually(lambda: is_listed(kubelet), 30), True))


def dead_kubelet(tap, kubelet, node, folder):
    """A kubelet that was killed leaves its socket, at which nobody answers."""
    kubelet.stop()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "plugins" / "kubelet.sock"))
    time.sleep(1)
    before = node.cpu_s()
    time.sleep(2)
    used = node.cpu_s() - before
    tap.check("while kubelet is dead, its socket left behind, nothing is tried in vain all the time",
              [] if used < 0.3 else [f"{used:.2f} s of a core in 2 s"])
    kubelet.start()
    tap.check("… and a new one is found at once", differs(eventually(lambda: is_listed(kubelet), 5), True))


def forgotten(tap, kubelet):
    """After another plugin of the same name has ended, kubelet listens to ours and gives out none of it."""
    time.sleep(5)       # what is said right after a registration may be older
    before = kubelet.registered
    kubelet.forgotten = {RESOURCES[1]}
    tap.check("a resource that kubelet has lost, though it listens, is registered again", differs(
        (eventually(lambda: not kubelet.forgotten, 60), kubelet.registered), (True, before + 1)))


def second(tap, kubelet, node, bin_dir, folder):
    """Two of them, as while one release takes over from another: they do not take the names from each other."""
    before = kubelet.registered
    other = Node(bin_dir, folder)
    waits = eventually(lambda: "waiting until it ends" in (folder / "log").read_text(), 20)
    time.sleep(1)
    tap.check("a second vgpu-node waits until the first ends", differs((waits, kubelet.registered), (True, before)))
    node.stop()
    tap.check("… and takes over then", differs((eventually(
        lambda: kubelet.registered == before + len(RESOURCES) and is_listed(kubelet), 20), other.process.poll()),
        (True, None)))
    return other


def main(bin_dir, descriptors, memory):
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "plugins").mkdir()
        kubelet = FakeKubelet(Messages(descriptors), folder / "plugins")
        node = Node(bin_dir, folder)
        time.sleep(1)
        kubelet.start()
        first(tap, kubelet, node, memory)
        restarts(tap, kubelet)
        dead_kubelet(tap, kubelet, node, folder)
        troubles(tap, kubelet, folder)
        forgotten(tap, kubelet)
        node = second(tap, kubelet, node, bin_dir, folder)

        node.stop(signal.SIGKILL)
        node = Node(bin_dir, folder, "--device-split-count=4", "--exclude-devices=0..1,7")
        tap.check("killed and started again with other options, it lists anew",
                  differs(eventually(lambda: is_listed(kubelet, 20), 20), True))
        end = kubelet.endpoints[RESOURCES[0]]
        code = node.stop()
        tap.check("a signal ends it in order, its sockets gone, kubelet notified", differs(
            (code, [p.name for p in (folder / "plugins").glob("vgpu-*")],
             eventually(lambda: end.status is not None)), (0, [], True)))
        kubelet.stop()
    tap.done()


main(*sys.argv[1:])
