# SPDX-License-Identifier: Apache-2.0
"""grpc_server PEER DESCRIPTORS: our gRPC server, asked by grpcio."""

import os
import pathlib
import sys
import tempfile
import threading

import grpc

from peer import Messages, Program, Tap, differs, eventually, socket_path


def ask(channel, path, request, answer, stream=False):
    kind = channel.unary_stream if stream else channel.unary_unary
    return kind(path, request_serializer=lambda m: m.SerializeToString(),
                response_deserializer=answer.FromString)(request, timeout=10) if not stream else \
        kind(path, request_serializer=lambda m: m.SerializeToString(),
             response_deserializer=answer.FromString)(request)


PLUGIN = "/v1beta1.DevicePlugin/"


def error_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code().name, error.details()
    return "OK", ""


def allocate(m, channel, ids, timeout=10):
    request = m.v1beta1__AllocateRequest()
    request.container_requests.add().devices_ids.extend(ids)
    call = channel.unary_unary(PLUGIN + "Allocate",
                               request_serializer=lambda r: r.SerializeToString(),
                               response_deserializer=m.v1beta1__AllocateResponse.FromString)
    return call(request, timeout=timeout)


def unary(tap, m, channel):
    options = ask(channel, PLUGIN + "GetDevicePluginOptions", m.v1beta1__Empty(),
                  m.v1beta1__DevicePluginOptions)
    tap.check("an empty request has its answer", differs(options.pre_start_required, True))
    envs = allocate(m, channel, ["b", "a", "c"]).container_responses[0].envs
    tap.check("messages within messages arrive, in order",
              differs([e.key for e in envs], ["b", "a", "c"]))
    many = [f"GPU-00000000-0000-0000-0000-{i:012d}::{i}" for i in range(4000)]
    envs = allocate(m, channel, many).container_responses[0].envs
    tap.check("a request of many frames and an answer of many frames arrive whole",
              differs(len(envs), 4000))
    sentence = "50% über Grenze: \"nein\"\n"
    request = m.v1beta1__PreStartContainerRequest(devices_ids=[sentence])
    tap.check("a refusal carries its status and its sentence", differs(
        error_of(lambda: ask(channel, PLUGIN + "PreStartContainer", request, m.v1beta1__Empty)),
        ("FAILED_PRECONDITION", sentence)))
    tap.check("an unknown method is UNIMPLEMENTED", differs(
        error_of(lambda: ask(channel, "/v1alpha1.NodeHealth/WatchResources", m.v1beta1__Empty(),
                             m.v1beta1__Empty))[0], "UNIMPLEMENTED"))
    tap.check("a deadline that passes is DEADLINE_EXCEEDED", differs(
        error_of(lambda: allocate(m, channel, ["hang"], 0.3))[0], "DEADLINE_EXCEEDED"))
    tap.check("a request over the limit is RESOURCE_EXHAUSTED", differs(
        error_of(lambda: allocate(m, channel, ["x" * 60] * 20000))[0], "RESOURCE_EXHAUSTED"))
    tap.check("… and the connection goes on", differs(
        len(allocate(m, channel, ["a"]).container_responses), 1))


def stream(tap, m, channel):
    call = ask(channel, PLUGIN + "ListAndWatch", m.v1beta1__Empty(),
               m.v1beta1__ListAndWatchResponse, stream=True)
    lists = []

    def listen():
        try:
            for answer in call:
                lists.append(len(answer.devices))
        except grpc.RpcError:
            pass

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    eventually(lambda: lists)
    before = lists[0]
    for _ in range(3):
        allocate(m, channel, ["x"])
    tap.check("a stream brings each new list",
              [] if eventually(lambda: lists[-1] == before + 3) else [f"{lists}"])
    call.cancel()
    listener.join(10)
    tap.check("a cancelled stream ends", differs(listener.is_alive(), False))


def authorities(tap, m, path):
    names = {"localhost": "localhost", "the path, percent-encoded": path.replace("/", "%2F"),
             "the raw path": path}
    for what, name in names.items():
        with grpc.insecure_channel(f"unix:{path}",
                                   options=[("grpc.default_authority", name)]) as channel:
            tap.check(f":authority may be {what}", differs(
                error_of(lambda: allocate(m, channel, ["a"]))[0], "OK"))


def end(tap, m, program, path):
    with grpc.insecure_channel(f"unix:{path}") as channel:
        call = ask(channel, PLUGIN + "ListAndWatch", m.v1beta1__Empty(),
                   m.v1beta1__ListAndWatchResponse, stream=True)
        next(call)
        status, said = program.stop()
        tap.check("a server that ends ends its streams",
                  differs(error_of(lambda: next(call))[0], "UNAVAILABLE"))
        tap.check("… tells their owners, and ends by itself",
                  differs((status, said.split()[:1]), (0, ["gone"])))


def over_tls(tap, m, peer):
    with tempfile.TemporaryDirectory() as folder:
        program = Program(peer, "serve", "127.0.0.1:0", folder)
        port = program.said.split()[1]
        authority = pathlib.Path(folder, "ca.pem").read_bytes()
        for name, trusted in (("localhost", authority), ("127.0.0.1", authority), ("localhost", None)):
            # By number: a machine need not know that name.
            options = [("grpc.ssl_target_name_override", name)] if name == "localhost" else []
            with grpc.secure_channel(f"127.0.0.1:{port}", grpc.ssl_channel_credentials(trusted),
                                     options=options) as channel:
                code = error_of(lambda: allocate(m, channel, ["a"] * 3000))[0]
            tap.check(f"over TLS to {name}, authority {'known' if trusted else 'unknown'}",
                      differs(code, "OK" if trusted else "UNAVAILABLE"))
        tap.check("… and it ends in order", differs(program.stop()[0], 0))


def main(peer, descriptors):
    tap = Tap()
    m = Messages(descriptors)
    path = socket_path()
    program = Program(peer, "serve", f"unix:{path}")
    with grpc.insecure_channel(f"unix:{path}") as channel:
        unary(tap, m, channel)
        stream(tap, m, channel)
    authorities(tap, m, path)
    end(tap, m, program, path)
    over_tls(tap, m, peer)
    os.unlink(path) if os.path.exists(path) else None
    os.rmdir(os.path.dirname(path))
    tap.done()


main(*sys.argv[1:])
