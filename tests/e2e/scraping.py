# SPDX-License-Identifier: Apache-2.0
"""scraping: metrics of the installed parts, asked for as Prometheus does: at each pod's address, with a token."""

import http.client
import ssl

from fixtures import expect
from installation import NAMESPACE, kubectl

# Of each part: its port of metrics, and a line of them.
PARTS = {"vgpu-node": (9394, "vgpu_node_build_info{"), "vgpu-scheduler": (9395, "vgpu_scheduler_ready 1\n"),
         "vgpu-webhook": (8443, "vgpu_webhook_reviews_total{")}
READER = "vgpu-metrics-reader"


def token_of(account, namespace=NAMESPACE):
    is_done, text = kubectl("-n", namespace, "create", "token", account)
    expect(is_done, text)
    return text.strip()


def addresses(cluster, part):
    return [entry["status"]["podIP"] for entry in cluster.list(
        "v1", "Pod", NAMESPACE, labelSelector=f"app.kubernetes.io/name={part}") if entry["status"].get("podIP")]


def ask(address, port, path, token=None):
    """(status, text)"""
    link = http.client.HTTPSConnection(address, port, timeout=15, context=ssl._create_unverified_context())
    try:
        link.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = link.getresponse()
        return answer.status, answer.read().decode()
    finally:
        link.close()


def all_are_read(cluster, token):
    """Each replica of each part shows its metrics to the owner of the token, and nothing else at that port."""
    for part, (port, line) in PARTS.items():
        found = addresses(cluster, part)
        expect(found, f"{part} has no pod")
        for address in found:
            status, text = ask(address, port, "/metrics", token)
            expect(status == 200 and line in text, f"{part}: {status} {text}")
            status, _ = ask(address, port, "/filter", token)
            expect(status == 404, f"{part} answers /filter: {status}")
