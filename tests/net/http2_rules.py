# SPDX-License-Identifier: Apache-2.0
"""http2_rules PEER: what our HTTP/2 server answers to frames that may not come, byte by byte."""

import socket
import sys

import hpack
from hyperframe import frame as frames

from peer import Program, Tap, differs

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
STREAM_CLOSED, FRAME_SIZE_ERROR = 5, 6


class Client:
    """Writes frames as they are told, and reads what comes."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.encoder = hpack.Encoder()
        self.bytes = b""
        self.send(PREFACE, frames.SettingsFrame(0))

    def send(self, *parts):
        self.sock.sendall(b"".join(part if isinstance(part, bytes) else part.serialize() for part in parts))

    def headers(self, stream, path="/a", method="GET", is_whole=True):
        block = self.encoder.encode([(":method", method), (":scheme", "http"), (":path", path), (":authority", "a")])
        return frames.HeadersFrame(stream, data=block, flags=["END_HEADERS"] + ["END_STREAM"] * is_whole)

    def next(self):
        """None: the server closed the connection."""
        while True:
            if len(self.bytes) >= 9:
                found, length = frames.Frame.parse_frame_header(memoryview(self.bytes[:9]))
                if len(self.bytes) >= 9 + length:
                    found.parse_body(memoryview(self.bytes[9:9 + length]))
                    self.bytes = self.bytes[9 + length:]
                    return found
            try:
                part = self.sock.recv(65536)
            except ConnectionError:
                part = b""
            if not part:
                return None
            self.bytes += part

    def until(self, claim):
        """The first frame of which it holds; None: the end came before."""
        while (found := self.next()) is not None and not claim(found):
            pass
        return found

    def answered(self, stream):
        found = self.until(lambda f: f.stream_id == stream and "END_STREAM" in f.flags)
        return found is not None

    def end(self):
        """What the server says before it closes the connection: the error of its GOAWAY. Pings keep it from closing
        an idle one; "open": it closes none."""
        code = None
        self.sock.settimeout(0.5)
        for _ in range(20):
            try:
                found = self.next()
            except TimeoutError:
                self.keep()
                continue
            if found is None:
                return code
            if isinstance(found, frames.GoAwayFrame):
                code = found.error_code
        return "open"

    def keep(self):
        try:
            self.send(frames.PingFrame(0))
        except OSError:
            pass                # it is closed


def closed(tap, port):
    """Streams that are over."""
    def after(late):
        client = Client(port)
        client.send(client.headers(1))
        client.answered(1)
        client.send(late(client))
        return client.end()

    data = frames.DataFrame(1, data=b"late", flags=["END_STREAM"])
    tap.check("DATA on a stream that is over ends the connection", differs(after(lambda _: data), STREAM_CLOSED))
    tap.check("… HEADERS, too", differs(after(lambda client: client.headers(1)), STREAM_CLOSED))


def withdrawn(tap, port):
    client = Client(port)
    client.send(client.headers(1, is_whole=False), frames.RstStreamFrame(1, error_code=8))
    client.send(frames.DataFrame(1, data=b"late", flags=["END_STREAM"]))
    tap.check("DATA on a stream that the client reset is an error of that stream, or the end", differs(
        (found := client.until(lambda f: isinstance(f, (frames.RstStreamFrame, frames.GoAwayFrame)))) is not None and
        found.error_code, STREAM_CLOSED))


def broken(tap, port):
    client = Client(port)
    client.send(b"\0\0\6" + b"\6\0" + b"\0\0\0\0" + b"\0" * 6)
    tap.check("after an error of the connection the server says so and closes it", differs(
        client.end(), FRAME_SIZE_ERROR))


def goodbye(tap, port):
    client = Client(port)
    client.send(frames.GoAwayFrame(0, last_stream_id=0, error_code=0))
    tap.check("a client that says goodbye is let go", differs(client.end(), None))
    client = Client(port)
    client.send(client.headers(1, "/late"), frames.GoAwayFrame(0, last_stream_id=0, error_code=0))
    tap.check("… after it has its answers", differs((client.answered(1), client.end()), (True, None)))


def in_flight(tap, port):
    """What was on its way when the server had enough is nobody's fault."""
    client = Client(port)
    client.send(client.headers(1, method="POST", is_whole=False))
    refused = None
    part = frames.DataFrame(1, data=b"x" * 16384)
    client.send(*[part] * 3)
    client.sock.settimeout(0.2)
    for _ in range(200):
        try:
            found = client.next()
        except TimeoutError:
            client.send(part)
            continue
        if found is None or isinstance(found, frames.RstStreamFrame):
            refused = found
            break
        if isinstance(found, frames.WindowUpdateFrame) and found.stream_id == 0:
            client.send(part, part)
    client.sock.settimeout(10)
    client.send(part, client.headers(3))
    tap.check("frames on their way when a body was refused do not end the connection", differs(
        (refused is not None, client.answered(3)), (True, True)))


def main(program):
    tap = Tap()
    server = Program(program, "plain", "127.0.0.1:0")
    port = int(server.said.split()[1])
    for case in (closed, withdrawn, broken, goodbye, in_flight):
        case(tap, port)
    tap.check("it ends in order", differs(server.stop()[0], 0))
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
