# SPDX-License-Identifier: Apache-2.0
"""eviction BIN: whom a pod of higher priority preempts where PodDisruptionBudgets have a word."""

import json
import sys

from fake_scheduling import Api, Scheduler, node, pod, running, status
from peer import Tap, differs, eventually

EVICTION = "/api/v1/namespaces/d/pods/{}/eviction"


def pdb(name, allowed, **labels):
    return {"metadata": {"name": name, "namespace": "d"}, "spec": {"selector": {"matchLabels": labels}},
            "status": {"disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2 - allowed}}


class Evictions:
    """Notes who is asked to go, in order; a PDB that has nothing left says no, as the API server does."""

    def __init__(self, api):
        self.api, self.tried, self.gone = api, [], []
        for name in list(api.pods):
            api.rules["POST", EVICTION.format(name)] = lambda request, name=name: self.answer(request, name)

    def answer(self, request, name):
        is_dry = "dryRun" in json.loads(request.body)["deleteOptions"]
        entry = self.api.pods[name]
        held = [b for b in self.api.pdbs if b["spec"]["selector"]["matchLabels"].items()
                <= entry["metadata"]["labels"].items()]
        self.tried.append(name)
        if any(b["status"]["disruptionsAllowed"] < 1 for b in held):
            request.reply(429, status(429, "TooManyRequests", "the disruption budget says no"))
            return
        if not is_dry:
            for one in held:
                one["status"]["disruptionsAllowed"] -= 1
            self.gone.append(name)
            self.api.tell("DELETED", entry)
        request.reply(201, {})


def pair(allowed):
    """Two on the first GPU under one PDB, and on the second GPU one that is worth more."""
    return Api([node("n", gpu_count=2)], [
        running("one", 20000, "n", 10, {"app": "pair"}), running("two", 20000, "n", 10, {"app": "pair"}),
        running("third", 40000, "n", 50, {}, gpu=1)], [pdb("other", 0, app="x"), pdb("pair", allowed, app="pair")])


def asks(api, scheduler, memory=40000):
    """A pod that needs a whole GPU; True when it fits."""
    high = pod("high", memory, 1000)
    api.tell("ADDED", high)
    scheduler.filter(high)
    return eventually(lambda: scheduler.filter(high) == ["n"])


def together(tap, bin_dir):
    api = pair(1)
    evictions = Evictions(api)
    with Scheduler(bin_dir, api) as scheduler:
        tap.check("two under a PDB that can spare one do not go: another set is found",
                  "" if asks(api, scheduler) else "it does not fit")
        tap.check("neither of them was asked", differs((evictions.gone, set(evictions.tried)), (["third"], {"third"})))
    api = pair(2)
    evictions = Evictions(api)
    with Scheduler(bin_dir, api) as scheduler:
        tap.check("a PDB that can spare both lets both go", differs(
            (asks(api, scheduler), sorted(evictions.gone)), (True, ["one", "two"])))
    api = pair(1)
    evictions = Evictions(api)
    with Scheduler(bin_dir, api) as scheduler:
        tap.check("one of them alone may go", differs(
            (asks(api, scheduler, 20000), len(evictions.gone), "third" in evictions.gone), (True, 1, False)))


def nobody(tap, bin_dir):
    api = pair(1)
    api.tell("DELETED", api.pods["third"])
    api.nodes[0] = node("n")
    evictions = Evictions(api)
    with Scheduler(bin_dir, api) as scheduler:
        high = pod("high", 40000, 1000)
        api.tell("ADDED", high)
        scheduler.filter(high)
        events = "/api/v1/namespaces/d/events"
        tap.check("where no other set is, an event of the pod names the PDB", "" if eventually(
            lambda: api.count("POST", events)) else "no Event")
        tap.check("and nobody goes", differs((evictions.tried, scheduler.filter(high)), ([], [])))
        with api.lock:
            api.pdbs[1]["status"]["disruptionsAllowed"] = 2
        tap.check("when the PDB has grown, it is tried again", "" if eventually(
            lambda: scheduler.filter(high) == ["n"] and sorted(evictions.gone) == ["one", "two"], 60) else "it is not")


def taken(tap, bin_dir):
    """Between the trial and the eviction somebody else uses the PDB up."""
    api = Api([node("n", gpu_count=2)], [
        running("guarded", 20000, "n", 10, {"app": "a"}), running("free", 20000, "n", 10),
        running("third", 40000, "n", 50, {}, gpu=1)], [pdb("a", 1, app="a")])
    evictions = Evictions(api)

    def used_up(request):
        evictions.answer(request, "guarded")
        api.pdbs[0]["status"]["disruptionsAllowed"] = 0
    api.rules["POST", EVICTION.format("guarded")] = used_up
    with Scheduler(bin_dir, api) as scheduler:
        tap.check("who is under a PDB goes first, so that nobody goes in vain", differs(
            (asks(api, scheduler), evictions.gone), (True, ["third"])))


def blind(tap, bin_dir):
    api = pair(2)
    evictions = Evictions(api)
    api.rules["GET", "/apis/policy/v1/namespaces/d/poddisruptionbudgets"] = lambda request: request.reply(
        403, status(403, "Forbidden", "not yours"))
    with Scheduler(bin_dir, api) as scheduler:
        tap.check("where PDBs may not be read, the API server decides on each eviction", differs(
            (asks(api, scheduler), sorted(evictions.gone)), (True, ["one", "two"])))


def counted(tap, bin_dir):
    """kube-scheduler preempts where its own resources are short, and weighs nodes by PDBs that are violated."""
    api = pair(1)
    with Scheduler(bin_dir, api) as scheduler:
        def violations(*gone):
            answer = scheduler.ask("POST", "/preempt", {
                "Pod": pod("high", 40000, 1000), "NodeNameToMetaVictims": {"n": {
                    "Pods": [{"UID": f"u-{name}"} for name in gone], "NumPDBViolations": 3}}})
            found = json.loads(answer[1])["NodeNameToMetaVictims"]["n"]
            return sorted(entry["UID"] for entry in found["Pods"]), found["NumPDBViolations"]
        tap.check("victims on the GPUs count for it too, beyond what their PDB can spare", differs(
            violations("cpu-only"), (["u-cpu-only", "u-one", "u-two"], 4)))
        tap.check("what kube-scheduler chose itself it has counted itself", differs(
            violations("one", "two"), (["u-one", "u-two"], 3)))
        api.rules["GET", "/apis/policy/v1/namespaces/d/poddisruptionbudgets"] = lambda request: request.reply(
            403, status(403, "Forbidden", "not yours"))
        tap.check("where PDBs may not be read, its count stands", differs(violations("cpu-only")[1], 3))


def main(bin_dir):
    tap = Tap()
    for case in (together, nobody, taken, blind, counted):
        case(tap, bin_dir)
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
