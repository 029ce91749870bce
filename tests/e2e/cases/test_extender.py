# SPDX-License-Identifier: Apache-2.0
"""vgpu-scheduler among clients that mean no good, or nothing at all."""

import contextlib
import http.client
import json
import os
import socket
import ssl

from fixtures import case, expect, pod
from pki import CA
from daemons import KUBECONFIG, daemon
from placing import nodes

PORT = 9517
HALF = b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{\"Pod\":"
GARBAGE = [b"", b"{", b"[]", b"7", b"\"Pod\"", b"\x00" * 100, b"{\"Pod\":" * 5000, b"[" * 100000,
           b"{\"Pod\":{},\"NodeNames\":[\"a\",]}", b"{\"Pod\":null,\"NodeNames\":null}",
           b"{\"Pod\":{\"spec\":{\"containers\":7}},\"NodeNames\":[1,{},null]}",
           b"{\"PodName\":7,\"Node\":[]}", b"{\"Pods\":[[],7,{}],\"Nodes\":[{}]}",
           b"{\"Pod\":{},\"NodeNameToMetaVictims\":[1]}", b"{\"Pod\":{\"\xff\xfe\":1},\"NodeNames\":[]}"]
PATHS = ("/filter", "/prioritize", "/bind", "/preempt", "/simulate", "/nowhere", "/%00", "/filter?" + "x" * 5000)


def context():
    return ssl.create_default_context(cafile=CA)


def post(path, body):
    connection = http.client.HTTPSConnection("127.0.0.1", PORT, context=context(), timeout=15)
    with contextlib.closing(connection):
        connection.request("POST", path, body)
        answer = connection.getresponse()
        return answer.status, answer.read()


def memory_kib(process):
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def works(cluster):
    status, text = post("/filter", json.dumps({"Pod": pod("asks", limits={"nvidia.com/gpumem": "100"}),
                                               "NodeNames": [f"{cluster.namespace}-0"]}))
    return status == 200 and json.loads(text)["NodeNames"] == [f"{cluster.namespace}-0"]


def garbage(round_number):
    for body in GARBAGE:
        path = PATHS[(round_number + len(body)) % len(PATHS)]
        with contextlib.suppress(ConnectionError, ssl.SSLError, http.client.HTTPException):
            status, _ = post(path, body)
            expect(status in (200, 400, 404, 413, 414, 431, 503), (path, body[:40], status))


def no_tls():
    """What is no TLS at all, and what stops in the middle of it."""
    for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"\xab" * 3000, os.urandom(2000), b""):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", PORT), timeout=5) as raw:
            raw.sendall(noise)
            raw.shutdown(socket.SHUT_WR)
            raw.recv(100)


@case("garbage in TLS, HTTP and JSON, bodies that are too long and clients that do not go on are refused; memory "
      "stays flat", profile="light")
def withstands(cluster):
    crt, key = cluster.certificate("extender")
    with nodes(cluster, 1), daemon("vgpu-scheduler", "--listen", f"127.0.0.1:{PORT}", "--kubeconfig", KUBECONFIG,
                                   "--certificate", crt, "--key", key) as process:
        cluster.wait("it knows the node", lambda: tried(cluster), 30)
        for number in range(8):                 # its pools are warm then
            garbage(number)
        before = memory_kib(process)
        for number in range(40):
            garbage(number)
            no_tls()
        with contextlib.suppress(OSError):      # it may hang up before all is sent
            status, _ = post("/filter", b" " * (9 << 20))
            expect(status == 413, status)
        with contextlib.ExitStack() as stack:
            for _ in range(150):                # more than it serves at once, none of them ever finished
                raw = stack.enter_context(socket.create_connection(("127.0.0.1", PORT), timeout=5))
                with contextlib.suppress(OSError):
                    slow = stack.enter_context(context().wrap_socket(raw, server_hostname="localhost"))
                    slow.sendall(HALF)
            expect(works(cluster), "slow clients keep others out")
        after = memory_kib(process)
        expect(after < before + 8 * 1024, f"{before} KiB before, {after} KiB after")
        expect(process.poll() is None and works(cluster), "it does not answer any more")


def tried(cluster):
    try:
        return works(cluster)
    except OSError:
        return False
