#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu-webhook as the API server meets it: test_server.py WEBHOOK."""

import base64
import http.client
import json
import os
import random
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "net")]
import unit_tap  # noqa: E402
from fake_reviews import ask  # noqa: E402
from peer import eventually  # noqa: E402
from prometheus import Page  # noqa: E402

from fake_store import Store  # noqa: E402

WEBHOOK = sys.argv[1]
IS_MEASURED = sys.argv[2] == "measured"  # a sanitizer keeps what is freed


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
        store.api.write_config(path, namespace="vgpu-system")
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
        self.assertEqual(self.too_large(webhook), 413)
        self.assertEqual(self.ask(webhook, store, "GET", "/healthz")[0], 200)

    def too_large(self, webhook):
        """The answer to a body over 8 MiB, which comes before all of it is sent."""
        connection = http.client.HTTPSConnection("127.0.0.1", webhook.port, timeout=10,
                                                 context=ssl._create_unverified_context())
        connection.putrequest("POST", "/mutate")
        connection.putheader("Content-Length", str((8 << 20) + 1))
        connection.endheaders()
        code = connection.getresponse().status
        try:
            connection.send(b" " * (1 << 20))
        except OSError:
            pass            # it does not listen any more
        connection.close()
        return code

    def rss_kb(self, webhook):
        with open(f"/proc/{webhook.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def bad_bodies(self):
        """Bodies that are no AdmissionReview, and some that are one of nonsense."""
        chance = random.Random(7)
        whole = self.review({"nvidia.com/gpumem": "200"})
        yield from ("", "{", "[" * 100000, "null", "\0" * 1000, '{"a":' * 5000, "\ud800", whole[:-1])
        for _ in range(200):
            cut = bytearray(whole, "utf-8")
            for _ in range(chance.randrange(1, 9)):
                cut[chance.randrange(len(cut))] = chance.randrange(256)
            yield bytes(cut)
        yield self.review({"nvidia.com/gpumem": "9" * 4000})
        yield self.review({f"nvidia.com/mig-1g.{number}gb": "1" for number in range(3000)})

    def strangers(self, webhook, count):
        """Clients that do not speak TLS, or stop in the middle of it, or of a request."""
        for number in range(count):
            peer = socket.create_connection(("127.0.0.1", webhook.port), timeout=10)
            try:
                if number == 0:
                    peer.sendall(b"\x17\x05\x05" * 1000)       # refused at once
                    while peer.recv(4096):
                        pass
                elif number % 3 == 0:
                    peer.sendall(os.urandom(3000))
                elif number % 3 == 1:
                    peer.sendall(b"\x16\x03\x01\x02\x00\x01\x00")     # a ClientHello that goes no further
                else:
                    peer.sendall(b"GET / HTTP/1.1\r\n\r\n")
            except OSError:
                pass
            finally:
                peer.close()

    def slow(self, webhook, count):
        """Connections that say half a request and hold on."""
        context = ssl._create_unverified_context()
        held = []
        for _ in range(count):
            peer = context.wrap_socket(socket.create_connection(("127.0.0.1", webhook.port), timeout=10))
            peer.sendall(b"POST /mutate HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n" + b"x" * 50000)
            held.append(peer)
        return held

    def test_whatever_comes_memory_stays(self):
        store = Store()
        webhook = self.start(store)
        good = self.review({"nvidia.com/gpumem": "200"})

        def round_of_all():
            for body in self.bad_bodies():
                self.assertIn(self.ask(webhook, store, "POST", "/mutate",
                                       body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass"))[0],
                              (200, 400))
            self.assertEqual(self.too_large(webhook), 413)
            self.strangers(webhook, 60)
            for peer in self.slow(webhook, 20):
                peer.close()
        round_of_all()
        first = self.rss_kb(webhook)
        for _ in range(2):
            round_of_all()
        if IS_MEASURED:     # of what is freed, all is given back within seconds
            self.assertTrue(eventually(lambda: self.rss_kb(webhook) - first < 1024, 60), "kB more after twice the same")
        held = self.slow(webhook, 40)       # while they hold on, others are answered
        self.assertEqual(self.ask(webhook, store, "POST", "/mutate", good)[0], 200)
        for peer in held:
            peer.close()
        self.assertIsNone(webhook.process.poll())

    def flood(self, webhook):
        """As many connections as it takes, and as much of bodies as it keeps for all of them."""
        context = ssl._create_unverified_context()
        held = []
        for number in range(200):
            try:
                peer = context.wrap_socket(socket.create_connection(("127.0.0.1", webhook.port), timeout=10))
                peer.sendall(b"POST /mutate HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n" +
                             b"x" * (150000 + 1000 * number))
                held.append(peer)
            except OSError:
                pass        # pushed out by another
        most = self.rss_kb(webhook)
        for peer in held:
            peer.close()
        return most

    def test_memory_of_a_flood_is_given_back(self):
        store = Store()
        webhook = self.start(store)
        self.ask(webhook, store, "POST", "/mutate", self.review({"nvidia.com/gpumem": "200"}))
        before = self.rss_kb(webhook)
        most = max(self.flood(webhook) for _ in range(3))
        is_back = IS_MEASURED and eventually(lambda: self.rss_kb(webhook) < before + 2048, 60)
        print(f"# VmRSS {before} kB before, {most} kB in a flood, {self.rss_kb(webhook)} kB after", flush=True)
        self.assertEqual(self.ask(webhook, store, "POST", "/mutate", self.review({}))[0], 200)
        if IS_MEASURED:
            self.assertGreater(most, before + 8192, "kB: no flood")
            self.assertTrue(is_back, self.rss_kb(webhook))

    def test_figures(self):
        store = Store()
        webhook = self.start(store)
        self.ask(webhook, store, "POST", "/mutate", self.review({"nvidia.com/gpumem": "200"}))
        self.ask(webhook, store, "POST", "/mutate", self.review({"cpu": "1"}))
        self.ask(webhook, store, "POST", "/mutate", self.review({"nvidia.com/gpucores": "200"}))
        self.ask(webhook, store, "POST", "/mutate", "{")
        text = self.ask(webhook, store, "GET", "/metrics")[1]
        for outcome in ("changed", "left", "refused", "broken"):
            self.assertIn(f'vgpu_webhook_reviews_total{{side="mutate",outcome="{outcome}"}} 1\n', text)
        self.assertIn('vgpu_webhook_review_seconds_count{side="mutate"} 4\n', text)
        page = Page(text)
        self.assertEqual(page.wrong + page.unlisted(), [])
        if IS_MEASURED:
            self.assertLess(self.rss_kb(webhook), 10240)

    def read(self, webhook):
        """What becomes of those who ask for metrics: nobody, a stranger, one without the right, one with it."""
        return [ask(webhook.port, "/metrics", token)[0] for token in (None, "stranger", "nobody.token-1", "reader.token-1")]

    def test_metrics_are_for_those_whom_the_api_server_allows(self):
        store = Store()
        webhook = self.start(store, "--metrics-auth=kubernetes")
        self.assertEqual(self.read(webhook), [401, 401, 403, 200])
        self.assertEqual([self.ask(webhook, store, "GET", path)[0] for path in ("/healthz", "/readyz")], [200, 200])
        self.assertEqual(self.ask(webhook, store, "POST", "/mutate", self.review({"nvidia.com/gpumem": "200"}))[0], 200)

    def test_metrics_are_for_them_with_mounted_certificates_too(self):
        store = Store()
        config = os.path.join(self.folder, "config")
        store.api.write_config(config, namespace="vgpu-system")
        certificate, key = self.mounted(1)
        webhook = Webhook(self, "--certificate", certificate, "--key", key, "--kubeconfig", config,
                          "--metrics-auth=kubernetes")
        webhook.port = int(webhook.until(r"serves on port (\d+)")[1])
        self.assertEqual(self.read(webhook), [401, 401, 403, 200])
        webhook = Webhook(self, "--certificate", certificate, "--key", key, "--kubeconfig", "/none",
                          "--metrics-auth=kubernetes")
        self.assertEqual(webhook.process.wait(timeout=10), 1)

    def mounted(self, serial):
        """A certificate as cert-manager would mount it."""
        paths = [os.path.join(self.folder, name) for name in ("tls.crt", "tls.key")]
        made = [path + ".new" for path in paths]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=localhost", "-set_serial", str(serial), "-out", made[0],
                        "-keyout", made[1]], check=True, capture_output=True)
        for path, new in zip(paths, made):
            os.replace(new, path)
        return paths

    def serial(self, webhook):
        text = ssl.get_server_certificate(("127.0.0.1", webhook.port))
        done = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=text, text=True, check=True,
                              capture_output=True)
        return int(done.stdout.strip().partition("=")[2], 16)

    def test_a_mounted_certificate_is_read_again_when_it_changes(self):
        certificate, key = self.mounted(1)
        webhook = Webhook(self, "--certificate", certificate, "--key", key, "--kubeconfig", "/none")
        webhook.port = int(webhook.until(r"serves on port (\d+)")[1])
        self.assertEqual(self.serial(webhook), 1)
        self.mounted(2)
        webhook.until("a new certificate is in use")
        self.assertEqual(self.serial(webhook), 2)

    def test_a_request_beyond_every_gpu_gets_a_warning(self):
        store = Store()
        store.nodes = [{"metadata": {"name": f"n{number}", "uid": f"n{number}", "annotations": {
            "nvidia.com/node-device-register": json.dumps([{
                "id": 0, "type": "A", "uuid": "GPU-1", "core": 100, "memory": 500 + number, "number": 10, "numa": 0,
                "mig": False, "healthy": True}])}}} for number in range(501)]      # of many pages
        webhook = self.start(store)
        for _ in range(100):
            response = json.loads(self.ask(webhook, store, "POST", "/mutate",
                                           self.review({"nvidia.com/gpumem": "1001"}))[1])["response"]
            if "warnings" in response:
                break
            time.sleep(0.05)
        self.assertIn("the largest here has 1000", response["warnings"][0])

    def test_ends_in_order(self):
        store = Store()
        webhook = self.start(store)
        webhook.process.terminate()
        self.assertEqual(webhook.process.wait(timeout=10), 0)

    def test_arguments_that_are_wrong(self):
        for words, sentence in ((["--lisen"], "did you mean '--listen'?"), (["--key", "x"], "belong together"),
                                (["now"], "takes options only"),
                                (["--certificate", "/none", "--key", "/none"], "/none")):
            done = subprocess.run([WEBHOOK, *words], text=True, capture_output=True, check=False, timeout=10)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(sentence, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unit_tap.run("__main__", sys.argv[3:])
