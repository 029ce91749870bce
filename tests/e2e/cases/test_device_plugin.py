# SPDX-License-Identifier: Apache-2.0
"""A device plugin, written with somebody else's gRPC, gives a container what it says."""

import contextlib
import os
import threading

import grpc_client
from fixtures import case, expect, pod
from paths import DATA, NODE

FOLDER = "/var/lib/kubelet/device-plugins"
RESOURCE = "e2e.vgpu.io/device"
MESSAGE = grpc_client.PLUGIN


class Plugin:
    """Two devices; a container gets an environment variable with its ids and a read-only mount."""

    def __init__(self, name, host_path):
        self.socket = os.path.join(FOLDER, f"{name}.sock")
        self.host_path = host_path
        self.allocated = []
        self.is_over = threading.Event()
        empty = MESSAGE["Empty"]
        self.server = grpc_client.serve(self.socket, "v1beta1.DevicePlugin", {
            "GetDevicePluginOptions": (lambda *_: MESSAGE["DevicePluginOptions"](), empty, False),
            "ListAndWatch": (self.list_and_watch, empty, True),
            "Allocate": (self.allocate, MESSAGE["AllocateRequest"], False),
        })

    def register(self):
        request = MESSAGE["RegisterRequest"](version="v1beta1", endpoint=os.path.basename(self.socket),
                                             resource_name=RESOURCE)
        grpc_client.call(f"{FOLDER}/kubelet.sock", "/v1beta1.Registration/Register", request, MESSAGE["Empty"])

    def list_and_watch(self, _request, _context):
        devices = [MESSAGE["Device"](ID=f"device-{number}", health="Healthy") for number in range(2)]
        yield MESSAGE["ListAndWatchResponse"](devices=devices)
        self.is_over.wait()

    def allocate(self, request, _context):
        reply = MESSAGE["AllocateResponse"]()
        for container in request.container_requests:
            ids = sorted(container.devices_ids)
            self.allocated.append(ids)
            answer = reply.container_responses.add()
            answer.envs.add(key="E2E_DEVICES", value=",".join(ids))
            answer.mounts.add(container_path="/run/e2e", host_path=self.host_path, read_only=True)
        return reply

    def close(self):
        self.is_over.set()
        self.server.stop(0).wait()


@contextlib.contextmanager
def plugin(name):
    folder = os.path.join(DATA, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "note"), "w", encoding="ascii") as note:
        note.write("from the node\n")
    made = Plugin(name, folder)
    try:
        yield made
    finally:
        made.close()


def allocatable(cluster):
    return cluster.node(NODE)["status"]["allocatable"].get(RESOURCE, "0")


@case("a device plugin registers, and a pod gets its environment and its mounts")
def environment_and_mounts(cluster):
    with plugin("give") as given:
        given.register()
        cluster.wait("the node has two devices", lambda: allocatable(cluster) == "2")
        cluster.apply(pod("user", limits={RESOURCE: "2"},
                          command="echo $E2E_DEVICES; cat /run/e2e/note; touch /run/e2e/x || echo read only;"
                                  "sleep 3600"))
        cluster.wait_phase("user", "Running")
        cluster.wait("the container has spoken", lambda: "read only" in cluster.logs("user"))
        text = cluster.logs("user")
        expect(text.startswith("device-0,device-1\nfrom the node\n"), text)
        expect(given.allocated == [["device-0", "device-1"]], given.allocated)
        listed = grpc_client.call("/var/lib/kubelet/pod-resources/kubelet.sock", "/v1.PodResourcesLister/List",
                           grpc_client.PODS["ListPodResourcesRequest"](), grpc_client.PODS["ListPodResourcesResponse"])
        mine = [device for entry in listed.pod_resources if entry.name == "user"
                for container in entry.containers for device in container.devices]
        expect({device.resource_name for device in mine} == {RESOURCE}, listed)


@case("after a restart of kubelet a plugin registers again, and a pod that ran runs on")
def kubelet_restart(cluster):
    with plugin("before") as given:
        given.register()
        cluster.wait("the node has two devices", lambda: allocatable(cluster) == "2")
        cluster.apply(pod("stays", limits={RESOURCE: "1"}))
        before = cluster.wait_phase("stays", "Running")
        cluster.restart("kubelet")
        cluster.wait("kubelet has removed the plugin's socket", lambda: not os.path.exists(given.socket))
    cluster.wait("the devices are away", lambda: allocatable(cluster) == "0")
    with plugin("after") as given:
        given.register()
        cluster.wait("the devices are back", lambda: allocatable(cluster) == "2")
        after = cluster.pod("stays")
        for field in ("containerID", "restartCount"):
            was, now = (entry["status"]["containerStatuses"][0][field] for entry in (before, after))
            expect(was == now, f"{field} was {was} and is {now}")
        cluster.apply(pod("second", limits={RESOURCE: "1"}))
        cluster.wait_phase("second", "Running")
