# SPDX-License-Identifier: Apache-2.0
"""access BIN: who may read vgpu-scheduler's metrics and ask it what if, and whose certificates it makes."""

import base64
import json
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile

from fake_scheduling import Api, Scheduler, node, pod, status
from fake_reviews import ACCESS, READER, TOKENS, Reviews, ask
from peer import Tap, differs, eventually

PLANNER = {"username": "autoscaler", "groups": ["system:authenticated"]}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class Secrets:
    """Of one namespace; `is_away`: nobody reads or makes any."""

    def __init__(self, api, *names, is_away=False):
        self.kept, self.is_away = {}, is_away
        for name in names:
            api.rules["GET", f"/api/v1/namespaces/default/secrets/{name}"] = self.read
        api.rules["POST", "/api/v1/namespaces/default/secrets"] = self.make

    def read(self, request):
        found = self.kept.get(request.path.rsplit("/", 1)[1])
        if self.is_away:
            request.reply(503, status(503, "Unavailable", "not now"))
        else:
            request.reply(*((200, found) if found else (404, status(404, "NotFound", "no such Secret"))))

    def make(self, request):
        entry = json.loads(request.body)
        self.kept[entry["metadata"]["name"]] = entry
        request.reply(201, entry)

    def entry(self, name, key):
        return base64.b64decode(self.kept[name]["data"][key]).decode()


def reviewed(*rights):
    api = Api([node("n")])
    reviews = Reviews(rights)
    reviews.users["planner.token"] = PLANNER
    reviews.rights.add((PLANNER["username"], "post", "/simulate"))
    for path in (TOKENS, ACCESS):
        api.rules["POST", path] = reviews.take
    return api, reviews


def verified(port, authority, name):
    """Does a client that trusts only this authority find the name there?"""
    context = ssl.create_default_context(cadata=authority)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
            context.wrap_socket(plain, server_hostname=name).close()
        return True
    except OSError:
        return False


def for_whom(text, name):
    """Does the certificate's text name this host?"""
    done = subprocess.run(["openssl", "x509", "-noout", "-checkhost", name], input=text, text=True, check=True,
                          stdout=subprocess.PIPE)
    return "does match" in done.stdout


def chained(authority, certificate):
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / name for name in ("ca", "leaf")]
        for path, text in zip(paths, (authority, certificate)):
            path.write_text(text, encoding="ascii")
        return subprocess.run(["openssl", "verify", "-purpose", "sslserver", "-CAfile", *paths], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def metrics(tap, bin_dir):
    """At their own address, over TLS, and beside the verbs."""
    api, reviews = reviewed(("get", "/metrics"))
    secrets = Secrets(api, "vgpu-scheduler-authority", "vgpu-allocations-client")
    port = free_port()
    with Scheduler(bin_dir, api, "--metrics-tls", "--metrics-auth=kubernetes", "--allocations=127.0.0.1:0",
                   f"--metrics-listen=127.0.0.1:{port}") as scheduler:
        tap.check("kubelet's probes need no token", differs(ask(port, "/healthz")[0], 200))
        tap.check("metrics need one, of a user with the right", differs(
            [ask(port, "/metrics", token)[0] for token in (None, "stranger", "nobody.token-1", "planner.token", "reader.token-1")],
            [401, 401, 403, 403, 200]))
        tap.check("… beside the verbs, too", differs(
            [ask(scheduler.port, "/metrics", token, is_tls=False)[0] for token in (None, "nobody.token-1", "reader.token-1")],
            [401, 403, 200]))
        question = json.dumps({"Pods": [pod("p", 1000)], "NodeNames": ["n"]})

        def simulate(token):
            return ask(scheduler.port, "/simulate", token, "POST", is_tls=False, body=question)
        tap.check("what if is told to those who may ask", differs(
            [simulate(token)[0] for token in (None, "reader.token-1", "planner.token")], [401, 403, 200]))
        tap.check("… whole", differs(json.loads(simulate("planner.token")[1])["Placements"][0]["Fits"], True))
        tap.check("kube-scheduler, which has no token, is answered", differs(
            (scheduler.filter(pod("q", 1000)), scheduler.ask("GET", "/readyz")[0]), (["n"], 200)))
        tap.check("each token was reviewed once for each path", differs(
            sorted((body["spec"]["user"], body["spec"]["nonResourceAttributes"]["path"]) for body in reviews.access),
            sorted([("nobody-much", "/metrics"), (PLANNER["username"], "/metrics"), (READER["username"], "/metrics"),
                    (READER["username"], "/simulate"), (PLANNER["username"], "/simulate")])))
        certificates(tap, secrets, port)


def certificates(tap, secrets, port):
    eventually(lambda: len(secrets.kept) == 2)
    authority = secrets.entry("vgpu-scheduler-authority", "ca.crt")
    tap.check("metrics are served with a certificate of the authority, for their Service",
              differs(eventually(lambda: verified(port, authority, "vgpu-scheduler-metrics.default.svc")), True))
    tap.check("… and for no other name", differs(verified(port, authority, "other.default.svc"), False))
    of_nodes = secrets.entry("vgpu-allocations-client", "metrics.crt")
    tap.check("nodes get one for theirs, of the same authority", differs(
        (for_whom(of_nodes, "vgpu-node.default.svc"), for_whom(of_nodes, "vgpu-scheduler.default.svc"),
         chained(authority, of_nodes), "PRIVATE KEY" in secrets.entry("vgpu-allocations-client", "metrics.key")),
        (True, False, True, True)))


def early(tap, bin_dir):
    """Probes do not wait for the Secret."""
    api, _ = reviewed()
    Secrets(api, "vgpu-scheduler-authority", is_away=True)
    port = free_port()
    with Scheduler(bin_dir, api, "--metrics-tls", f"--metrics-listen=127.0.0.1:{port}"):
        tap.check("without the authority metrics and probes are served with a certificate of our own", differs(
            [ask(port, path)[0] for path in ("/healthz", "/metrics")], [200, 200]))


def refused_options(tap, bin_dir):
    wrong = []
    for words, sentence in ((["--metrics-auth=kubernetes", "--metrics-listen=0.0.0.0:0"], "needs --metrics-tls"),
                            (["--metrics-auth=perhaps"], "none")):
        done = subprocess.run([f"{bin_dir}/vgpu-scheduler", *words], text=True, check=False, timeout=20,
                              stderr=subprocess.PIPE)
        if done.returncode != 2 or sentence not in done.stderr:
            wrong.append(f"{words}: {done.returncode} {done.stderr}")
    tap.check("options that would let everybody listen are refused", wrong)


def main(bin_dir):
    tap = Tap()
    for case in (metrics, early):
        case(tap, bin_dir)
    refused_options(tap, bin_dir)
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
