# SPDX-License-Identifier: Apache-2.0
"""grpc_client PEER DESCRIPTORS: our gRPC client, answered by grpcio."""

import concurrent.futures
import os
import subprocess
import sys
import time

import grpc

from peer import Messages, Tap, differs, socket_path

PLUGIN = "/v1beta1.DevicePlugin/"


class Service(grpc.GenericRpcHandler):
    def __init__(self, m):
        self.m = m

    def pre_start(self, request, context):
        ids = list(request.devices_ids)
        if ids == ["slow"]:
            time.sleep(1)
        if ids[:1] == ["refuse"]:
            context.abort(grpc.StatusCode.NOT_FOUND, ids[1])
        if ids[:1] == ["deadline"]:
            left = context.time_remaining()
            context.abort(grpc.StatusCode.ABORTED, "soon" if left and left <= 5 else f"{left}")
        return self.m.v1beta1__PreStartContainerResponse()

    def lists(self, request, context):
        count = int(request.devices_ids[0])
        size = int(request.devices_ids[1]) if len(request.devices_ids) > 1 else 1
        for i in range(count):
            answer = self.m.v1beta1__ListAndWatchResponse()
            for _ in range(size):
                answer.devices.add(ID=f"d{i}", health="Healthy")
            yield answer

    def service(self, details):
        request = self.m.v1beta1__PreStartContainerRequest.FromString
        if details.method == PLUGIN + "PreStartContainer":
            return grpc.unary_unary_rpc_method_handler(
                self.pre_start, request, lambda a: a.SerializeToString())
        if details.method == PLUGIN + "ListAndWatch":
            return grpc.unary_stream_rpc_method_handler(
                self.lists, request, lambda a: a.SerializeToString())
        return None


def main(peer, descriptors):
    tap = Tap()
    path = socket_path()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers([Service(Messages(descriptors))])
    server.add_insecure_port(f"unix:{path}")
    server.start()

    def call(method, timeout_ms, *texts):
        command = [peer, "call", f"unix:{path}", PLUGIN + method, str(timeout_ms), *texts]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=30,
                              check=False).stdout.splitlines()

    tap.check("a call has its answer", differs(
        call("PreStartContainer", 5000, "a"), ["answer v1beta1.PreStartContainerResponse", "OK "]))
    tap.check("a refusal arrives with its sentence", differs(
        call("PreStartContainer", 5000, "refuse", "100% größer"), ["NOT_FOUND 100% größer"]))
    tap.check("the server knows the deadline", differs(
        call("PreStartContainer", 5000, "deadline"), ["ABORTED soon"]))
    tap.check("a deadline is kept", differs(
        call("PreStartContainer", 200, "slow")[0].split()[0], "DEADLINE_EXCEEDED"))
    tap.check("a method that is not there is UNIMPLEMENTED", differs(
        call("Nothing", 5000)[0].split()[0], "UNIMPLEMENTED"))
    tap.check("a stream brings every message, in order", differs(
        call("ListAndWatch", 0, "100"), [f"list d{i}" for i in range(100)] + ["OK "]))
    tap.check("a long message arrives whole", differs(
        len(call("ListAndWatch", 0, "1", "40000")[0].split()), 40001))
    tap.check("a message over the limit is refused", differs(
        call("ListAndWatch", 0, "1", "100000"), ["RESOURCE_EXHAUSTED the answer is too large"]))
    server.stop(0).wait()
    tap.check("nobody there is UNAVAILABLE, and says where", differs(
        call("PreStartContainer", 5000, "a")[0].split()[:1], ["UNAVAILABLE"]))
    if os.path.exists(path):
        os.unlink(path)
    os.rmdir(os.path.dirname(path))
    tap.done()


main(*sys.argv[1:])
