# SPDX-License-Identifier: Apache-2.0
"""fake_api: an API server that misbehaves on demand, over HTTP/2. Only for faults: what a real one does
is tried with a real one."""

import json
import queue
import socket
import threading
import time

import h2.config
import h2.connection
import h2.events
import h2.exceptions

GONE = (OSError, h2.exceptions.ProtocolError)       # whoever asked has ended, or wants no answer any more


class Request:
    """What was asked, and how to answer it."""

    def __init__(self, conn, stream, headers):
        self.conn = conn
        self.stream = stream
        self.fields = dict(headers)
        self.method = self.fields[":method"]
        self.path, _, self.query = self.fields[":path"].partition("?")
        self.body = b""

    def is_watch(self):
        return "watch=1" in self.query

    def parameter(self, name):
        for part in self.query.split("&"):
            key, _, value = part.partition("=")
            if key == name:
                return value
        return None

    def head(self, status=200, **fields):
        with self.conn.lock:
            self.conn.h2.send_headers(self.stream, [
                (":status", str(status)), ("content-type", "application/json"),
                *((k.replace("_", "-"), v) for k, v in fields.items())])
            self.conn.flush()

    def data(self, data, end=False):
        if isinstance(data, dict):
            data = json.dumps(data).encode() + b"\n"
        at = 0
        while at < len(data):
            try:
                with self.conn.lock:
                    window = min(self.conn.h2.local_flow_control_window(self.stream), 16000)
                    part = data[at:at + window]
                    at += len(part)
                    if part:
                        self.conn.h2.send_data(self.stream, part,
                                               end_stream=end and at == len(data))
                        self.conn.flush()
            except h2.exceptions.ProtocolError:
                return  # the client wants no more
            if not part:
                time.sleep(0.005)

    def reply(self, status, body, **fields):
        self.head(status, **fields)
        self.data(body, end=True)

    def end(self):
        with self.conn.lock:
            self.conn.h2.end_stream(self.stream)
            self.conn.flush()

    def reset(self):
        with self.conn.lock:
            self.conn.h2.reset_stream(self.stream)
            self.conn.flush()


class Connection(threading.Thread):
    def __init__(self, server, sock):
        super().__init__(daemon=True)
        self.server = server
        self.sock = sock
        self.lock = threading.RLock()
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=False, header_encoding="utf-8"))
        self.requests = {}
        self.is_deaf = False

    def flush(self):
        data = self.h2.data_to_send()
        if data and not self.is_deaf:
            self.sock.sendall(data)

    def run(self):
        with self.lock:
            self.h2.initiate_connection()
            self.flush()
        try:
            while data := self.sock.recv(65536):
                if self.is_deaf:
                    continue
                with self.lock:
                    events = self.h2.receive_data(data)
                    self.flush()
                for event in events:
                    self.take(event)
        except OSError:
            pass

    def take(self, event):
        if isinstance(event, h2.events.RequestReceived):
            self.requests[event.stream_id] = Request(self, event.stream_id, event.headers)
        elif isinstance(event, h2.events.DataReceived):
            self.requests[event.stream_id].body += event.data
            with self.lock:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                self.flush()
        elif isinstance(event, h2.events.StreamEnded):
            self.server.requests.put(self.requests.pop(event.stream_id))


CONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: k, user: u{namespace}}}}}]
clusters: [{{name: k, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{{user}}}}}]
"""


class FakeApi:
    """Requests are taken from a queue by the test, which answers them as it likes."""

    def __init__(self):
        self.requests = queue.Queue()
        self.connections = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def write_config(self, path, user="token: t", namespace=None):
        """A kubeconfig that leads here."""
        where = f", namespace: {namespace}" if namespace else ""
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(port=self.port, user=user, namespace=where))

    def accept(self):
        while True:
            sock, _ = self.listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.append(Connection(self, sock))
            self.connections[-1].start()

    def next(self, timeout=10):
        return self.requests.get(timeout=timeout)

    def none(self, seconds):
        """Does nothing come for so long?"""
        try:
            self.requests.get(timeout=seconds)
            return False
        except queue.Empty:
            return True


def thing(name, version, uid=None, **more):
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "d", "uid": uid or f"u-{name}",
                                        "resourceVersion": str(version)}, **more}


def event(kind, item):
    return {"type": kind, "object": item}


def page(version, items, more=None):
    metadata = {"resourceVersion": str(version)}
    if more:
        metadata["continue"] = more
    return {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items}


def status(code, reason, message):
    return {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code}
