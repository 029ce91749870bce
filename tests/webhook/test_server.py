#!/usr/bin/env python3
"""vgpu-webhook as the API server meets it: test_server.py WEBHOOK."""

import base64
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "net")]
import unit_tap  # noqa: E402
from fake_api import FakeApi, status  # noqa: E402

WEBHOOK = sys.argv[1]
CONFIG = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: k, user: u, namespace: vgpu-system}}}}]
clusters: [{{name: k, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
"""


class Store:
    """As much of an API server as a webhook asks for: one Secret, two configurations."""

    def __init__(self):
        self.api = FakeApi()
        self.secret = None
        self.writes = []
        self.configurations = {
            kind: {"metadata": {"name": "vgpu-webhook"}, "webhooks": [{"name": "a", "clientConfig": {}},
                                                                     {"name": "b", "clientConfig": {}}]}
            for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")}
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                request = self.api.next(timeout=60)
            except Exception:  # noqa: BLE001  nobody asks any more
                return
            request.reply(*self.answer(request))

    def answer(self, request):
        kind, name = request.path.split("/")[-2:]
        if request.method == "POST":
            self.writes.append(request.path)
            self.secret = self.secret or json.loads(request.body)
            return 201, self.secret
        if kind == "secrets":
            return (200, self.secret) if self.secret else (404, status(404, "NotFound", "no such Secret"))
        if request.method == "PUT":
            self.writes.append(request.path)
            self.configurations[kind] = json.loads(request.body)
        return 200, self.configurations[kind]


class Webhook:
    def __init__(self, case, *words):
        self.process = subprocess.Popen([WEBHOOK, "--listen", "127.0.0.1:0", *words], text=True,
                                        stderr=subprocess.PIPE)
        case.addCleanup(self.end)

    def until(self, pattern):
        for line in self.process.stderr:
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"ended before it said '{pattern}'")

    def end(self):
        self.process.kill()
        self.process.communicate()


class Server(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, store, *words):
        path = os.path.join(self.folder, "config")
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(port=store.api.port))
        webhook = Webhook(self, "--kubeconfig", path, *words)
        webhook.port = int(webhook.until(r"serves on port (\d+)")[1])
        webhook.until("the API server knows")
        return webhook

    def ask(self, webhook, store, method, path, body=None, name="127.0.0.1"):
        authority = base64.b64decode(store.secret["data"]["ca.crt"]).decode()
        context = ssl.create_default_context(cadata=authority)
        connection = http.client.HTTPSConnection("127.0.0.1", webhook.port, context=context, timeout=10)
        if name != "127.0.0.1":
            connection._tunnel_host = None
            connection.sock = context.wrap_socket(__import__("socket").create_connection(
                ("127.0.0.1", webhook.port), timeout=10), server_hostname=name)
        connection.request(method, path, body)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def review(self, limits):
        pod = {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {"limits": limits}}]}}
        return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "kind": {"kind": "Pod"}, "operation": "CREATE", "namespace": "n", "object": pod}})

    def test_makes_itself_known_and_answers(self):
        store = Store()
        webhook = self.start(store)
        for configuration in store.configurations.values():
            for hook in configuration["webhooks"]:
                self.assertEqual(hook["clientConfig"]["caBundle"], store.secret["data"]["ca.crt"])
        self.assertEqual(len(base64.b64decode(store.secret["data"]["seal.key"])), 32)
        self.assertEqual(self.ask(webhook, store, "GET", "/readyz")[0], 200)
        self.assertEqual(self.ask(webhook, store, "GET", "/healthz")[0], 200)
        code, text = self.ask(webhook, store, "POST", "/mutate?timeout=10s",
                              self.review({"nvidia.com/gpumem": "200"}),
                              name="vgpu-webhook.vgpu-system.svc")
        self.assertEqual(code, 200)
        self.assertIn("patch", json.loads(text)["response"])
        code, text = self.ask(webhook, store, "POST", "/validate",
                              self.review({"nvidia.com/gpucores": "200"}))
        self.assertFalse(json.loads(text)["response"]["allowed"])

    def test_replicas_share_one_authority_and_write_nothing_twice(self):
        store = Store()
        one = self.start(store)
        writes = list(store.writes)
        self.assertEqual(len(writes), 3)
        two = self.start(store)
        self.assertEqual(store.writes, writes)
        for webhook in (one, two):
            self.assertEqual(self.ask(webhook, store, "GET", "/readyz")[0], 200)

    def test_bad_requests(self):
        store = Store()
        webhook = self.start(store)
        self.assertEqual(self.ask(webhook, store, "POST", "/mutate", "{")[0], 400)
        self.assertEqual(self.ask(webhook, store, "GET", "/mutate")[0], 405)
        self.assertEqual(self.ask(webhook, store, "GET", "/other")[0], 404)
        self.assertEqual(self.ask(webhook, store, "POST", "/mutate", " " * (9 << 20))[0], 413)
        self.assertEqual(self.ask(webhook, store, "GET", "/healthz")[0], 200)

    def test_ends_in_order(self):
        store = Store()
        webhook = self.start(store)
        webhook.process.terminate()
        self.assertEqual(webhook.process.wait(timeout=10), 0)

    def test_words_that_are_wrong(self):
        for words, sentence in ((["--lisen"], "did you mean '--listen'?"), (["--key", "x"], "belong together"),
                                (["now"], "takes options only"),
                                (["--certificate", "/none", "--key", "/none"], "/none")):
            done = subprocess.run([WEBHOOK, *words], text=True, capture_output=True, check=False, timeout=10)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(sentence, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unit_tap.run("__main__", sys.argv[2:])
