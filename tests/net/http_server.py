# SPDX-License-Identifier: Apache-2.0
"""http_server PEER measured|sanitized: our HTTP server, asked by curl and h2load, over TLS and without."""

import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from peer import Program, Tap, differs, eventually


def curl(*args, stdin=None):
    done = subprocess.run(["curl", "-sS", "-m", "20", *args], input=stdin, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode(errors="replace")


def raw(port, data, wait=3.0):
    """What comes back for these bytes until the server closes, or nothing comes for a while."""
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.settimeout(wait)
        got = b""
        try:
            sock.sendall(data)
            while True:
                part = sock.recv(65536)
                if not part:
                    return got, True
                got += part
        except TimeoutError:
            return got, False
        except ConnectionError:
            return got, True


def plain(tap, port):
    url = f"http://127.0.0.1:{port}"
    tap.check("HTTP/1.1 is answered", differs(
        curl(f"{url}/a/b?timeout=10s", "-d", "body"), "POST /a/b h1 body"))
    tap.check("HTTP/2 without TLS too", differs(
        curl(f"{url}/a", "--http2-prior-knowledge", "-d", "x"), "POST /a h2 x"))
    tap.check("a connection is kept", differs(
        curl(f"{url}/1", f"{url}/2", "-w", " %{num_connects};"),
        "GET /1 h1  1;GET /2 h1  0;"))
    tap.check("an answer may come late", differs(
        [curl(f"{url}/late", f"--http{v}") for v in ("1.1", "2-prior-knowledge")],
        ["late", "late"]))
    tap.check("a long answer comes whole", differs(
        [curl(f"{url}/big", f"--http{v}", "-o", "/dev/null", "-w", "%{size_download}")
         for v in ("1.1", "2-prior-knowledge")], ["1048576", "1048576"]))
    tap.check("HEAD has no body", differs(
        curl("-I", f"{url}/x").split("\r\n")[0], "HTTP/1.1 200 "))
    tap.check("a chunked body is put together", differs(
        curl(f"{url}/c", "-H", "Transfer-Encoding: chunked", "-d", "a" * 5000),
        "POST /c h1 " + "a" * 5000))
    tap.check("who waits for 100 Continue gets it", differs(
        len(curl(f"{url}/c", "-H", "Expect: 100-continue", "-d", "@-", stdin=b"b" * 900000)),
        len("POST /c h1 ") + 900000))
    tap.check("a body over the limit is refused", differs(
        curl(f"{url}/c", "-H", "Expect:", "-d", "@-", "-o", "/dev/null", "-w", "%{http_code}",
             stdin=b"b" * 3000000)[:3], "413"))
    with tempfile.NamedTemporaryFile() as body:  # curl 7 takes an early answer for an error
        body.truncate(3000000)
        done = subprocess.run(["nghttp", "-v", "-n", "-d", body.name, f"{url}/c"], check=False,
                              stdout=subprocess.PIPE, text=True)
        tap.check("… over HTTP/2 too", differs(":status: 413" in done.stdout, True))


def rude(tap, port):
    def status(data, wait=3.0):
        got, is_closed = raw(port, data, wait)
        return got.split(b"\r\n")[0].decode(), is_closed

    tap.check("garbage is 400, and the end",
              differs(status(b"\x16\x03\x01 nonsense\r\n\r\n"), ("HTTP/1.1 400 ", True)))
    tap.check("two lengths are 400, and the end", differs(
        status(b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
        ("HTTP/1.1 400 ", True)))
    tap.check("a head without end is 431, and the end",
              differs(status(b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 6000), ("HTTP/1.1 431 ", True)))
    tap.check("a body that does not come is 408, and the end", differs(
        status(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nab", 10), ("HTTP/1.1 408 ", True)))
    tap.check("a head that does not come is the end",
              differs(status(b"GET / HT", 10), ("", True)))
    tap.check("silence is the end", differs(status(b"", 10), ("", True)))
    tap.check("requests sent ahead are answered in order", differs(
        raw(port, b"GET /1 HTTP/1.1\r\n\r\nGET /late HTTP/1.1\r\n\r\n"
                  b"GET /3 HTTP/1.1\r\nConnection: close\r\n\r\n")[0].count(b"HTTP/1.1 200"), 3))


def load(tap, port):
    done = subprocess.run(["h2load", "-n", "20000", "-c", "20", "-m", "20",
                           f"http://127.0.0.1:{port}/x"], check=False, stdout=subprocess.PIPE,
                          text=True)
    lines = [l for l in done.stdout.splitlines() if l.startswith(("requests:", "finished in"))]
    print("# " + "; ".join(lines))
    tap.check("20 000 requests on 20 connections succeed",
              [] if "20000 succeeded" in done.stdout else done.stdout.splitlines())


def own(tap, peer):
    with tempfile.TemporaryDirectory() as folder:
        program = Program(peer, "own", "127.0.0.1:0", folder, "1")
        port = int(program.said.split()[1])
        ca = f"{folder}/ca.pem"
        answers = [curl(f"https://{host}:{port}/x", "--cacert", ca, version, "--resolve",
                        f"vgpu.test.svc:{port}:127.0.0.1", "--resolve", f"localhost:{port}:127.0.0.1")
                   for host in ("localhost", "127.0.0.1", "vgpu.test.svc")
                   for version in ("--http1.1", "--http2")]
        tap.check("our own certificate is believed by name and number, HTTP/1.1 and HTTP/2",
                  differs(answers, ["GET /x h1 ", "GET /x h2 "] * 3))
        tap.check("… and not for another name", differs(
            "no alternative certificate subject name" in
            curl(f"https://other:{port}/", "--cacert", ca, "--resolve", f"other:{port}:127.0.0.1"),
            True))
        tap.check("… nor without the authority",
                  differs("certificate" in curl(f"https://127.0.0.1:{port}/"), True))
        tap.check("TLS 1.1 is refused", differs(
            curl(f"https://127.0.0.1:{port}/", "--cacert", ca, "--tls-max", "1.1")[:4], "curl"))
        got, is_closed = raw(port, b"GET / HTTP/1.1\r\n\r\n")
        tap.check("plain HTTP on a TLS port ends", differs((b"HTTP" in got, is_closed), (False, True)))
        got, is_closed = raw(port, b"", 10)
        tap.check("a handshake that does not come is the end", differs(is_closed, True))
        tap.check("it ends in order", differs(program.stop()[0], 0))


def presented(port):
    """The certificate that a new connection is shown."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port)) as sock:
        with context.wrap_socket(sock) as tls:
            return tls.getpeercert(binary_form=True)


def make_certificate(folder, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{folder}/{name}.key", "-out",
                    f"{folder}/{name}.crt", "-days", "2", "-subj", f"/CN={name}"], check=True,
                   stderr=subprocess.DEVNULL)


def files(tap, peer):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first", "second"):
            make_certificate(folder, name)
        for part in ("crt", "key"):
            shutil.copy(f"{folder}/first.{part}", f"{folder}/tls.{part}")
        program = Program(peer, "files", "127.0.0.1:0", f"{folder}/tls.crt", f"{folder}/tls.key")
        port = int(program.said.split()[1])
        first = presented(port)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        old = context.wrap_socket(socket.create_connection(("127.0.0.1", port)))
        pathlib.Path(f"{folder}/tls.crt").write_text("nonsense", encoding="utf-8")
        time.sleep(0.3)
        tap.check("a broken file leaves the old certificate in place",
                  differs(presented(port) == first, True))
        for part in ("crt", "key"):
            shutil.copy(f"{folder}/second.{part}", f"{folder}/tls.{part}")
        tap.check("a new file is used without a restart",
                  differs(eventually(lambda: presented(port) != first), True))
        old.sendall(b"GET /still HTTP/1.1\r\nConnection: close\r\n\r\n")
        answer = b""
        while part := old.recv(4096):
            answer += part
        old.close()
        tap.check("… and what is connected goes on", differs(b"/still" in answer, True))
        status, said = program.stop()
        tap.check("both changes are reported", differs(
            (status, any("cannot" in l for l in said.splitlines()), said.splitlines()[-1]),
            (0, True, "changed")))


def main(peer, memory):
    tap = Tap()
    program = Program(peer, "plain", "127.0.0.1:0")
    port = int(program.said.split()[1])
    plain(tap, port)
    rude(tap, port)
    before = program.rss_kb()
    load(tap, port)
    print(f"# VmRSS {before} kB, {program.rss_kb()} kB after the load")
    if memory == "measured":
        tap.check("memory is flat", [] if program.rss_kb() < before + 2000 else ["it grew"])
    tap.check("it ends in order", differs(program.stop()[0], 0))
    own(tap, peer)
    files(tap, peer)
    tap.done()


main(*sys.argv[1:])
