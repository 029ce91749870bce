# SPDX-License-Identifier: Apache-2.0
"""fake_kubelet: kubelet's side of the device plugin interface, by grpcio, in the order in which the
real one does things: it calls the plugin back before it answers Register."""

import concurrent.futures
import os
import pathlib
import threading

import grpc

PLUGIN = "/v1beta1.DevicePlugin/"


class Endpoint:
    """One registered plugin: its options, and its lists as they come."""

    def __init__(self, messages, folder, request):
        self.m = messages
        self.name = request.resource_name
        self.options = None
        self.lists = []
        self.status = None
        self.channel = grpc.insecure_channel(
            f"unix:{folder}/{request.endpoint}", options=[("grpc.default_authority", "localhost")])

    def call(self, method, request, answer, timeout=10):
        return self.channel.unary_unary(PLUGIN + method,
                                        request_serializer=lambda r: r.SerializeToString(),
                                        response_deserializer=answer.FromString)(
                                            request, timeout=timeout)

    def listen(self):
        stream = self.channel.unary_stream(
            PLUGIN + "ListAndWatch", request_serializer=lambda r: r.SerializeToString(),
            response_deserializer=self.m.v1beta1__ListAndWatchResponse.FromString)
        try:
            for answer in stream(self.m.v1beta1__Empty()):
                self.lists.append({d.ID: d.health for d in answer.devices})
        except grpc.RpcError as error:
            self.status = error.code().name

    def allocate(self, ids):
        request = self.m.v1beta1__AllocateRequest()
        request.container_requests.add().devices_ids.extend(ids)
        return self.call("Allocate", request, self.m.v1beta1__AllocateResponse)


class FakeKubelet(grpc.GenericRpcHandler):
    def __init__(self, messages, folder):
        self.m = messages
        self.folder = pathlib.Path(folder)
        self.endpoints = {}
        self.registered = 0
        self.refusal = None
        self.forgotten = set()          # resources of which it gives out nothing, though it listens
        self.server = None

    def start(self):
        """As the real one: first every socket in the folder goes, then its own comes."""
        for path in self.folder.glob("*"):
            if path.is_socket():
                path.unlink()
        self.endpoints = {}
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        self.server.add_generic_rpc_handlers([self])
        self.server.add_insecure_port(f"unix:{self.folder}/kubelet.sock")
        self.server.start()

    def stop(self):
        for endpoint in self.endpoints.values():
            endpoint.channel.close()
        self.server.stop(0).wait()
        if os.path.exists(self.folder / "kubelet.sock"):
            os.unlink(self.folder / "kubelet.sock")

    def register(self, request, context):
        if self.refusal:
            context.abort(grpc.StatusCode.UNKNOWN, self.refusal)
        endpoint = Endpoint(self.m, self.folder, request)
        endpoint.options = endpoint.call("GetDevicePluginOptions", self.m.v1beta1__Empty(),
                                         self.m.v1beta1__DevicePluginOptions)
        self.endpoints[request.resource_name] = endpoint
        self.forgotten.discard(request.resource_name)
        self.registered += 1
        threading.Thread(target=endpoint.listen, daemon=True).start()
        return self.m.v1beta1__Empty()

    def allocatable(self, _request, _context):
        """One entry per device, as the real one answers."""
        answer = self.m.v1__AllocatableResourcesResponse()
        for endpoint in list(self.endpoints.values()):
            if endpoint.lists and endpoint.status is None and endpoint.name not in self.forgotten:
                for device in endpoint.lists[-1]:
                    answer.devices.add(resource_name=endpoint.name, device_ids=[device])
        return answer

    def service(self, details):
        if details.method == "/v1.PodResourcesLister/GetAllocatableResources":
            return grpc.unary_unary_rpc_method_handler(
                self.allocatable, self.m.v1__AllocatableResourcesRequest.FromString,
                lambda answer: answer.SerializeToString())
        if details.method == "/v1beta1.Registration/Register":
            return grpc.unary_unary_rpc_method_handler(
                self.register, self.m.v1beta1__RegisterRequest.FromString,
                lambda answer: answer.SerializeToString())
        return None
