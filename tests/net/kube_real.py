# SPDX-License-Identifier: Apache-2.0
"""kube_real PEER: our client of the API server against a real one, if kube-apiserver and etcd are in
PATH: pages, watches, conflicts, a server that is killed and comes back."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import ssl

from kube_watcher import Watcher
from peer import Tap, differs, eventually

CONFIG = """
current-context: c
contexts: [{{name: c, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {{server: "https://127.0.0.1:{port}", certificate-authority: {ca}}}}}]
users: [{{name: u, user: {{token: secret-of-the-test}}}}]
"""
COUNT = 1500


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


class Cluster:
    """etcd and kube-apiserver on loopback, in a folder of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.etcd_port, self.peer_port, self.port = free_port(), free_port(), free_port()
        (folder / "tokens").write_text('secret-of-the-test,tester,1,"system:masters"\n',
                                       encoding="utf-8")
        subprocess.run(["openssl", "genrsa", "-out", folder / "sa.key", "2048"], check=True,
                       stderr=subprocess.DEVNULL)
        etcd = f"http://127.0.0.1:{self.etcd_port}"
        peers = f"http://127.0.0.1:{self.peer_port}"
        self.etcd = self.start("etcd", "--data-dir", folder / "etcd", "--listen-client-urls", etcd,
                               "--advertise-client-urls", etcd, "--listen-peer-urls", peers,
                               "--initial-advertise-peer-urls", peers, "--initial-cluster",
                               f"default={peers}", "--unsafe-no-fsync")
        self.server = None
        self.start_server()

    def start(self, *command):
        with open(self.folder / f"{command[0]}.log", "ab") as log:
            return subprocess.Popen([str(c) for c in command], stdout=log, stderr=log)

    def start_server(self):
        self.server = self.start(
            "kube-apiserver", "--bind-address", "127.0.0.1", "--secure-port", self.port,
            "--etcd-servers", f"http://127.0.0.1:{self.etcd_port}", "--cert-dir",
            self.folder / "certs", "--token-auth-file", self.folder / "tokens",
            "--authorization-mode", "AlwaysAllow", "--service-cluster-ip-range", "10.97.0.0/24",
            "--service-account-issuer", "https://test", "--service-account-key-file",
            self.folder / "sa.key", "--service-account-signing-key-file", self.folder / "sa.key")

    def is_ready(self):
        try:
            return self.ask("GET", "/readyz") == b"ok"
        except (OSError, urllib.error.URLError):
            return False

    def ask(self, method, path, body=None):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        request = urllib.request.Request(
            f"https://127.0.0.1:{self.port}{path}", method=method,
            data=json.dumps(body).encode() if body else None,
            headers={"Authorization": "Bearer secret-of-the-test",
                     "Content-Type": "application/json"})
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            return answer.read()

    def stop(self):
        for process in (self.server, self.etcd):
            process.kill()
            process.wait()


def config_map(name, size=1000):
    return {"metadata": {"name": name}, "data": {"text": "x" * size}}


MAPS = "/api/v1/namespaces/default/configmaps"


def take(watcher, claim, seconds=60):
    """Lines up to the one that the claim is true of."""
    lines = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        line = watcher.none(1)
        if line is not None:
            lines.append(line)
            if claim(line):
                break
    return lines


def run(tap, peer, cluster, config):
    for i in range(COUNT):
        cluster.ask("POST", MAPS, config_map(f"m-{i}"))
    watcher = Watcher(peer, config, MAPS, "", 100)
    lines = take(watcher, lambda line: line == "synced")
    added = {line.split()[1] for line in lines if line.startswith("added default/m-")}
    tap.check("a list in pages tells of every object once, then that it is all",
              differs((len(added), lines[-1]), (COUNT, "synced")))
    print(f"# VmRSS with {COUNT} objects known: {watcher.program.rss_kb()} kB")

    cluster.ask("POST", MAPS, config_map("new"))
    cluster.ask("DELETE", f"{MAPS}/m-7")
    lines = take(watcher, lambda line: line.startswith("deleted"))
    tap.check("changes are reported as they happen", differs(
        [line.split()[:2] for line in lines], [["added", "default/new"], ["deleted", "default/m-7"]]))

    writers = [subprocess.Popen([peer, "update", config, f"{MAPS}/new", f"key-{i}", "v"],
                                stdout=subprocess.PIPE, text=True) for i in range(8)]
    said = [writer.communicate(timeout=60)[0].strip() for writer in writers]
    final = json.loads(cluster.ask("GET", f"{MAPS}/new"))
    tap.check("eight writers of one object all write it", differs(
        (said, len(final["metadata"]["annotations"])), (["200 []"] * 8, 8)))
    take(watcher, lambda line: line.split()[-1] == final["metadata"]["resourceVersion"])

    done = subprocess.run([peer, "call", config, "GET", f"{MAPS}/none"], stdout=subprocess.PIPE,
                          text=True, check=False, timeout=30)
    tap.check("what is not there is 404 with the server's sentence", differs(
        done.stdout.strip(), '404 [NotFound] configmaps "none" not found'))

    cluster.server.kill()
    cluster.server.wait()
    cluster.start_server()
    eventually(cluster.is_ready, 120)
    cluster.ask("POST", MAPS, config_map("after"))
    lines = take(watcher, lambda line: line.startswith("added default/after"))
    tap.check("after the server was killed the watch goes on, and tells nothing twice", differs(
        ([line for line in lines if not line.startswith(("trouble", "synced"))][:1] and
         [line.split()[1] for line in lines if line.startswith(("added", "modified", "deleted"))]),
        ["default/after"]))
    tap.check("it ends in order", differs(watcher.program.stop()[0], 0))


def main(peer):
    tap = Tap()
    if not shutil.which("kube-apiserver") or not shutil.which("etcd"):
        print("1..0 # SKIP no kube-apiserver and etcd in PATH")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cluster = Cluster(folder)
        try:
            tap.check("a real API server is there",
                      [] if eventually(cluster.is_ready, 180) else ["it did not start"])
            config = folder / "config"
            config.write_text(CONFIG.format(port=cluster.port, ca=folder / "certs/apiserver.crt"),
                              encoding="utf-8")
            run(tap, os.path.abspath(peer), cluster, config)
        finally:
            cluster.stop()
    tap.done()


main(*sys.argv[1:])
