# SPDX-License-Identifier: Apache-2.0
"""grpc_client: kubelet's gRPC interfaces, spoken by libraries that are not ours (grpcio, protobuf).

The messages are tables of "number name type", in the order of the interface's own definition. They are
here, and not generated, because that would need a compiler and a copy of somebody's files.
"""

import concurrent.futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

KINDS = {"string": 9, "bool": 8, "int32": 5, "int64": 3, "uint64": 4, "uint32": 13}

DEVICE_PLUGIN = {
    "Empty": "",
    "DevicePluginOptions": "1 pre_start_required bool, 2 get_preferred_allocation_available bool",
    "RegisterRequest": "1 version string, 2 endpoint string, 3 resource_name string, 4 options DevicePluginOptions",
    "NUMANode": "1 ID int64",
    "TopologyInfo": "1 nodes *NUMANode",
    "Device": "1 ID string, 2 health string, 3 topology TopologyInfo",
    "ListAndWatchResponse": "1 devices *Device",
    "ContainerPreferredAllocationRequest":
        "1 available_deviceIDs *string, 2 must_include_deviceIDs *string, 3 allocation_size int32",
    "PreferredAllocationRequest": "1 container_requests *ContainerPreferredAllocationRequest",
    "ContainerPreferredAllocationResponse": "1 deviceIDs *string",
    "PreferredAllocationResponse": "1 container_responses *ContainerPreferredAllocationResponse",
    "ContainerAllocateRequest": "1 devices_ids *string",
    "AllocateRequest": "1 container_requests *ContainerAllocateRequest",
    "Entry": "1 key string, 2 value string",
    "Mount": "1 container_path string, 2 host_path string, 3 read_only bool",
    "DeviceSpec": "1 container_path string, 2 host_path string, 3 permissions string",
    "CDIDevice": "1 name string",
    # A map is a list of entries on the wire.
    "ContainerAllocateResponse":
        "1 envs *Entry, 2 mounts *Mount, 3 devices *DeviceSpec, 4 annotations *Entry, 5 cdi_devices *CDIDevice",
    "AllocateResponse": "1 container_responses *ContainerAllocateResponse",
    "PreStartContainerRequest": "1 devices_ids *string",
    "PreStartContainerResponse": "",
}
POD_RESOURCES = {
    "ListPodResourcesRequest": "",
    "ContainerDevices": "1 resource_name string, 2 device_ids *string",
    "ContainerResources": "1 name string, 2 devices *ContainerDevices, 3 cpu_ids *int64",
    "PodResources": "1 name string, 2 namespace string, 3 containers *ContainerResources",
    "ListPodResourcesResponse": "1 pod_resources *PodResources",
    "AllocatableResourcesRequest": "",
    "AllocatableResourcesResponse": "1 devices *ContainerDevices",
}
VGPU_NODE = {
    "Container": "1 pod_uid string, 2 namespace string, 3 pod string, 4 container string",
    "Mount": "1 host_path string, 2 container_path string, 3 read_only bool",
    "DeviceShare": "1 uuid string, 3 limit_bytes uint64, 5 cores_percent uint32",
    "Share": "2 container Container, 3 gpus *DeviceShare",
    "GetAllocationRequest": "1 container Container, 2 container_uuid string",
    "GetAllocationResponse": "1 share Share, 2 mounts *Mount",
}


def messages(package, table):
    """A class for each row of a table."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in table.items():
        message = file.message_type.add(name=name)
        for field in filter(None, fields.split(", ")):
            number, label, kind = field.split()
            entry = message.field.add(name=label, number=int(number), label=3 if kind[0] == "*" else 1)
            kind = kind.lstrip("*")
            if kind in KINDS:
                entry.type = KINDS[kind]
            else:
                entry.type, entry.type_name = 11, f".{package}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName(f"{package}.{name}")) for name in table}


PLUGIN = messages("v1beta1", DEVICE_PLUGIN)
PODS = messages("v1", POD_RESOURCES)
ALLOCATIONS = messages("vgpu.v1", VGPU_NODE)


def call(socket, method, request, reply, seconds=10):
    """One unary call to a server on a unix socket."""
    with grpc.insecure_channel(f"unix://{socket}") as channel:
        unary = channel.unary_unary(method, request_serializer=lambda message: message.SerializeToString(),
                                    response_deserializer=reply.FromString)
        return unary(request, timeout=seconds)


def serve(socket, service, methods):
    """Serves {name: (function, request class, is_stream)} on a unix socket."""
    handlers = {}
    for name, (function, request, is_stream) in methods.items():
        make = grpc.unary_stream_rpc_method_handler if is_stream else grpc.unary_unary_rpc_method_handler
        handlers[name] = make(function, request.FromString, lambda message: message.SerializeToString())
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    server.add_insecure_port(f"unix://{socket}")
    server.start()
    return server
