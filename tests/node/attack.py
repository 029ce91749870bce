# SPDX-License-Identifier: Apache-2.0
"""attack BIN DESCRIPTORS measured|sanitized|soak: vgpu-node under hostile clients of its sockets: refused,
memory flat, and whoever behaves is served. soak: with the big counts."""

import atexit
import http.client
import os
import pathlib
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "net"))
from fake_cluster import FakeCluster  # noqa: E402
from fake_kubelet import FakeKubelet  # noqa: E402
from grpc_attack import garbage, idle, oversized, resets, still_serves  # noqa: E402
from metrics import free_port, get, is_up, rss_kb  # noqa: E402
from peer import Messages, Tap, differs, eventually  # noqa: E402

RESOURCE = "nvidia.com/vgpu"


class Counts:
    def __init__(self, is_soak):
        self.garbage = 3000 if is_soak else 150
        self.resets = 20000
        self.reset_rounds = 10 if is_soak else 1
        self.idle = 10000 if is_soak else 500
        self.requests = 20000 if is_soak else 300


def raise_files(wanted):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def socket_attacks(tap, path, whose, counts, most_files, still_answers, whom):
    """On a socket that speaks gRPC; `still_answers` asks it as `whom`, who must be accepted."""
    garbage(path, counts.garbage)
    tap.check(f"{whose} socket: garbage is refused", differs(still_answers(path), True))
    sent = [resets(path, counts.resets) for _ in range(counts.reset_rounds)]
    tap.check(f"… {counts.resets} stream resets are cut off",
              [] if max(sent) < counts.resets // 2 else [f"sent {sent}"])
    tap.check("… what is too large is cut off", oversized(path))
    socks = idle(path, min(counts.idle, most_files - 200))
    tap.check(f"… among {len(socks)} idle connections {whom} is accepted",
              differs(still_answers(path), True))
    for sock in socks:
        sock.close()


def node_answers(m, path):
    """Does vgpu-node's own socket answer, be it with a refusal?"""
    with grpc.insecure_channel(f"unix:{path}") as channel:
        call = channel.unary_unary("/vgpu.v1.Shares/List", request_serializer=lambda r: r.SerializeToString(),
                                   response_deserializer=m.vgpu__v1__ListSharesResponse.FromString)
        try:
            call(m.vgpu__v1__ListSharesRequest(), timeout=30, wait_for_ready=True)
            return True
        except grpc.RpcError as error:
            return error.code() == grpc.StatusCode.PERMISSION_DENIED


def registry_ask(path):
    """What the registry answers to a stranger; empty: it does not listen to one that asks so much."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
        sock.settimeout(10)
        try:
            sock.connect(path)
            sock.send(struct.pack("<QII", 0x7972747369676572, 1, os.getpid()).ljust(344, b"\0"))
            return sock.recv(64)
        except OSError:
            return b""


def registry_attacks(tap, path, counts):
    """Packets of every length, and connections without any."""
    socks = []
    for attempt in range(counts.garbage):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sock.settimeout(10)
        try:
            sock.connect(path)
            sock.send(os.urandom(1 + attempt * 37 % 4096))
        except OSError:
            pass
        socks.append(sock)
        if len(socks) > 100:
            socks.pop(0).close()
    for sock in socks:
        sock.close()
    answers = [b""]
    eventually(lambda: answers.append(registry_ask(path)) or answers[-1], 20)  # its budget fills again
    status = struct.unpack_from("<QIi", answers[-1])[2] if len(answers[-1]) == 24 else None
    tap.check("the registry: after packets of nonsense a stranger is refused as before",
              differs(status is not None and status < 0, True))


def http_say(port, data):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            return sock.recv(4096)
        except OSError:
            return b""


def http_attacks(tap, port, counts, most_files):
    says = [b"\0" * 1000, b"GET /metrics HTTP/9.9\r\n\r\n", b"GET " + b"x" * 100000 + b" HTTP/1.1\r\n\r\n",
            b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n",
            b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 20000 + b"\r\n", os.urandom(3000)]
    answers = [http_say(port, data).split(b"\r\n")[0] for data in says]
    tap.check("the metrics' port: nonsense is refused", [
        str(answer) for answer in answers if b" 200 " in answer])
    for attempt in range(counts.requests):
        # Asks, and is gone before the answer.
        with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
            sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * (1 + attempt % 5))
    socks = []
    for _ in range(min(counts.idle, most_files - 200)):
        try:
            socks.append(socket.create_connection(("127.0.0.1", port), timeout=10))
        except OSError:
            break
    tap.check(f"… among {len(socks)} idle connections a scrape is accepted",
              differs(eventually(lambda: serves(port), 30), True))
    for sock in socks:
        sock.close()


def serves(port):
    try:
        return get(port, "/metrics")[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def main(bin_dir, descriptors, how):
    tap = Tap()
    m = Messages(descriptors)
    counts = Counts(how == "soak")
    most_files = raise_files(counts.idle + 1000)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "plugins").mkdir()
        kubelet = FakeKubelet(m, folder / "plugins")
        kubelet.start()
        port = free_port()
        cluster = FakeCluster()
        cluster.write_config(folder / "config")
        process = subprocess.Popen(
            [f"{bin_dir}/vgpu", "run", "--sim=a100-40gb:8", "--", f"{bin_dir}/vgpu-node",
             f"--device-plugin-path={name}/plugins", f"--state-dir={name}/state", f"--run-dir={name}/run",
             "--node-name=n1", f"--kubeconfig={name}/config", f"--metrics-listen=127.0.0.1:{port}"],
            stderr=subprocess.DEVNULL)
        atexit.register(process.kill)
        path = f"{name}/plugins/vgpu-nvidia.com-vgpu.sock"
        eventually(lambda: RESOURCE in kubelet.endpoints and is_up(port), 20)
        own = f"{name}/run/node.sock"
        get(port, "/metrics")
        while_idle = open_files(process.pid)
        for each in (path, own):  # what it takes once
            garbage(each, 60)
            resets(each, 1000)
            for sock in idle(each, 200):
                sock.close()
        eventually(lambda: open_files(process.pid) <= while_idle, 20)
        before, files = rss_kb(process.pid), open_files(process.pid)
        socket_attacks(tap, path, "a plugin's", counts, most_files, lambda at: still_serves(m, at), "kubelet")
        socket_attacks(tap, own, "the node's", counts, most_files, lambda at: node_answers(m, at), "vgpu-runtime")
        registry_attacks(tap, next((folder / "run").glob("registry/*")).as_posix(), counts)
        http_attacks(tap, port, counts, most_files)
        eventually(lambda: open_files(process.pid) <= files, 20)
        after, files_after = rss_kb(process.pid), open_files(process.pid)
        print(f"# VmRSS {before} kB before, {after} kB after; {files} files open, then {files_after}; "
              f"{counts.garbage} connections with garbage, {counts.resets * counts.reset_rounds} resets, "
              f"{min(counts.idle, most_files - 200)} idle connections")
        if how != "sanitized":  # a sanitizer keeps what is freed
            tap.check("memory is flat", [] if after < before + 1500 else [f"{before} kB, now {after} kB"])
        tap.check("no descriptor is left", [] if files_after <= files else [f"{files}, now {files_after}"])
        end = kubelet.endpoints[RESOURCE]
        tap.check("kubelet is still served, on the stream of before", differs(
            (end.status, len(end.allocate(["vgpu-0"]).container_responses)), (None, 1)))
        process.send_signal(signal.SIGTERM)
        tap.check("it ends in order", differs(process.wait(20), 0))
        kubelet.stop()
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
