# SPDX-License-Identifier: Apache-2.0
"""storm: judges a storm by what is so, never by what our programs say of themselves.

    storm.py REPORT [SHARES MACHINE]     until SIGTERM; then REPORT holds what was wrong, and the exit status is 1

It follows the API server's own history of nodes and pods, and at every instant of it asks: does a GPU hand
out more than it has? Has a decision been made for this pod and this node, and does it stay as it was? With a node's
folder of SHARES and its simulated MACHINE it samples those too, several times a second: are the shares on a GPU
within what it has, and each within its pod's decision? Does the GPU itself hold no more than the shares allow?
"""

import glob
import http.client
import json
import os
import signal
import ssl
import struct
import subprocess
import sys
import threading
import time

from kube import ApiError, Kube
from paths import BUILD, PKI

REGISTER, DECISION = "nvidia.com/node-device-register", "vgpu.io/allocation"
ENDED = ("Succeeded", "Failed")


def annotation(entry, name):
    return entry["metadata"].get("annotations", {}).get(name)


def parts_of(entry):
    """[(uuid, MiB, cores)] that a pod holds: all that run at the same time. Pods of a storm have no init containers."""
    text = annotation(entry, DECISION)
    if not text or not entry["spec"].get("nodeName") or entry.get("status", {}).get("phase") in ENDED:
        return []
    return [(part["uuid"], part["memory"], part["cores"])
            for parts in json.loads(text)["containers"].values() for part in parts]


class Judge:
    """What the API server has told so far, and what was wrong with it."""

    def __init__(self):
        self.gpus = {}         # uuid: {"memory", "core", "number"} of nodes
        self.pods = {}          # uid: pod
        self.sums = {}          # uuid: [MiB, cores, holders, holders of the whole GPU]
        self.wrongs = []
        self.instants = 0
        self.most = 0           # pods that held something at once

    def wrong(self, text):
        self.wrongs.append(text)
        print(f"storm: WRONG: {text}", flush=True)

    def node(self, kind, entry):
        for uuid in [uuid for uuid, gpu in self.gpus.items() if gpu["node"] == entry["metadata"]["name"]]:
            del self.gpus[uuid]
        for gpu in json.loads(annotation(entry, REGISTER) or "[]") if kind != "DELETED" else ():
            self.gpus[gpu["uuid"]] = {**gpu, "node": entry["metadata"]["name"]}

    def count(self, entry, sign):
        for uuid, memory, cores in parts_of(entry):
            sums = self.sums.setdefault(uuid, [0, 0, 0, 0])
            for i, value in enumerate((memory, cores, 1, cores == 100)):
                sums[i] += sign * value

    def pod(self, kind, entry):
        uid, name = entry["metadata"]["uid"], entry["metadata"]["name"]
        before = self.pods.pop(uid, None)
        if before:
            self.count(before, -1)
        if kind == "DELETED":
            return
        self.decision(before, entry, name)
        self.pods[uid] = entry
        self.count(entry, 1)
        for uuid, _, _ in parts_of(entry):
            self.gpu(uuid, name)
        self.instants += 1
        self.most = max(self.most, sum(bool(parts_of(each)) for each in self.pods.values()))

    def decision(self, before, entry, name):
        text = annotation(entry, DECISION)
        if not text:
            return
        decision = json.loads(text)
        if (decision["pod"], decision["node"]) != (entry["metadata"]["uid"], entry["spec"].get("nodeName")):
            self.wrong(f"pod {name}: a decision for another pod or node: {text}")
        if before and annotation(before, DECISION) not in (None, text):
            self.wrong(f"pod {name}: its decision was {annotation(before, DECISION)} and is {text}")
        for uuid, _, _ in parts_of(entry):
            gpu = self.gpus.get(uuid)
            if gpu and gpu["node"] != entry["spec"]["nodeName"]:
                self.wrong(f"pod {name}: {uuid} is not of its node")

    def gpu(self, uuid, name):
        gpu, (memory, cores, holders, wholes) = self.gpus.get(uuid), self.sums[uuid]
        if not gpu:
            return              # the node is not told of any more; its pods stay
        if memory > gpu["memory"] or cores > gpu["core"] or holders > gpu["number"]:
            self.wrong(f"{uuid} hands out {memory} MiB, {cores} cores, {holders} parts of {gpu['memory']}, "
                       f"{gpu['core']}, {gpu['number']} since pod {name}")
        if wholes and holders > 1:
            self.wrong(f"{uuid} is somebody's alone and has {holders} holders since pod {name}")

    def free(self, uuid):
        """(MiB, cores, parts) that nobody holds."""
        gpu, (memory, cores, holders, wholes) = self.gpus[uuid], self.sums.get(uuid, (0, 0, 0, 0))
        if wholes:
            return 0, 0, 0
        return gpu["memory"] - memory, gpu["core"] - cores, gpu["number"] - holders


# lib/contract/share_layout.h: the index of the copy in use, a copy, a device in it.
SHARE_INDEX, SHARE_COPIES, COPY_BYTES = 12, 64, 9208
DEVICE_COUNT, POD_UID, CONTAINER, DEVICES = 8, 120, 504, 1016
DEVICE = struct.Struct("<48s Q 16x Q 8x I 36x")
UNLIMITED = (1 << 64) - 1
GOING_SECONDS = 45      # for the shares of a pod that is over: its processes end first


def text_of(data):
    return data.split(b"\0", 1)[0].decode()


def share_read(path):
    """(pod's uid, container, {uuid: (bytes, most bytes, cores)}) as the file itself has it."""
    with open(path, "rb") as file:
        data = file.read()
    index, = struct.unpack_from("<I", data, SHARE_INDEX)
    copy = data[SHARE_COPIES + index * COPY_BYTES:][:COPY_BYTES]
    count, = struct.unpack_from("<I", copy, DEVICE_COUNT)
    rows = [DEVICE.unpack_from(copy, DEVICES + i * 128) for i in range(count)]
    return (text_of(copy[POD_UID:POD_UID + 64]), text_of(copy[CONTAINER:CONTAINER + 256]),
            {text_of(uuid): (limit, most, cores) for uuid, limit, most, cores in rows})


class Eye(threading.Thread):
    """Looks at a node: its files of shares, and its GPUs."""

    def __init__(self, judge, lock, shares, machine):
        super().__init__(daemon=True)
        self.judge, self.lock, self.folder, self.machine = judge, lock, shares, machine
        self.gone = {}          # uid: since when its pod is over
        self.samples = 0

    def run(self):
        while True:
            used = self.gpus()
            found = self.shares()
            with self.lock:
                self.judged(found, used)
            self.samples += 1
            time.sleep(0.2)

    def gpus(self):
        """What the machine says is held of each GPU, {uuid: bytes}; looked at before the shares, which only grow
        before memory does."""
        done = subprocess.run([os.path.join(BUILD, "bin", "vgpu"), "sim", "stat", "--machine", self.machine, "--json"],
                              stdout=subprocess.PIPE, check=False)
        return {gpu["uuid"]: gpu["used_bytes"] for gpu in json.loads(done.stdout)["gpus"]} if not done.returncode else {}

    def shares(self):
        found = []
        for path in glob.glob(os.path.join(self.folder, "*", "*", "share")):
            try:
                found.append(share_read(path))
            except (OSError, struct.error, IndexError):
                pass            # it is being made, or goes
        return found

    def judged(self, found, used):
        handed, allowed = {}, {}
        for uid, container, devices in found:
            pod = self.judge.pods.get(uid)
            is_over = not pod or not parts_of(pod)
            for uuid, (limit, most, _) in devices.items():
                allowed[uuid] = allowed.get(uuid, 0) + most
                if not is_over:
                    handed[uuid] = handed.get(uuid, 0) + limit
            if not is_over:
                self.gone.pop(uid, None)
                self.within(pod, container, devices)
            elif time.monotonic() - self.gone.setdefault(uid, time.monotonic()) > GOING_SECONDS:
                self.judge.wrong(f"the share of {uid}, {container}, is there {GOING_SECONDS} s after its pod")
                self.gone[uid] = time.monotonic() + 3600
        for uuid, limit in handed.items():
            gpu = self.judge.gpus.get(uuid)
            if gpu and limit > gpu["memory"] << 20 and self.sure(found, uuid) > gpu["memory"] << 20:
                self.judge.wrong(f"{uuid}: shares of {limit >> 20} MiB on a GPU of {gpu['memory']}")
        for uuid, held in used.items():
            if held > allowed.get(uuid, 0) and uuid in self.judge.gpus:
                self.judge.wrong(f"{uuid}: {held >> 20} MiB are held, shares allow {allowed.get(uuid, 0) >> 20}")

    def sure(self, found, uuid):
        """The same sum by the API server's present word: what we follow may be a moment old."""
        try:
            live = {entry["metadata"]["uid"] for entry in Kube().request("GET", "/api/v1/pods")["items"] if parts_of(entry)}
        except ApiError:
            return 0            # it is away; another look will come
        return sum(devices[uuid][0] for uid, _, devices in found if uid in live and uuid in devices)

    def within(self, pod, container, devices):
        decided = {part["uuid"]: part for part in
                   json.loads(annotation(pod, DECISION))["containers"].get(container, [])}
        if set(decided) != set(devices):
            self.judge.wrong(f"pod {pod['metadata']['name']}: share of {sorted(devices)}, decided {sorted(decided)}")
        for uuid, (limit, _, cores) in devices.items():
            part = decided.get(uuid)
            if part and (limit > part["memory"] << 20 or (part["cores"] and not 0 < cores <= part["cores"])):
                self.judge.wrong(f"pod {pod['metadata']['name']}: {limit >> 20} MiB, {cores} cores of {uuid}, decided {part}")


class Follower(threading.Thread):
    """All changes of a kind, in the API server's order, from the beginning; through its restarts too."""

    def __init__(self, path, take):
        super().__init__(daemon=True)
        self.path, self.take = path, take
        self.known = {}         # uid: object, to tell what vanished while nobody watched
        self.is_ended = False
        self.is_listed = threading.Event()
        self.start()

    def run(self):
        while not self.is_ended:
            try:
                answer = Kube().request("GET", self.path)
                self.listed(answer)
                self.is_listed.set()
                self.watch(answer["metadata"]["resourceVersion"])
            except (ApiError, OSError, http.client.HTTPException, ValueError):
                time.sleep(0.1)

    def listed(self, answer):
        found = {entry["metadata"]["uid"]: entry for entry in answer["items"]}
        for uid in [uid for uid in self.known if uid not in found]:
            self.tell("DELETED", self.known[uid])
        # Those who have given back what they held come first: a list is no history.
        for entry in sorted(found.values(), key=lambda entry: bool(parts_of(entry))):
            self.tell("MODIFIED", entry)

    def tell(self, kind, entry):
        uid = entry["metadata"]["uid"]
        if kind == "DELETED":
            self.known.pop(uid, None)
        else:
            self.known[uid] = entry
        self.take(kind, entry)

    def watch(self, version):
        context = ssl.create_default_context(cafile=os.path.join(PKI, "ca.crt"))
        context.load_cert_chain(os.path.join(PKI, "admin.crt"), os.path.join(PKI, "admin.key"))
        link = http.client.HTTPSConnection("127.0.0.1", context=context, timeout=60)
        try:
            while not self.is_ended:
                link.request("GET", f"{self.path}?watch=1&resourceVersion={version}&timeoutSeconds=50")
                answer = link.getresponse()
                if answer.status != 200:
                    return
                for line in answer:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return
                    version = event["object"]["metadata"]["resourceVersion"]
                    self.tell(event["type"], event["object"])
        finally:
            link.close()


def follow(judge, lock):
    """Nodes first: their GPUs are what pods are judged by. One change at a time."""
    def guarded(take):
        def guard(kind, entry):
            with lock:
                take(kind, entry)
        return guard
    followers = [Follower("/api/v1/nodes", guarded(judge.node))]
    followers[0].is_listed.wait(60)
    followers.append(Follower("/api/v1/pods", guarded(judge.pod)))
    followers[1].is_listed.wait(60)
    return followers


def main(report, *node):
    judge, lock = Judge(), threading.Lock()
    follow(judge, lock)
    eye = Eye(judge, lock, *node) if node else None
    if eye:
        eye.start()
    print("storm: watching", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    with open(report, "w", encoding="utf-8") as file:
        json.dump({"wrongs": judge.wrongs, "instants": judge.instants, "most": judge.most,
                   "samples": eye.samples if eye else 0,
                   "shares": eye.shares() if eye else [],
                   "free": {uuid: judge.free(uuid) for uuid in judge.gpus}}, file)
    sys.stdout.flush()
    os._exit(1 if judge.wrongs else 0)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main(*sys.argv[1:])
