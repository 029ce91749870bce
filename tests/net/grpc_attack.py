# SPDX-License-Identifier: Apache-2.0
"""grpc_attack PEER DESCRIPTORS measured|sanitized: what a hostile client may cost: nothing that stays."""

import os
import random
import resource
import socket
import struct
import sys
import time

import grpc
import h2.config
import h2.connection
import h2.errors
import h2.exceptions

from peer import Messages, Program, Tap, differs, socket_path

PLUGIN = "/v1beta1.DevicePlugin/"
HEAD = [(":method", "POST"), (":scheme", "http"), (":authority", "localhost"),
        ("content-type", "application/grpc"), ("te", "trailers")]


def connect(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(10)
    sock.connect(path)
    return sock


def http2(path):
    sock = connect(path)
    conn = h2.connection.H2Connection(h2.config.H2Configuration(
        header_encoding="utf-8", validate_outbound_headers=False, normalize_outbound_headers=False))
    conn.initiate_connection()
    sock.sendall(conn.data_to_send())
    return sock, conn


def still_serves(m, path):
    """What GetDevicePluginOptions says; no answer is an error."""
    with grpc.insecure_channel(f"unix:{path}") as channel:
        call = channel.unary_unary(PLUGIN + "GetDevicePluginOptions",
                                   request_serializer=lambda r: r.SerializeToString(),
                                   response_deserializer=m.v1beta1__DevicePluginOptions.FromString)
        # A full backlog makes the first try fail: clients of gRPC try again, if asked to.
        return call(m.v1beta1__Empty(), timeout=30, wait_for_ready=True).pre_start_required


def garbage(path, attempts=300):
    """Random bytes, bare and after a good beginning."""
    random.seed(6)
    for attempt in range(attempts):
        sock, conn = http2(path)
        if attempt % 3 == 0:
            sock.close()
            sock = connect(path)
        try:
            if attempt % 3 == 2:
                body = bytes(random.randrange(256) for _ in range(random.randrange(200)))
                conn.send_headers(1, HEAD + [(":path", PLUGIN + "Allocate")])
                conn.send_data(1, body, end_stream=True)
                sock.sendall(conn.data_to_send())
                sock.recv(4096)
            else:
                sock.sendall(random.randbytes(random.randrange(1, 2000)))
        except OSError:
            pass
        sock.close()


def resets(path, count):
    """Opens streams only to reset them; how many until we were thrown out."""
    sock, conn = http2(path)
    sent = 0
    try:
        for _ in range(count // 50):
            for _ in range(50):
                stream = conn.get_next_available_stream_id()
                conn.send_headers(stream, HEAD + [(":path", PLUGIN + "Allocate")])
                conn.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
                sent += 1
            sock.sendall(conn.data_to_send())
    except OSError:
        pass
    sock.close()
    return sent


def oversized(path):
    """A frame that announces 4 GiB, a head without end, a body without end: each is cut off."""
    complaints = []
    sock, conn = http2(path)
    conn.send_headers(1, HEAD + [(":path", PLUGIN + "Allocate")])
    conn.send_data(1, b"\0" + struct.pack(">I", 0xffffffff) + b"x" * 100, end_stream=True)
    sock.sendall(conn.data_to_send())
    sock.close()
    sock, conn = http2(path)
    try:
        conn.send_headers(1, HEAD + [(":path", "/" + "x" * 15000)] + [("a", "b" * 2000)] * 6)
        sock.sendall(conn.data_to_send())
        sock.recv(4096)
    except OSError:
        pass
    sock.close()
    sock, conn = http2(path)
    conn.send_headers(1, HEAD + [(":path", PLUGIN + "Allocate")])
    sent = 0
    try:
        while sent < 64 << 20:
            window = min(conn.local_flow_control_window(1), 16384)
            if window:
                conn.send_data(1, b"\0" * window)
                sent += window
                sock.sendall(conn.data_to_send())
                continue
            conn.receive_data(sock.recv(65536))
    except (OSError, h2.exceptions.H2Error):
        pass
    sock.close()
    if sent > 8 << 20:
        complaints.append(f"took {sent} bytes of a request")
    return complaints


def slow(path):
    """A request that never ends is given up; seconds it took."""
    sock, conn = http2(path)
    conn.send_headers(1, HEAD + [(":path", PLUGIN + "Allocate")])
    sock.sendall(conn.data_to_send())
    began = time.monotonic()
    try:
        while time.monotonic() - began < 10:
            events = conn.receive_data(sock.recv(65536))
            sock.sendall(conn.data_to_send())
            if any(type(e).__name__ in ("StreamEnded", "StreamReset") for e in events):
                break
    except OSError:
        pass
    sock.close()
    return time.monotonic() - began


def idle(path, count):
    """Connections that say nothing, or only hello."""
    socks = []
    for i in range(count):
        try:
            socks.append(http2(path)[0] if i % 2 else connect(path))
        except OSError:
            break
    return socks


def main(peer, descriptors, memory):
    tap = Tap()
    m = Messages(descriptors)
    path = socket_path()
    program = Program(peer, "serve", f"unix:{path}")
    still_serves(m, path)
    resets(path, 1000)
    idle_first = idle(path, 300)
    before = program.rss_kb()
    for sock in idle_first:
        sock.close()

    garbage(path)
    tap.check("garbage is refused and the server serves on",
              differs(still_serves(m, path), True))
    sent = [resets(path, 20000) for _ in range(5)]
    tap.check("20 000 stream resets are cut off",
              [] if max(sent) < 10000 else [f"sent {sent} before it was closed"])
    tap.check("… and the server serves on", differs(still_serves(m, path), True))
    tap.check("what is too large is cut off", oversized(path))
    took = slow(path)
    tap.check("a request that never ends is closed",
              [] if took < 8 else [f"after {took:.1f} s"])

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    socks = idle(path, min(10000, most - 200))
    tap.check("among thousands of idle connections a new one is accepted",
              differs(still_serves(m, path), True))
    print(f"# idle connections tried: {len(socks)}, VmRSS {before} kB before, "
          f"{program.rss_kb()} kB with them, resets until closed {sent}")
    for sock in socks:
        sock.close()
    after = program.rss_kb()
    if memory == "measured":  # a sanitizer keeps what is freed
        tap.check("memory is flat",
                  [] if after < before + 3000 else [f"{before} kB, now {after} kB"])
    status, _ = program.stop()
    tap.check("… and it ends in order", differs(status, 0))
    if os.path.exists(path):
        os.unlink(path)
    os.rmdir(os.path.dirname(path))
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
