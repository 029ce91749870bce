# SPDX-License-Identifier: Apache-2.0
"""webhook: how long vgpu-webhook takes for a request, by its own figures, and how much memory it holds."""

import http.client
import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile

AT_MOST = {"webhook_p99_us": 2000, "webhook_cpu_p99_us": 2000, "webhook_rss_mb": 10}
REVIEWS = 4000


def pod(containers, extra):
    """A pod as the API server sends it: most of it is not about GPUs."""
    return {"metadata": {"generateName": "p-", "labels": {f"label-{i}": "x" * 40 for i in range(extra)},
                         "annotations": {f"example.com/note-{i}": "y" * 80 for i in range(extra)}},
            "spec": {"schedulerName": "default-scheduler", "containers": [
                {"name": f"c{i}", "image": "x", "env": [{"name": f"V{j}", "value": "z" * 30} for j in range(extra)],
                 "resources": {"limits": {"cpu": "1", "nvidia.com/vgpu": "1", "nvidia.com/gpumem": "3000"}}}
                for i in range(containers)]}}


def reviews():
    """Bodies of about 1, 8 and 85 KiB."""
    return [json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"kind": "Pod"}, "operation": "CREATE", "namespace": "team",
        "userInfo": {"username": "alice"}, "object": pod(*size)}}) for size in ((1, 3), (2, 25), (8, 130))]


def certificate(folder):
    paths = [os.path.join(folder, name) for name in ("tls.crt", "tls.key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "1", "-subj", "/CN=localhost", "-out", paths[0], "-keyout", paths[1]],
                   check=True, capture_output=True)
    return paths


def percentile_us(text, name, part):
    """Of a histogram as Prometheus reads it, both sides together: within a step as if spread evenly."""
    counts = {}
    for bound, count in re.findall(rf'^{name}_bucket{{side="\w+",le="([^"]+)"}} (\d+)$', text, re.M):
        counts[float(bound)] = counts.get(float(bound), 0) + int(count)
    below, before, wanted = 0.0, 0, part * counts[float("inf")]
    for bound in sorted(counts):
        if counts[bound] >= wanted:
            return (below + (bound - below) * (wanted - before) / (counts[bound] - before)) * 1e6
        below, before = bound, counts[bound]
    return below * 1e6


def rss_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def measure(process, port):
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=ssl._create_unverified_context())

    def ask(method, path, body=None):
        connection.request(method, path, body)
        return connection.getresponse().read().decode()
    small, middle, large = reviews()
    for number in range(REVIEWS):       # most pods are of a few KiB; one in fifty is large
        body = large if number // 2 % 50 == 0 else small if number // 2 % 2 else middle
        ask("POST", "/mutate" if number % 2 else "/validate", body)
    text = ask("GET", "/metrics")
    return {"webhook_p99_us": percentile_us(text, "vgpu_webhook_review_seconds", 0.99),
            "webhook_p50_us": percentile_us(text, "vgpu_webhook_review_seconds", 0.5),
            # On a busy machine others' time is in the first: this one is spent on a core.
            "webhook_cpu_p99_us": percentile_us(text, "vgpu_webhook_review_cpu_seconds", 0.99),
            "webhook_rss_mb": rss_mb(process.pid)}


def metrics_of(build):
    """Nothing without the daemons, or without openssl, which makes a certificate."""
    program = os.path.join(os.path.abspath(build), "bin", "vgpu-webhook")
    if not os.path.exists(program) or not shutil.which("openssl"):
        return {}
    with tempfile.TemporaryDirectory(prefix="vgpu-bench-") as folder:
        crt, key = certificate(folder)
        process = subprocess.Popen([program, "--listen", "127.0.0.1:0", "--certificate", crt, "--key", key,
                                    "--kubeconfig", "/nonexistent"], text=True, stderr=subprocess.PIPE)
        try:
            port = next(found for found in (re.search(r"serves on port (\d+)", line) for line in process.stderr)
                        if found)[1]
            return measure(process, int(port))
        finally:
            process.kill()
            process.communicate()
