# SPDX-License-Identifier: Apache-2.0
"""metrics_access BIN LIB LOAD: who may read vgpu-node's metrics, and what they cost who may not."""

import concurrent.futures
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "net"))
from fake_cluster import FakeCluster  # noqa: E402
from fake_reviews import READER, Reviews, ask  # noqa: E402
from peer import Tap, differs, eventually  # noqa: E402

BURST, PER_S = 20, 5        # of lib/kube/access_cache.h
MALFORMED = ("Basic cmVhZGVyOng=", "Bearer", "Bearer ", "reader.token-1", "Bearer reader.token-1 more",
             "Bearer reader.token-1\x01", "Bearer \u00e9")


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Node:
    """vgpu-node whose readers the API server knows."""

    def __init__(self, bin_dir, environment, folder, reviews):
        self.reviews, self.port, self.said = reviews, free_port(), folder / "said"
        self.certificate, self.key = folder / "metrics.crt", folder / "metrics.key"
        FakeCluster(reviews=reviews).write_config(folder / "config")
        self.process = subprocess.Popen(
            [f"{bin_dir}/vgpu-node", f"--device-plugin-path={folder}/plugins", f"--state-dir={folder}/state",
             f"--run-dir={folder}/run", "--node-name=n1", f"--kubeconfig={folder}/config", "--metrics-tls",
             f"--metrics-certificate={self.certificate}", f"--metrics-key={self.key}",
             "--metrics-auth=kubernetes", f"--metrics-listen=127.0.0.1:{self.port}"],
            env=environment, stderr=open(self.said, "wb"))

    def is_up(self):
        try:
            return ask(self.port, "/healthz")[0] == 200
        except OSError:
            return False

    def get(self, token=None, **how):
        return ask(self.port, "/metrics", token, **how)

    def status(self, token=None, **how):
        return self.get(token, **how)[0]

    def counts(self):
        return len(self.reviews.tokens), len(self.reviews.access)

    def rss_kb(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1])
        return 0


    def serves_mounted(self):
        """Is what a client sees the certificate in the file?"""
        seen = ssl.get_server_certificate(("127.0.0.1", self.port))
        return seen.split() == self.certificate.read_text(encoding="ascii").split()


def mount(node):
    """The certificate comes when the node has long been up: looked for every 10 s."""
    made = node.certificate.with_suffix(".new")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                    "2", "-subj", "/CN=localhost", "-out", made, "-keyout", node.key], check=True, capture_output=True)
    made.rename(node.certificate)


def doors(tap, node):
    """Who gets in."""
    tap.check("kubelet's probes need no token", differs(
        (ask(node.port, "/healthz")[0], ask(node.port, "/readyz")[0] in (200, 503)), (200, True)))
    tap.check("metrics without a token are refused, and it says what is needed",
              differs(node.get(), (401, "a bearer token is needed\n", "Bearer")))
    tap.check("what is no bearer token is refused without asking", differs(
        ({node.status(field=field.encode("latin-1")) for field in MALFORMED}, node.counts()), ({401}, (0, 0))))
    tap.check("a token that the API server does not know is refused", differs(
        (node.get("stranger")[::2], node.counts()), ((401, "Bearer"), (1, 0))))
    tap.check("a user without the right is refused",
              differs((node.status("nobody.token-1"), node.counts()), (403, (2, 1))))
    code, text, _ = node.get("reader.token-1")
    tap.check("who has the right reads them", [] if code == 200 and "vgpu_node_build_info{" in text else [f"{code} {text}"])
    tap.check("the token is reviewed, and its owner as the API server names them", differs(
        (node.reviews.tokens[-1]["spec"], node.reviews.access[-1]["spec"]),
        ({"token": "reader.token-1"},
         {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}, "user": READER["username"],
          "uid": READER["uid"], "groups": READER["groups"], "extra": READER["extra"]})))
    tap.check("a token is taken from where the API server passes it on, and from there alone if there is no other", differs(
        [node.status(passed="reader.token-1"), node.status("nobody.token-1", passed="reader.token-1")], [200, 403]))
    tap.check("other paths and methods are refused as before", differs(
        [ask(node.port, "/other", "reader.token-1")[0], node.status("reader.token-1", method="POST")], [404, 405]))


def kept(tap, node):
    """Answers are kept, good and bad."""
    before = node.counts()
    answers = {node.status("reader.token-1", method=method) for method in ("GET", "HEAD") * 10}
    refusals = {node.status("nobody.token-1"), node.status("stranger")}
    tap.check("answers are kept for a time, also refusals", differs(
        (answers, refusals, node.counts()), ({200}, {403, 401}, before)))


def together(tap, node, pool):
    """The API server takes its time: nobody else waits, and it is asked once."""
    node.reviews.users["slow"] = READER
    node.reviews.rule = node.reviews.hold
    before = len(node.reviews.tokens)
    waiting = [pool.submit(node.status, "slow") for _ in range(10)]
    eventually(lambda: node.reviews.held)
    began = time.monotonic()
    others = (ask(node.port, "/healthz")[0], node.status("reader.token-1"), node.status())
    took_s = time.monotonic() - began
    tap.check("while the API server is asked, others are answered", differs((others, took_s < 2), ((200, 200, 401), True)))
    with socket.create_connection(("127.0.0.1", node.port)) as plain, \
            ssl._create_unverified_context().wrap_socket(plain) as gone:
        gone.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer slow\r\n\r\n")
        ask(node.port, "/healthz")      # it has come before this
    node.reviews.release()
    tap.check("ten who wait for the same are one question", differs(
        ([each.result() for each in waiting], len(node.reviews.tokens) - before), ([200] * 10, 1)))


def troubled(tap, node, pool):
    """The API server cannot be asked: nobody new gets in."""
    node.reviews.users["late"] = READER
    node.reviews.rule = node.reviews.refuse
    code, text, _ = node.get("late")
    tap.check("where the API server refuses to say, metrics are refused", differs(
        (code, text), (503, "cannot ask the API server who may read this; try again\n")))
    tap.check("… and the log has its sentence", [] if eventually(
        lambda: "cannot authorize a request for /metrics: tokenreviews is forbidden" in node.said.read_text(encoding="utf-8"))
        else [node.said.read_text(encoding="utf-8")])
    tap.check("… who was let in before still reads", differs(node.status("reader.token-1"), 200))
    node.reviews.rule = lambda request: request.reply(201, {"kind": "TokenReview"})
    tap.check("an answer without a status lets nobody in", differs(node.status("late"), 503))
    odd = {"authenticated": True, "user": {"username": READER["username"] + "\0x"}}
    node.reviews.rule = lambda request: request.reply(201, {"status": odd})
    tap.check("a user whose name cannot be read as it is gets nothing", differs(node.status("late"), 503))
    node.reviews.rule = lambda request: request.reply(201, {"status": {"authenticated": True, "allowed": True, "user": {}}})
    tap.check("a token without a user's name is a stranger's", differs(node.status("unnamed"), 401))
    node.reviews.rule = None
    tap.check("when it answers again, it is asked again", differs(node.status("late"), 200))
    node.reviews.users["patient"] = READER
    node.reviews.rule = node.reviews.hold
    began = time.monotonic()
    code = pool.submit(node.status, "patient").result()
    tap.check("an API server that never answers is waited for 10 s at most",
              differs((code, time.monotonic() - began < 10), (503, True)))
    node.reviews.rule = None
    node.reviews.held.clear()       # nobody waits for these any more


def flooded(tap, node, pool):
    """Tokens that nobody made: they cost a bounded number of questions, and those who are known nothing."""
    before, began, rss_kb = len(node.reviews.tokens), time.monotonic(), node.rss_kb()
    codes = list(pool.map(node.status, (f"flood-{number}" for number in range(2000))))
    seconds = time.monotonic() - began
    asked = len(node.reviews.tokens) - before
    print(f"# 2000 strangers in {seconds:.1f} s: {asked} questions, VmRSS {rss_kb} kB, then {node.rss_kb()} kB")
    tap.check("a flood of tokens is refused", differs(set(codes) <= {401, 503}, True))
    tap.check("… and costs no more questions than its bucket has",
              [] if asked <= BURST + PER_S * (seconds + 1) else [f"{asked} questions in {seconds} s"])
    tap.check("… while who was let in reads on", differs(node.status("reader.token-1"), 200))


def refused_options(tap, bin_dir, environment):
    """What would hand tokens to everybody who listens is refused at once."""
    cases = ((["--node-name=n1", "--metrics-auth=kubernetes", "--metrics-listen=0.0.0.0:0"], "needs --metrics-tls"),
             (["--metrics-auth=kubernetes", "--metrics-tls", "--metrics-listen=127.0.0.1:0"], "needs an API server"),
             (["--standalone", "--node-name=n1", "--metrics-auth=kubernetes", "--metrics-listen=127.0.0.1:0"],
              "needs an API server"),
             (["--metrics-auth=maybe"], "none"), (["--metrics-key=/k"], "belong together"),
             (["--metrics-key=/k", "--metrics-certificate=/c"], "needs --metrics-tls"))
    wrong = []
    for words, sentence in cases:
        done = subprocess.run([f"{bin_dir}/vgpu-node", *words], env=environment, text=True, check=False, timeout=20,
                              stderr=subprocess.PIPE)
        if done.returncode != 2 or sentence not in done.stderr:
            wrong.append(f"{words}: {done.returncode} {done.stderr}")
    tap.check("options that would let everybody listen are refused", wrong)


def run(tap, node, pool):
    tap.check("metrics are served over TLS", [] if eventually(node.is_up, 20) else [node.said.read_text(encoding="utf-8")])
    doors(tap, node)
    mount(node)
    kept(tap, node)
    together(tap, node, pool)
    troubled(tap, node, pool)
    flooded(tap, node, pool)
    tap.check("a certificate that is mounted later is served, without a restart",
              differs(eventually(node.serves_mounted, 20), True))
    time.sleep(1.5)         # for one question of a stranger's
    node.reviews.rule = node.reviews.hold
    last = pool.submit(node.status, "last")
    eventually(lambda: node.reviews.held)
    node.process.terminate()
    tap.check("it ends in order while one waits", differs(node.process.wait(20), 0))
    last.exception()


def main(bin_dir, lib_dir, load):
    tap = Tap()
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(10) as pool:
        folder = pathlib.Path(name)
        (folder / "plugins").mkdir()
        environment = {**os.environ, "VGPU_SIM": f"{name}/machine", "LD_LIBRARY_PATH": lib_dir}
        environment.pop("NODE_NAME", None)
        subprocess.run([load, "machine", f"{name}/machine"], check=True)
        refused_options(tap, bin_dir, environment)
        node = Node(bin_dir, environment, folder, Reviews([("get", "/metrics")]))
        try:
            run(tap, node, pool)
        finally:
            node.process.kill()
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
