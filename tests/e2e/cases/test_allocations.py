"""What vgpu-scheduler decided for a container, told over gRPC to those who have a certificate of ours."""

import base64
import contextlib
import json
import ssl
import urllib.error
import urllib.request

import grpc

from daemons import KUBECONFIG, daemon
from lab import case, expect, pod
from pki import CA
from placing import EXTENDER, allocation, bound, nodes, scheduler
from wire import ALLOCATIONS

PLACE = "127.0.0.1:9515"
LIMITS = {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "10000", "nvidia.com/gpucores": "25"}


def secret(cluster, name):
    found = cluster.get("v1", "Secret", name, cluster.namespace)["data"]
    return {key: base64.b64decode(value) for key, value in found.items()}


def credentials(entries):
    return grpc.ssl_channel_credentials(entries["ca.crt"], entries.get("tls.key"), entries.get("tls.crt"))


def ask(who, **request):
    container = request.pop("container", None)
    message = ALLOCATIONS["GetAllocationRequest"](**request)
    if container:
        message.container.CopyFrom(ALLOCATIONS["Container"](**container))
    with grpc.secure_channel(PLACE, who) as channel:
        call = channel.unary_unary("/vgpu.v1.Allocations/Get",
                                   request_serializer=lambda made: made.SerializeToString(),
                                   response_deserializer=ALLOCATIONS["GetAllocationResponse"].FromString)
        return call(message, timeout=10)


def code_of(*words, **request):
    try:
        return "OK" if ask(*words, **request) else None
    except grpc.RpcError as error:
        return error.code().name


@contextlib.contextmanager
def serving(cluster):
    with scheduler("--allocations", PLACE, "--namespace", cluster.namespace), \
            cluster.scheduler_config(extenders=EXTENDER):
        yield cluster.wait("nodes have their certificate", lambda: secret(cluster, "vgpu-allocations-client"), 30)


@case("a node with its certificate learns what was decided, by pod or by the container's UUID; others nothing",
      profile="light")
def told(cluster):
    with nodes(cluster, 1), serving(cluster) as entries:
        user = pod("user", limits=LIMITS)
        user["metadata"]["annotations"] = {"vgpu.io/container-uuids": json.dumps({"main": "uuid-of-main"})}
        user["spec"]["containers"].append({"name": "plain", "image": "busybox"})
        cluster.create(user)
        entry = cluster.wait("it is bound", lambda: bound(cluster), 60)[0]
        node = credentials(entries)
        uid = entry["metadata"]["uid"]
        by_pod = cluster.wait("it is known", lambda: code_of(node, container={
            "pod_uid": uid, "container": "main"}) == "OK" and ask(node, container={
                "pod_uid": uid, "container": "main"}), 30)
        by_uuid = ask(node, container_uuid="uuid-of-main")
        expect(by_pod == by_uuid, (by_pod, by_uuid))
        part = allocation(entry)["containers"]["main"][0]
        device = by_pod.share.devices[0]
        expect((device.uuid, device.memory_bytes, device.cores_percent) ==
               (part["uuid"], part["memory"] << 20, part["cores"]), device)
        expect(by_pod.share.container.pod == "user", by_pod)
        expect(code_of(node, container={"pod_uid": uid, "container": "plain"}) == "NOT_FOUND", "plain")
        expect(code_of(node, container={"pod_uid": "nobody", "container": "main"}) == "UNAVAILABLE", "nobody")
        expect(code_of(node, container_uuid="another") == "UNAVAILABLE", "another")
        cluster.delete("v1", "Pod", "user", cluster.namespace, gracePeriodSeconds=0)
        cluster.wait("it is forgotten", lambda: code_of(node, container_uuid="uuid-of-main") == "UNAVAILABLE", 30)
        # No certificate, the server's own, and one of another authority.
        nobody = grpc.ssl_channel_credentials(entries["ca.crt"])
        expect(code_of(nobody, container_uuid="x") == "UNAVAILABLE", "without a certificate")
        crt, key = cluster.certificate("stranger")
        with open(crt, "rb") as certificate, open(key, "rb") as private:
            stranger = grpc.ssl_channel_credentials(entries["ca.crt"], private.read(), certificate.read())
        expect(code_of(stranger, container={"pod_uid": "nobody", "container": "main"}) == "UNAVAILABLE", "stranger")
        expect(details_of(stranger) != details_of(node), "a stranger gets an answer")


def details_of(who):
    try:
        return ask(who, container_uuid="x")
    except grpc.RpcError as error:
        return error.details()


@case("the extender serves with certificates of its own authority, which is in a Secret, or with mounted ones",
      profile="light")
def own(cluster):
    address = "127.0.0.1:9516"

    def healthy(authority):
        context = ssl.create_default_context(cadata=authority.decode())
        with urllib.request.urlopen(f"https://{address}/healthz", context=context, timeout=5) as answer:
            return answer.status == 200
    with daemon("vgpu-scheduler", "--listen", address, "--kubeconfig", KUBECONFIG, "--namespace",
                cluster.namespace):
        authority = cluster.wait("the Secret is there", lambda: secret(cluster, "vgpu-scheduler-authority"), 30)
        cluster.wait("it serves", lambda: tried(healthy, authority["ca.crt"]), 30)
    crt, key = cluster.certificate("mounted")
    with open(CA, "rb") as file:
        theirs = file.read()
    with daemon("vgpu-scheduler", "--listen", address, "--kubeconfig", KUBECONFIG, "--certificate", crt,
                "--key", key):
        cluster.wait("it serves", lambda: tried(healthy, theirs), 30)


def tried(function, *words):
    try:
        return function(*words)
    except (urllib.error.URLError, OSError):
        return False
