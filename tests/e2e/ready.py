# SPDX-License-Identifier: Apache-2.0
"""ready: when a component can be used."""

import http.client
import ssl
import subprocess

from kube import Kube
from paths import NODE, PKI

TIMEOUT = 15


def web(url):
    """Ready when this address answers 200."""
    def is_ready():
        scheme, remainder = url.split("://")
        host, _, path = remainder.partition("/")
        if scheme == "https":
            # Some serve a certificate that they made for themselves; who they are is not the question.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            context.load_cert_chain(f"{PKI}/admin.crt", f"{PKI}/admin.key")
            connection = http.client.HTTPSConnection(host, context=context, timeout=TIMEOUT)
        else:
            connection = http.client.HTTPConnection(host, timeout=TIMEOUT)
        try:
            connection.request("GET", "/" + path)
            return connection.getresponse().status == 200
        finally:
            connection.close()
    return is_ready


def node_is_ready():
    conditions = Kube().get("v1", "Node", NODE)["status"].get("conditions", [])
    return web("http://127.0.0.1:10248/healthz")() and \
        any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)


def containerd_is_ready():
    done = subprocess.run(["ctr", "version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def service_accounts_are_made():
    """Pods cannot be made before their namespace has its default account."""
    Kube().get("v1", "ServiceAccount", "default", "default")
    return web("https://127.0.0.1:10257/healthz")()
