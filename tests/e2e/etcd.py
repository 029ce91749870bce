# SPDX-License-Identifier: Apache-2.0
"""etcd: the store behind the API server, asked directly."""

import base64
import http.client
import json
import os
import ssl

from paths import PKI, Trouble


class Etcd:
    """One connection. Keys and values go as encoded() makes them."""

    def __init__(self):
        context = ssl.create_default_context(cafile=os.path.join(PKI, "ca.crt"))
        context.load_cert_chain(os.path.join(PKI, "etcd.crt"), os.path.join(PKI, "etcd.key"))
        self.link = http.client.HTTPSConnection("127.0.0.1", 2379, context=context, timeout=120)

    def ask(self, path, body):
        self.link.request("POST", f"/v3/kv/{path}", json.dumps(body), {"Content-Type": "application/json"})
        answer = self.link.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise Trouble(f"etcd, {path}: {answer.status} {text[:300]}")
        return json.loads(text)

    def close(self):
        self.link.close()


def encoded(text):
    return base64.b64encode(text.encode()).decode()
