# SPDX-License-Identifier: Apache-2.0
"""fake_store: the API server's side of vgpu-webhook."""

import json
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "net"))
from fake_api import GONE, FakeApi, status  # noqa: E402
from fake_reviews import Reviews  # noqa: E402


class Store:
    """As much of an API server as a webhook asks for: one Secret, two configurations."""

    def __init__(self):
        self.api = FakeApi()
        self.secret = None
        self.writes = []
        self.nodes = []
        self.reviews = Reviews([("get", "/metrics")])
        self.configurations = {
            kind: {"metadata": {"name": "vgpu-webhook"}, "webhooks": [{"name": "a", "clientConfig": {}},
                                                                     {"name": "b", "clientConfig": {}}]}
            for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")}
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                request = self.api.next(timeout=600)
            except Exception:  # noqa: BLE001  nobody asks any more
                return
            try:
                if not self.reviews.take(request):
                    request.reply(*self.answer(request))
            except GONE:
                pass

    def answer(self, request):
        kind, name = request.path.partition("?")[0].split("/")[-2:]
        if name == "nodes":
            begin, count = int(request.parameter("continue") or 0), int(request.parameter("limit"))
            remainder = {"continue": str(begin + count)} if begin + count < len(self.nodes) else {}
            return 200, {"metadata": {"resourceVersion": "1", **remainder}, "items": self.nodes[begin:begin + count]}
        if request.method == "POST":
            self.writes.append(request.path)
            self.secret = self.secret or json.loads(request.body)
            return 201, self.secret
        if kind == "secrets":
            return (200, self.secret) if self.secret else (404, status(404, "NotFound", "no such Secret"))
        if request.method == "PUT":
            self.writes.append(request.path)
            self.configurations[kind] = json.loads(request.body)
        return 200, self.configurations[kind]
