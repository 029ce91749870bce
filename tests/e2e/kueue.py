# SPDX-License-Identifier: Apache-2.0
"""kueue: Kueue's own installation, with the process of the harness in the place of its pod."""

import base64
import json
import os
import shutil

from kube import Kube
from paths import KUBERNETES, NODE_IP, PKI, STATE

# What the API server finds behind Kueue's webhook service: the node, where the harness runs it.
ENDPOINTS = {
    "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
    "metadata": {"name": "kueue-webhook-service", "namespace": "kueue-system",
                 "labels": {"kubernetes.io/service-name": "kueue-webhook-service"}},
    "endpoints": [{"addresses": [NODE_IP], "conditions": {"ready": True}}],
    "ports": [{"port": 9443, "protocol": "TCP"}],
}
FOLDERS = (f"{STATE}/kueue-certs", "/etc/kueue/metrics/certs")


def clients_of(entry):
    """The places of an object that say how to reach a webhook."""
    found = [webhook["clientConfig"] for webhook in entry.get("webhooks", [])]
    conversion = entry.get("spec", {}).get("conversion", {}).get("webhook") \
        if entry["kind"] == "CustomResourceDefinition" else None
    return found + ([conversion["clientConfig"]] if conversion else [])


def prepare():
    for folder in FOLDERS:
        os.makedirs(folder, exist_ok=True)
        for kind in ("crt", "key"):
            shutil.copy(f"{PKI}/kueue-server.{kind}", f"{folder}/tls.{kind}")
    with open(f"{PKI}/ca.crt", "rb") as file:
        authority = base64.b64encode(file.read()).decode()
    with open(os.path.join(KUBERNETES, "kueue.json"), encoding="utf-8") as file:
        entries = json.load(file)
    for entry in entries:
        if entry["kind"] == "Service":
            entry["spec"].pop("selector", None)
        for client in clients_of(entry):
            client["caBundle"] = authority
    Kube().install(entries + [ENDPOINTS])
