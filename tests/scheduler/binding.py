# SPDX-License-Identifier: Apache-2.0
"""binding BIN: what becomes of decisions whose Binding fails, is lost, or is never seen."""

import http.client
import json
import re
import socket
import sys

from fake_scheduling import Api, Scheduler, node, pod, running, status
from peer import Tap, differs, eventually
from prometheus import Page

BINDING = "/api/v1/namespaces/d/pods/{}/binding"
POD = "/api/v1/namespaces/d/pods/{}"


def waits(api, *entries):
    """Pods that the watch tells of, as they are before they are placed."""
    for entry in entries:
        api.tell("ADDED", entry)
    return entries


def refused(tap, bin_dir):
    """One of four members that fill a GPU is refused by the API server."""
    api = Api([node("n")])
    with Scheduler(bin_dir, api) as scheduler:
        members = waits(api, *(pod(f"m{i}", 10000) for i in range(4)))
        api.rules["POST", BINDING.format("m1")] = lambda request: request.reply(
            403, status(403, "Forbidden", "not this one"))
        tap.check("a member whose Binding is refused gets the reason, and the others are bound", differs(
            [scheduler.place(entry) for entry in members], ["", "not this one", "", ""]))
        tap.check("its allocation is free at once", differs(scheduler.filter(members[1]), ["n"]))
        other = waits(api, pod("other", 10000))[0]
        del api.rules["POST", BINDING.format("m1")]
        tap.check("it is bound at the next try, and then the GPU is full",
                  differs((scheduler.place(members[1]), scheduler.place(other)), ("", None)))
        tap.check("each member has one Binding, the refused one two", differs(
            [api.count("POST", BINDING.format(f"m{i}")) for i in range(4)], [1, 2, 1, 1]))
        for entry in members:
            api.tell("DELETED", entry)
        whole = waits(api, pod("whole", 40000))[0]
        tap.check("when the members have gone, nothing is left of them",
                  "" if eventually(lambda: scheduler.filter(whole) == ["n"]) else "the GPU is not whole")


def lost(tap, bin_dir):
    """The connection breaks after the Binding was sent."""
    api = Api([node("n")])
    with Scheduler(bin_dir, api) as scheduler:
        first, second = waits(api, pod("first", 30000), pod("second", 30000))

        def written_and_lost(request):
            with api.lock:
                body = json.loads(request.body)
                api.bind(api.pods["first"], body)
            request.reset()
        api.rules["POST", BINDING.format("first")] = written_and_lost
        tap.check("a Binding that was written, its answer lost, is found on the pod",
                  differs((scheduler.place(first), scheduler.place(second)), ("", None)))
    api = Api([node("n")])
    with Scheduler(bin_dir, api) as scheduler:
        first, second = waits(api, pod("first", 30000), pod("second", 30000))
        api.rules["POST", BINDING.format("first")] = lambda request: request.reset()
        error = scheduler.place(first)
        tap.check("a Binding that was not written frees the pod's allocation",
                  differs((bool(error), scheduler.place(second)), (True, "")))


def never_seen(tap, bin_dir):
    """The API server takes the Binding, and nothing is ever heard of it."""
    api = Api([node("n")])
    with Scheduler(bin_dir, api, "--assume-for=1") as scheduler:
        first, second = waits(api, pod("first", 30000), pod("second", 30000))
        api.rules["POST", BINDING.format("first")] = lambda request: request.reply(201, {})
        trouble = {"left": 2}

        def troubled(request):
            trouble["left"] -= 1
            if trouble["left"] < 0:
                api.answer(request)
            elif trouble["left"]:
                request.reply(403, status(403, "Forbidden", "not now"))
            else:
                request.reply(200, b"{nonsense}")
        api.rules["GET", POD.format("first")] = troubled
        tap.check("what was decided is set aside until somebody says otherwise",
                  differs((scheduler.place(first), scheduler.filter(second)), ("", [])))
        tap.check("after a while the pod is looked up: it has no node, and its allocation is freed",
                  "" if eventually(lambda: scheduler.filter(second) == ["n"], 60) else "its allocation is not freed")
        tap.check("where the API server does not say, or not in a way that can be read, it is asked again later, and the reservation stays",
                  differs((trouble["left"], api.count("GET", POD.format("first"))), (-1, 3)))
        tap.check("those who were refused meanwhile are tried again: the node is touched",
                  "" if eventually(lambda: api.count("PATCH", "/api/v1/nodes/n")) else "nobody is told")
        tap.check("the freed capacity goes to one pod", differs(scheduler.place(second), ""))


def bound_unseen(tap, bin_dir):
    """It is bound, by us or by somebody else, and the watch says nothing."""
    api = Api([node("n")])
    with Scheduler(bin_dir, api, "--assume-for=1") as scheduler:
        ours, theirs, third = waits(api, pod("ours", 20000), pod("theirs", 20000), pod("third", 20000))

        def written_in_silence(request):
            body = json.loads(request.body)
            entry = api.pods["ours"]
            entry["metadata"]["annotations"].update(body["metadata"]["annotations"])
            entry["spec"]["nodeName"] = "n"
            request.reply(201, {})

        def elsewhere(request):
            api.pods["theirs"]["spec"]["nodeName"] = "another"
            request.reply(201, {})
        api.rules["POST", BINDING.format("ours")] = written_in_silence
        api.rules["POST", BINDING.format("theirs")] = elsewhere
        tap.check("two fill the GPU", differs(
            (scheduler.place(ours), scheduler.place(theirs), scheduler.filter(third)), ("", "", [])))
        tap.check("one that is found elsewhere holds nothing here",
                  "" if eventually(lambda: scheduler.filter(third) == ["n"], 60) else "its allocation is not freed")
        tap.check("a pod that is found where it was bound keeps its allocation, and is not asked about again",
                  differs((scheduler.place(third), api.count("GET", POD.format("ours")),
                           scheduler.filter(pod("more", 1000))), ("", 1, [])))


def by_hand(tap, bin_dir):
    """While a decision is under way somebody else puts the pod on a node, without a share."""
    api = Api([node("n")])
    with Scheduler(bin_dir, api) as scheduler:
        first, second = waits(api, pod("first", 30000), pod("second", 30000))
        api.rules["POST", BINDING.format("first")] = lambda request: request.reply(201, {})
        tap.check("the decision stands at first",
                  differs((scheduler.place(first), scheduler.filter(second)), ("", [])))
        first["spec"]["nodeName"] = "n"
        api.tell("MODIFIED", first)
        tap.check("a pod that is seen on a node without a decision holds nothing",
                  "" if eventually(lambda: scheduler.filter(second) == ["n"]) else "its allocation is not freed")


def inherited(tap, bin_dir):
    """A pod that another replica refused, or left before it had evicted anybody for it, waits when this one begins."""
    for name, pods, patches in (("a pod that waits is tried again", [pod("waits", 1000)], 1),
                                ("where nobody waits, nothing is written", [], 0)):
        api = Api([node("n")], [running("other", 1000, "n"), *pods])
        with Scheduler(bin_dir, api) as scheduler:
            if patches:
                eventually(lambda: api.count("PATCH", "/api/v1/nodes/n"))
            else:
                scheduler.place(waits(api, pod("later", 1000))[0])      # has been heard after what it might write
            tap.check(f"{name} when vgpu-scheduler begins", differs(api.count("PATCH", "/api/v1/nodes/n"), patches))


def unreadable(tap, bin_dir):
    """Pods with a NUL in an annotation, which the API server takes: among those that there are, and among those that
    come."""
    def spoil(entry):
        entry["metadata"]["annotations"]["note"] = "a\0b"
        return entry

    api = Api([node("n")], [spoil(running("held", 30000, "n")), running("plain", 1000, "n")])
    with Scheduler(bin_dir, api) as scheduler:
        tap.check("a pod that cannot be read as it is keeps its allocation, and no other pod loses its own", differs(
            (scheduler.filter(pod("large", 20000)), scheduler.filter(pod("small", 5000))), ([], ["n"])))
        tap.check("… it is named, and counted", differs(
            (any("d/held" in line for line in scheduler.said),
             b"vgpu_scheduler_api_bad_objects_total 1\n" in scheduler.ask("GET", "/metrics")[1]), (True, True)))
        api.tell("ADDED", spoil(running("second", 6000, "n")))
        api.tell("DELETED", api.pods["plain"])
        tap.check("the watch goes on beyond one that comes, and that one is placed as any other", ""
                  if eventually(lambda: (scheduler.filter(pod("more", 5000)), scheduler.filter(pod("less", 3000)))
                                == ([], ["n"])) else "it does not")
        new, = waits(api, spoil(pod("new", 1000)))
        tap.check("a pod of that kind finds its node", differs(scheduler.filter(new), ["n"]))


def flooded(tap, bin_dir):
    """Thousands of objects that cannot be read, and of pods and nodes that say nonsense."""
    def spoil(entry, number):
        entry["metadata"]["annotations"]["note"] = f"\0{number}"
        return entry

    def nonsense(entry):
        entry["metadata"]["annotations"][next(key for key in entry["metadata"]["annotations"] if "alloc" in key)] = "{"
        return entry
    api = Api([node("n")], [spoil(running(f"p{i}", 1, "n"), i) for i in range(1000)] +
              [nonsense(running(f"q{i}", 1, "n")) for i in range(300)])
    with Scheduler(bin_dir, api) as scheduler:
        def has_counted(number):
            return eventually(lambda: b"vgpu_scheduler_api_bad_objects_total %d\n" % number in scheduler.ask(
                "GET", "/metrics")[1], 60)
        # The fake server tells only those who watch already.
        tap.check("each bad object of a list is counted",
                  "" if has_counted(1000) and eventually(lambda: api.watches.get("/api/v1/pods"), 60) else "it is not")
        for i in range(500):
            api.tell("MODIFIED", spoil(api.pods["p0"], i))
        tap.check("each bad object is counted", "" if has_counted(1500) else scheduler.ask("GET", "/metrics")[1].decode())
        tap.check("a flood of them is ten lines, and the last says so", differs(
            (sum("cannot be read" in line for line in scheduler.said),
             sum("not logged for a minute" in line and "cannot be read" in line for line in scheduler.said)), (10, 1)))
        tap.check("and so is one of pods that say nonsense", differs(
            sum("pod d/q" in line for line in scheduler.said), 10))


def told_apart(tap, bin_dir):
    """Figures for whoever gathers them, at an address where nothing else is."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]

    def get(path):
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        link.request("GET", path)
        answer = link.getresponse()
        return answer.status, answer.read().decode()
    with Scheduler(bin_dir, Api([node("n")]), f"--metrics-listen=127.0.0.1:{port}"):
        status_code, text = get("/metrics")
        tap.check("metrics are at an address of their own", differs(
            (status_code, "vgpu_scheduler_ready 1\n" in text, "vgpu_scheduler_decides 1\n" in text), (200, True, True)))
        page = Page(text)
        tap.check("they are as Prometheus reads them, and on a page of the documentation", page.wrong + page.unlisted())
        tap.check("with what kubelet asks, and no verbs", differs(
            [get(path)[0] for path in ("/healthz", "/readyz", "/filter", "/bind", "/simulate")],
            [200, 200, 404, 404, 404]))


def named_once(tap, bin_dir):
    """A verb has one name: of its path, among the paths that a wrong one is told of, and in metrics."""
    with Scheduler(bin_dir, Api([node("n")])) as scheduler:
        verbs = re.findall(r'^vgpu_scheduler_verb_seconds_count\{verb="(\w+)"', scheduler.ask("GET", "/metrics")[1].decode(), re.M)
        status_code, text = scheduler.ask("GET", "/filters")
        tap.check("a path that is none is told of those that are", differs(
            (status_code, text.decode()),
            (404, "there is /filter, /prioritize, /bind, /preempt, /simulate, /healthz, /readyz and /metrics\n")))
        tap.check("each verb in metrics is among them", differs(
            sorted(verbs), sorted(set(re.findall(r"/(\w+)", text.decode())) - {"healthz", "readyz", "metrics"})))
        tap.check("and answers", [verb for verb in verbs if scheduler.ask("POST", f"/{verb}", [])[0] == 404])


def main(bin_dir):
    tap = Tap()
    for case in (refused, lost, never_seen, bound_unseen, by_hand, inherited, unreadable, flooded, told_apart, named_once):
        case(tap, bin_dir)
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
