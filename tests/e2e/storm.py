"""storm: judges a storm by what is so, never by what our programs say of themselves.

    storm.py REPORT          until SIGTERM; then REPORT holds one line for each wrong, and the exit status is 1

It follows the API server's own history of nodes and pods, and at every instant of it asks: does a card hand
out more than it has? Has a decision been made for this pod and this node, and does it stay as it was?
"""

import http.client
import json
import os
import signal
import ssl
import sys
import threading
import time

from kube import ApiError, Kube
from places import PKI

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
        self.cards = {}         # uuid: {"memory", "core", "number"} of nodes
        self.pods = {}          # uid: pod
        self.sums = {}          # uuid: [MiB, cores, holders, holders of the whole card]
        self.wrongs = []
        self.instants = 0
        self.most = 0           # pods that held something at once

    def wrong(self, text):
        self.wrongs.append(text)
        print(f"storm: WRONG: {text}", flush=True)

    def node(self, kind, entry):
        for uuid in [uuid for uuid, card in self.cards.items() if card["node"] == entry["metadata"]["name"]]:
            del self.cards[uuid]
        for card in json.loads(annotation(entry, REGISTER) or "[]") if kind != "DELETED" else ():
            self.cards[card["uuid"]] = {**card, "node": entry["metadata"]["name"]}

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
            self.card(uuid, name)
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
            card = self.cards.get(uuid)
            if card and card["node"] != entry["spec"]["nodeName"]:
                self.wrong(f"pod {name}: {uuid} is not of its node")

    def card(self, uuid, name):
        card, (memory, cores, holders, wholes) = self.cards.get(uuid), self.sums[uuid]
        if not card:
            return              # the node is not told of any more; its pods stay
        if memory > card["memory"] or cores > card["core"] or holders > card["number"]:
            self.wrong(f"{uuid} hands out {memory} MiB, {cores} cores, {holders} parts of {card['memory']}, "
                       f"{card['core']}, {card['number']} since pod {name}")
        if wholes and holders > 1:
            self.wrong(f"{uuid} is somebody's alone and has {holders} holders since pod {name}")

    def free(self, uuid):
        """(MiB, cores, parts) that nobody holds."""
        card, (memory, cores, holders, wholes) = self.cards[uuid], self.sums.get(uuid, (0, 0, 0, 0))
        if wholes:
            return 0, 0, 0
        return card["memory"] - memory, card["core"] - cores, card["number"] - holders


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


def follow(judge):
    """Nodes first: their cards are what pods are judged by. One change at a time."""
    lock = threading.Lock()

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


def main(report):
    judge = Judge()
    follow(judge)
    print("storm: watching", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    with open(report, "w", encoding="utf-8") as file:
        json.dump({"wrongs": judge.wrongs, "instants": judge.instants, "most": judge.most,
                   "free": {uuid: judge.free(uuid) for uuid in judge.cards}}, file)
    sys.stdout.flush()
    os._exit(1 if judge.wrongs else 0)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main(*sys.argv[1:])
