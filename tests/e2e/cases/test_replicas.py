# SPDX-License-Identifier: Apache-2.0
"""Two replicas of vgpu-scheduler: one decides at a time, and the other takes over."""

import contextlib
import json
import random
import select
import signal
import socket
import threading
import time
import urllib.error
import urllib.request

from cases.test_preemption import gpu_pod, priorities
from fixtures import Failed, case, expect, pod
from placing import ADDRESS, EXTENDER, allocation, bound, nodes, scheduler, used

REPLICAS = {"first": "127.0.0.1:9511", "second": "127.0.0.1:9512"}
GPU = {"memory": 40000, "cores": 100, "pods": 10}     # what each GPU of placing.gpus() has
LIMITS = {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "10000"}


def connect(targets):
    """To the first that takes connections, as a Service does."""
    for target in targets:
        host, port = target.split(":")
        with contextlib.suppress(OSError):
            return socket.create_connection((host, int(port)), timeout=5)
    return None


def carry(inside, targets):
    outside = connect(targets)
    with inside, outside or contextlib.nullcontext():
        pair = {inside: outside, outside: inside} if outside else {}
        while pair:
            for source in select.select(list(pair), [], [])[0]:
                try:
                    bytes_read = source.recv(65536)
                except OSError:
                    bytes_read = b""
                if not bytes_read:
                    return
                pair[source].sendall(bytes_read)


@contextlib.contextmanager
def service(address, targets):
    """A list of addresses behind one; it may be changed while it serves."""
    host, port = address.split(":")
    with socket.create_server((host, int(port))) as listener:
        def serve():
            with contextlib.suppress(OSError):
                while True:
                    inside, _ = listener.accept()
                    threading.Thread(target=carry, args=(inside, targets), daemon=True).start()
        threading.Thread(target=serve, daemon=True).start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def replica(cluster, name):
    return scheduler("--leader-elect", "--identity", name, "--namespace", cluster.namespace,
                     address=REPLICAS[name])


def holder(cluster):
    return cluster.get("coordination.k8s.io/v1", "Lease", "vgpu-scheduler",
                       cluster.namespace)["spec"]["holderIdentity"]


def check_sums(cluster):
    sums = used(bound(cluster))
    expect(all(memory <= GPU["memory"] for memory, _ in sums.values()), sums)


@case("the leader is killed with pods on their way: the other takes over, and no GPU is booked twice",
      profile="light")
def killed(cluster):
    with nodes(cluster, 2), service(ADDRESS, list(REPLICAS.values())), \
            replica(cluster, "first") as first, replica(cluster, "second"), \
            cluster.scheduler_config(extenders=EXTENDER):
        for number in range(6):
            cluster.create(pod(f"early-{number}", limits=LIMITS))
        cluster.wait("they are bound", lambda: len(bound(cluster)) == 6, 60)
        expect(holder(cluster) == "first", holder(cluster))
        for number in range(14):            # 16 fit in all
            cluster.create(pod(f"late-{number}", limits=LIMITS))
        first.kill()
        first.wait()
        cluster.wait("the second leads", lambda: holder(cluster) == "second", 60)
        cluster.wait("all that fits is bound", lambda: len(bound(cluster)) == 16, 90)
        check_sums(cluster)


@case("a replica that is asked gets the lease from one that is not, and one that ends gives it up at once",
      profile="light")
def asked(cluster):
    targets = list(REPLICAS.values())
    with nodes(cluster, 1), service(ADDRESS, targets), replica(cluster, "second") as second:
        cluster.wait("the only one leads", lambda: holder(cluster) == "second", 30)
        with replica(cluster, "first"), cluster.scheduler_config(extenders=EXTENDER):
            cluster.create(pod("user", limits=LIMITS))      # goes to the first
            cluster.wait("it is bound", lambda: len(bound(cluster)) == 1, 60)
            expect(holder(cluster) == "first", holder(cluster))
        cluster.wait("the other takes over", lambda: holder(cluster) == "second", 10)
        second.terminate()
        second.wait()
        expect(holder(cluster) == "", holder(cluster))


@case("a leader that was stopped decides nothing when it goes on after another has taken over", profile="light")
def stopped(cluster):
    def status_of(name, path):
        request = urllib.request.Request(f"http://{REPLICAS[name]}{path}", json.dumps({
            "Pod": pod("asks", limits=LIMITS), "NodeNames": []}).encode(), method="POST")
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
    with nodes(cluster, 1), replica(cluster, "first") as first:
        cluster.wait("the first decides", lambda: status_of("first", "/filter") == 200, 30)
        with replica(cluster, "second"):
            expect(status_of("second", "/filter") == 503, "both decide")
            expect(status_of("second", "/simulate") == 200, "a follower may be asked what if")
            first.send_signal(signal.SIGSTOP)
            cluster.wait("the second decides", lambda: status_of("second", "/filter") == 200, 40)
            first.send_signal(signal.SIGCONT)
            for _ in range(20):
                expect(status_of("first", "/filter") == 503, "both decide")
                expect(status_of("second", "/filter") == 200, "none decides")


def overbooked(cluster):
    """GPUs that have more than they can have, by one look at all pods."""
    return {uuid: (memory, cores) for uuid, (memory, cores) in used(bound(cluster)).items()
            if memory > GPU["memory"] or cores > GPU["cores"]}


@case("pods of all priorities come and go while replicas are killed: no GPU is ever booked twice, and in the end "
      "nobody waits below whom others sit", profile="light")
def storm(cluster):
    chance = random.Random(5)
    with nodes(cluster, 2) as node_names, priorities(cluster) as names, service(ADDRESS, list(REPLICAS.values())), \
            cluster.scheduler_config(extenders=EXTENDER), contextlib.ExitStack() as stack:
        gpus = [f"GPU-{node}-{gpu}" for node in node_names for gpu in range(2)]
        running = {name: stack.enter_context(replica(cluster, name)) for name in REPLICAS}
        end = time.monotonic() + 45
        number = 0
        while time.monotonic() < end:
            act = chance.random()
            if act < 0.6:
                cluster.create(gpu_pod(f"pod-{number}", chance.choice((5000, 10000, 20000, 40000)),
                                       names[chance.choice(("low", "middle", "high"))],
                                       cores=chance.choice((0, 0, 25, 50))))
                number += 1
            elif act < 0.9 and number:
                cluster.delete("v1", "Pod", f"pod-{chance.randrange(number)}", cluster.namespace,
                               gracePeriodSeconds=0)
            elif act < 0.92:
                name = chance.choice(list(REPLICAS))
                running[name].kill()
                running[name].wait()
                running[name] = stack.enter_context(replica(cluster, name))
            expect(not overbooked(cluster), overbooked(cluster))
        # One more that needs a GPU for itself: it gets one, unless pods of its own priority sit on all of them.
        cluster.create(gpu_pod("last", GPU["memory"], names["high"], cores=GPU["cores"]))
        with contextlib.suppress(Failed):
            cluster.wait("nobody waits below whom others sit", lambda: not [*wronged(cluster, gpus)], 90)
        left = [*wronged(cluster, gpus)]
        expect(not left, f"these wait below whom others sit: {left}")
        expect(not overbooked(cluster), overbooked(cluster))


def amounts(entry):
    limits = entry["spec"]["containers"][0]["resources"]["limits"]
    return {"memory": quantity(limits["nvidia.com/gpumem"]), "cores": quantity(limits["nvidia.com/gpucores"]),
            "pods": 1}


def quantity(text):
    """kube-apiserver writes 5000 as 5k."""
    return int(text.removesuffix("k")) * (1000 if text.endswith("k") else 1)


def wronged(cluster, gpus):
    """Who waits although a GPU had space for it, were all pods of lower priority gone from there."""
    entries = cluster.list("v1", "Pod", cluster.namespace)
    seated = {}
    for entry in entries:
        if entry["spec"].get("nodeName"):
            uuid = allocation(entry)["containers"]["main"][0]["uuid"]
            seated.setdefault(uuid, []).append(entry)
    for entry in entries:
        if entry["spec"].get("nodeName") or "deletionTimestamp" in entry["metadata"]:
            continue
        for gpu in gpus:
            staying = [amounts(other) for other in seated.get(gpu, ())
                       if other["spec"]["priority"] >= entry["spec"]["priority"]]
            if all(sum(other[key] for other in staying) + need <= GPU[key] for key, need in amounts(entry).items()):
                yield entry["metadata"]["name"]
                break
