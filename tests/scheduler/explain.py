# SPDX-License-Identifier: Apache-2.0
"""explain BIN: what `vgpu explain pod` tells of a pod that runs: what it holds and uses now, or why that is not
known; and what it asks of the API server for that."""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

from fake_scheduling import CONFIG, Api, node, pod, running, status
from peer import Tap, differs

METRICS = "/api/v1/namespaces/vgpu-system/pods/vgpu-node-x:9394/proxy/metrics"
LINE = '{}{{node="n",device_uuid="GPU-n-0",device_index="0",namespace="{}",pod="{}",container="c"}} {}\n'


def metrics(name, used_bytes, ratio):
    lines = "# HELP vgpu_container_memory_used_bytes Memory that it holds.\n"
    for namespace, one, held, share in (("d", f"{name}-2", 1, 1), ("other", name, 2, 1), ("d", name, used_bytes, ratio)):
        lines += LINE.format("vgpu_container_memory_used_bytes", namespace, one, held)
        lines += LINE.format("vgpu_container_cores_used_ratio", namespace, one, share)
    return lines.encode()


TLS_METRICS = "/api/v1/namespaces/vgpu-system/pods/https:vgpu-node-x:9394/proxy/metrics"
TOKEN = "/api/v1/namespaces/vgpu-system/serviceaccounts/vgpu-metrics-reader/token"


def agent(*options):
    return {"metadata": {"name": "vgpu-node-x", "namespace": "vgpu-system", "labels": {
        "app.kubernetes.io/part-of": "vgpu"}}, "spec": {"nodeName": "n", "containers": [
            {"name": "vgpu-node", "command": ["vgpu-node", *options], "ports": [{"name": "metrics", "containerPort": 9394}]}]}}


class Stage:
    def __init__(self, bin_dir, entry, agents=()):
        self.bin_dir, self.api = bin_dir, Api([node("n")], [entry])
        self.queries = []

        def pods(request):
            self.queries.append(request.query)
            request.reply(200, {"kind": "PodList", "items": list(agents)})
        if entry["spec"].get("nodeName"):
            self.api.rules["GET", "/api/v1/pods"] = pods

    def explain(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "config"
            config.write_text(CONFIG.format(port=self.api.fake.port), encoding="utf-8")
            done = subprocess.run([f"{self.bin_dir}/vgpu", "explain", "pod", "runs", "-n", "d", "--kubeconfig",
                                   str(config), *words], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout


def text_reply(body):
    return lambda request: (request.head(200), request.data(body, end=True))


def live(tap, bin_dir):
    stage = Stage(bin_dir, running("runs", 10000, "n"), [agent()])
    stage.api.rules["GET", METRICS] = text_reply(metrics("runs", 1536 << 20, 0.254))
    code, text = stage.explain()
    tap.check("a running pod's table has what it holds and uses, by the vgpu-node of its node", differs(
        (code, [line.split() for line in text.splitlines() if line]),
        (0, [["pod", "d/runs:", "it", "runs", "on", "n"], ["CONTAINER", "GPU", "MEMORY", "CORES", "HOLDS", "USES"],
             ["c", "GPU-n-0", "10000", "MiB", "no", "limit", "1536", "MiB", "25.4%"]])))
    gpu = json.loads(stage.explain("--json")[1])["gpus"][0]
    tap.check("and so has JSON", differs((gpu["memory_used_mib"], round(gpu["cores_used_percent"], 6)), (1536, 25.4)))
    tap.check("only pods of ours on its node are asked for, and no nodes", differs(
        (stage.queries[0], stage.api.count("GET", "/api/v1/nodes")),
        ("fieldSelector=spec.nodeName%3Dn%2Cstatus.phase%3DRunning&labelSelector="
         "app.kubernetes.io%2Fpart-of%3Dvgpu%2Capp.kubernetes.io%2Fname%20in%20%28vgpu-node%2Cdas-operator-daemonset%29",
         0)))


def authorized(tap, bin_dir):
    """An agent that asks for a token gets one that may read metrics, and not the user's."""
    seen = []

    def token_reply(request):
        seen.append(json.loads(request.body)["kind"])
        request.reply(201, {"status": {"token": "made.for-this"}})

    def metrics_reply(request):
        seen.append(request.fields.get("x-vgpu-authorization"))
        text_reply(metrics("runs", 1536 << 20, 0.254))(request)
    stage = Stage(bin_dir, running("runs", 10000, "n"), [agent("--metrics-auth=kubernetes", "--metrics-tls")])
    stage.api.rules["POST", TOKEN] = token_reply
    stage.api.rules["GET", TLS_METRICS] = metrics_reply
    gpu = json.loads(stage.explain("--json")[1])["gpus"][0]
    tap.check("an agent that asks for a token gets one that was made for this", differs(
        (gpu.get("memory_used_mib"), seen), (1536, ["TokenRequest", "Bearer made.for-this"])))
    stage.api.rules["POST", TOKEN] = lambda request: request.reply(403, status(403, "Forbidden", "no token for you"))
    tap.check("where none may be made, that is the reason", differs("(no token for you)" in stage.explain()[1], True))


def unknown(tap, bin_dir):
    stage = Stage(bin_dir, running("runs", 10000, "n"))
    code, text = stage.explain()
    tap.check("without an agent it is said how to see it", differs(
        (code, "HOLDS" in text, text.splitlines()[-1]),
        (0, False, "Its use of the GPU is unknown (no pod of vgpu-node runs on its node); "
                   "run 'vgpu ps' on node n.")))
    stage = Stage(bin_dir, running("runs", 10000, "n"), [agent()])
    stage.api.rules["GET", METRICS] = lambda request: request.reply(403, status(403, "Forbidden", "pods/proxy is not yours"))
    tap.check("where it may not be asked, that is the reason", differs(
        "(pods/proxy is not yours)" in stage.explain()[1], True))
    stage.api.rules["GET", METRICS] = text_reply(metrics("another", 1, 1))
    tap.check("an agent that does not know the pod says nothing of it", differs(
        "(vgpu-node has no share for it)" in json.loads(stage.explain("--json")[1])["usage_error"], True))
    stage.api.rules["GET", METRICS] = lambda request: None
    start = time.monotonic()
    code, text = stage.explain()
    tap.check("an agent that does not answer is not waited for: the other facts are printed", differs(
        (code, "it runs on n" in text, "is unknown" in text, time.monotonic() - start < 30), (0, True, True, True)))


def pending(tap, bin_dir):
    stage = Stage(bin_dir, pod("runs", 10000))
    code, text = stage.explain("--json")
    tap.check("of a pod that waits nothing is asked that it does not need", differs(
        (code, "usage_error" in json.loads(text), stage.api.count("GET", "/api/v1/nodes") > 0), (3, False, True)))
    waiting = pod("runs", 10000)
    waiting["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "message": "0/1\033[2J\nnodes \u00e9"}]
    text = Stage(bin_dir, waiting).explain()[1]
    tap.check("what kube-scheduler said moves no cursor", differs(
        ("\033" in text, text.splitlines()[-1]), (False, "kube-scheduler said: 0/1?[2J?nodes \u00e9")))


def main(bin_dir):
    tap = Tap()
    for case in (live, authorized, unknown, pending):
        case(tap, bin_dir)
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
