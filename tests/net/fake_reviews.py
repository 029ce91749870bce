# SPDX-License-Identifier: Apache-2.0
"""fake_reviews: the API server's TokenReview and SubjectAccessReview, and who asks a server of ours with tokens."""

import http.client
import json
import ssl

from fake_api import status

TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

READER = {"username": "system:serviceaccount:monitoring:prometheus", "uid": "u-1",
          "groups": ["system:serviceaccounts", "system:authenticated"],
          "extra": {"authentication.kubernetes.io/pod-name": ["prometheus-0"]}}
NOBODY = {"username": "nobody-much", "groups": ["system:authenticated"]}


class Reviews:
    """Knows users by their tokens, and which (user, verb, path) are allowed."""

    def __init__(self, rights):
        self.users = {"reader.token-1": READER, "nobody.token-1": NOBODY}
        self.rights = {(READER["username"], *right) for right in rights}
        self.tokens, self.access, self.held = [], [], []
        self.rule = None        # a function that answers instead, or holds

    def take(self, request):
        """True: it was a review, and is answered or held."""
        if request.method != "POST" or request.path not in (TOKENS, ACCESS):
            return False
        body = json.loads(request.body)
        (self.tokens if request.path == TOKENS else self.access).append(body)
        (self.rule or self.answer)(request)
        return True

    def answer(self, request):
        body = json.loads(request.body)
        spec = body["spec"]
        if request.path == TOKENS:
            user = self.users.get(spec["token"])
            body["status"] = {"authenticated": True, "user": user} if user else {"error": "invalid bearer token"}
        else:
            what = spec["nonResourceAttributes"]
            body["status"] = {"allowed": (spec["user"], what["verb"], what["path"]) in self.rights}
        request.reply(201, body)

    def hold(self, request):
        self.held.append(request)

    def release(self):
        self.rule = None
        held, self.held = self.held, []
        for request in held:
            self.answer(request)

    @staticmethod
    def refuse(request):
        request.reply(403, status(403, "Forbidden", "tokenreviews is forbidden: no such right"))


def ask(port, path, token=None, method="GET", is_tls=True, field=None, body=None, passed=None):
    """(status, text, its WWW-Authenticate)."""
    link = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=ssl._create_unverified_context()) \
        if is_tls else http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        fields = {"Authorization": f"Bearer {token}"} if token else {"Authorization": field} if field else {}
        fields.update({"X-Vgpu-Authorization": f"Bearer {passed}"} if passed else {})
        link.request(method, path, body, fields)
        answer = link.getresponse()
        return answer.status, answer.read().decode(), answer.getheader("www-authenticate")
    finally:
        link.close()
