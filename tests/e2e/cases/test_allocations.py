# SPDX-License-Identifier: Apache-2.0
"""What vgpu-scheduler decided for a container, told over gRPC to those who have a certificate of ours."""

import base64
import contextlib
import json
import os
import socket
import ssl
import tempfile
import urllib.error
import urllib.request

import grpc

import full_stack
from daemons import KUBECONFIG, daemon
from fixtures import case, expect, pod
from pki import CA, kubeconfig
from paths import BUILD, NODE
from placing import EXTENDER, allocation, bound, nodes, scheduler
from grpc_client import ALLOCATIONS, call

ADDRESS = "127.0.0.1:9515"
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
    with grpc.secure_channel(ADDRESS, who) as channel:
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
    with scheduler("--allocations", ADDRESS, "--namespace", cluster.namespace), \
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
        device = by_pod.share.gpus[0]
        expect((device.uuid, device.limit_bytes, device.cores_percent) ==
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


@case("kube-scheduler speaks TLS to the extender, whose certificate is exchanged meanwhile", profile="light")
def exchanged(cluster):
    address = "127.0.0.1:9516"
    extender = [{**EXTENDER[0], "urlPrefix": f"https://{address}", "enableHTTPS": True,
                 "tlsConfig": {"caFile": CA}}]
    crt, key = cluster.certificate("serving")

    def served():
        context = ssl.create_default_context(cafile=CA)
        with socket.create_connection(("127.0.0.1", 9516), timeout=5) as raw, \
                context.wrap_socket(raw, server_hostname="localhost") as connection:
            return connection.getpeercert()["serialNumber"]
    with nodes(cluster, 1), daemon("vgpu-scheduler", "--listen", address, "--kubeconfig", KUBECONFIG,
                                   "--certificate", crt, "--key", key), \
            cluster.scheduler_config(extenders=extender):
        cluster.create(pod("first", limits=LIMITS))
        cluster.wait("the first is bound", lambda: len(bound(cluster)) == 1, 60)
        before = served()
        cluster.certificate("serving")                  # written anew at the same address
        cluster.wait("the new one serves", lambda: served() != before, 40)
        cluster.create(pod("second", limits=LIMITS))
        cluster.wait("the second is bound", lambda: len(bound(cluster)) == 2, 60)


@case("the nodes' certificate is made anew where it is not good any more", profile="light")
def renewed(cluster):
    name = "vgpu-allocations-client"
    with serving(cluster) as entries:
        pass
    cluster.patch("v1", "Secret", name, {"data": {"tls.crt": base64.b64encode(b"nothing").decode()}},
                  cluster.namespace)
    with serving(cluster):
        fresh = cluster.wait("there is a new one", lambda: secret(cluster, name)["tls.crt"] != b"nothing" and
                             secret(cluster, name), 30)
        expect(fresh["ca.crt"] == entries["ca.crt"], "another authority")
        expect(fresh["tls.crt"] != entries["tls.crt"], "the old one is back")
        expect(code_of(credentials(fresh), container_uuid="x") == "UNAVAILABLE" and
               "not known" in details_of(credentials(fresh)), details_of(credentials(fresh)))


def tried(function, *words):
    try:
        return function(*words)
    except (urllib.error.URLError, OSError):
        return False


def blind_kubeconfig(cluster):
    """Of a user who may see and mark nodes, and no pods: a watch that never tells."""
    name = f"{cluster.namespace}-blind"
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch", "update"]}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    cluster.apply([{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                    "metadata": {"name": name}, "rules": rules},
                   {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                    "metadata": {"name": name}, "roleRef": role,
                    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}]}])
    return kubeconfig(name, name)


@contextlib.contextmanager
def node_agent(cluster, machine, *words):
    """vgpu-node for a node that nobody runs; gives the path of its socket."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["VGPU_SIM"] = machine
        os.environ["LD_LIBRARY_PATH"] = os.path.join(BUILD, "lib", "sim")
        try:
            with daemon("vgpu-node", "--device-plugin-path", folder, "--node-name", f"{cluster.namespace}-0",
                        "--kubeconfig", blind_kubeconfig(cluster), "--state-dir", f"{folder}/state",
                        "--run-dir", f"{folder}/run", *words):
                yield f"{folder}/run/node.sock"
        finally:
            del os.environ["VGPU_SIM"], os.environ["LD_LIBRARY_PATH"]


def ask_node(address, uid, container):
    request = ALLOCATIONS["GetAllocationRequest"]()
    request.container.pod_uid, request.container.container = uid, container
    return call(address, "/vgpu.v1.Allocations/Get", request, ALLOCATIONS["GetAllocationResponse"], 20)


def node_code(*words):
    try:
        return ask_node(*words) and "OK"
    except grpc.RpcError as error:
        return error.code().name


@case("a node whose own watch tells it nothing gives a container its share by what vgpu-scheduler says",
      profile="light")
def asked_by_node(cluster):
    machine = cluster.machine("a100-40gb", 2)
    names = cluster.add_nodes(1, {}, prefix=cluster.namespace)
    try:
        with serving(cluster) as entries, tempfile.TemporaryDirectory() as folder:
            for name, text in entries.items():
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(text)
            scheduler_options = ("--scheduler", ADDRESS, "--scheduler-certificate", folder, "--scheduler-name",
                                 f"vgpu-scheduler.{cluster.namespace}.svc")
            with node_agent(cluster, machine) as address:
                cluster.create(pod("user", limits=LIMITS))
                entry = cluster.wait("it is bound", lambda: bound(cluster), 60)[0]
                uid = entry["metadata"]["uid"]
                cluster.wait("the node says that it has not seen the pod",
                             lambda: node_code(address, uid, "main") == "UNAVAILABLE", 30)
            with node_agent(cluster, machine, *scheduler_options) as address:
                answer = cluster.wait("the scheduler's word is enough", lambda: node_code(
                    address, uid, "main") == "OK" and ask_node(address, uid, "main"), 30)
                part = allocation(entry)["containers"]["main"][0]
                expect([(device.uuid, device.limit_bytes, device.cores_percent) for device in
                        answer.share.gpus] == [(part["uuid"], part["memory"] << 20, part["cores"])], answer)
                expect(any(mount.container_path == "/etc/vgpu/share" for mount in answer.mounts), answer)
                expect(node_code(address, uid, "other") in ("NOT_FOUND", "FAILED_PRECONDITION"), "other")
                expect(node_code(address, "nobody", "main") == "UNAVAILABLE", "nobody")
            # Whoever is not the scheduler is not believed.
            with node_agent(cluster, machine, *scheduler_options[:-1], "somebody.else") as address:
                cluster.wait("it serves", lambda: node_code(address, "nobody", "main") == "UNAVAILABLE", 30)
    finally:
        cluster.remove_nodes(names)


@case("a pod runs where vgpu-node does not see the API server, by the allocation of vgpu-scheduler")
def on_a_kubelet(cluster):
    cluster.apply({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "vgpu"},
                   "handler": "vgpu"})
    with full_stack.webhook(cluster, "--trusted-user", "admin"), \
            scheduler("--allocations", ADDRESS, "--namespace", cluster.namespace), \
            cluster.scheduler_config(extenders=full_stack.EXTENDER, profiles=full_stack.PROFILES), \
            tempfile.TemporaryDirectory() as folder:
        entries = cluster.wait("nodes have their certificate", lambda: secret(cluster, "vgpu-allocations-client"), 30)
        for name, text in entries.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(text)
        with full_stack.agent(cluster, "gtx-1050ti", 1, f"--kubeconfig={blind_kubeconfig(cluster)}",
                         f"--scheduler={ADDRESS}", f"--scheduler-certificate={folder}",
                         f"--scheduler-name=vgpu-scheduler.{cluster.namespace}.svc"):
            cluster.wait("the GPU is registered", lambda: len(full_stack.registered_gpus(cluster)) == 1)
            cluster.wait("kubelet has the vGPUs", lambda: int(
                cluster.node(NODE)["status"]["allocatable"].get(full_stack.RESOURCES[0], "0")) >= 1)
            cluster.apply(full_stack.gpu_pod("user", memory=700, cores=30))
            entry = cluster.wait_phase("user", "Running", seconds=60)
            full_stack.expect_own(entry, "main", full_stack.wait_log(cluster, "user", "GPUs"))
