# SPDX-License-Identifier: Apache-2.0
"""kube: a small client of the API server: objects are dictionaries, as in their YAML."""

import http.client
import json
import os
import ssl
import time
import urllib.parse

import yaml

from paths import PKI, Trouble

TIMEOUT = 30


class ApiError(Trouble):
    """The API server said no; code is the HTTP status."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


def documents(text):
    return [document for document in yaml.safe_load_all(text) if document]


class Kube:
    """Speaks to the API server as the user of a certificate, or the account of a token."""

    def __init__(self, user="admin", token=None):
        self.context = ssl.create_default_context(cafile=os.path.join(PKI, "ca.crt"))
        if not token:
            self.context.load_cert_chain(os.path.join(PKI, f"{user}.crt"), os.path.join(PKI, f"{user}.key"))
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.kinds = {}
        self.connection = None

    def request(self, method, path, body=None, kind="application/json", **query):
        """The decoded answer; text where the server sends text."""
        if query:
            path += "?" + urllib.parse.urlencode(query)
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        headers = {**self.headers, **({"Content-Type": kind} if data is not None else {})}
        response, text = self._exchange(method, path, data, headers)
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        answer = json.loads(text) if is_json and text else text.decode("utf-8", "replace")
        if response.status >= 400:
            message = answer.get("message", text) if isinstance(answer, dict) else answer
            raise ApiError(response.status, f"{method} {path}: {message}")
        return answer

    def _exchange(self, method, path, data, headers):
        for attempt in (1, 2):
            is_new = self.connection is None
            try:
                if is_new:
                    self.connection = http.client.HTTPSConnection("127.0.0.1", context=self.context,
                                                                  timeout=TIMEOUT)
                self.connection.request(method, path, data, headers)
                response = self.connection.getresponse()
                return response, response.read()
            except (http.client.HTTPException, OSError) as error:
                self.connection.close()
                self.connection = None
                # A connection that the server closed while it was idle is no failure.
                if is_new or attempt == 2:
                    raise ApiError(0, f"{method} {path}: {error}") from error
        return None

    def path(self, api, kind, namespace=None, name=None, sub=None):
        root = f"/api/{api}" if "/" not in api else f"/apis/{api}"
        if (api, kind) not in self.kinds:
            for entry in self.request("GET", root)["resources"]:
                if "/" not in entry["name"]:
                    self.kinds[api, entry["kind"]] = (entry["name"], entry["namespaced"])
        if (api, kind) not in self.kinds:
            raise ApiError(404, f"the API server has no {kind} in {api}")
        plural, is_namespaced = self.kinds[api, kind]
        parts = [root]
        if is_namespaced and namespace:
            parts += ["namespaces", namespace]
        return "/".join(parts + [plural] + [part for part in (name, sub) if part])

    def path_of(self, entry, namespace=None, is_named=True):
        meta = entry["metadata"]
        namespace = meta.get("namespace") or namespace or "default"
        return self.path(entry["apiVersion"], entry["kind"], namespace, meta["name"] if is_named else None)

    def apply(self, what, namespace=None):
        """Makes objects as the YAML, dictionary or list says (server-side apply); gives the last one."""
        entries = documents(what) if isinstance(what, str) else what if isinstance(what, list) else [what]
        answer = None
        for entry in entries:
            answer = self.request("PATCH", self.path_of(entry, namespace), entry,
                                  "application/apply-patch+yaml", fieldManager="e2e", force="true")
        return answer

    def install(self, entries, seconds=60):
        """Applies objects and waits until the kinds that they define are served."""
        self.apply(entries)
        deadline = time.monotonic() + seconds
        for entry in entries:
            while entry["kind"] == "CustomResourceDefinition":
                found = self.get(entry["apiVersion"], entry["kind"], entry["metadata"]["name"])
                states = {state["type"]: state["status"] for state in found["status"].get("conditions") or ()}
                if states.get("Established") == "True":
                    break
                if time.monotonic() > deadline:
                    raise Trouble(f"{entry['metadata']['name']} is not served after {seconds} s: {states}")
                time.sleep(0.1)

    def create(self, entry, namespace=None):
        return self.request("POST", self.path_of(entry, namespace, is_named=False), entry)

    def get(self, api, kind, name, namespace=None):
        return self.request("GET", self.path(api, kind, namespace, name))

    def list(self, api, kind, namespace=None, **query):
        return self.request("GET", self.path(api, kind, namespace), **query)["items"]

    def patch(self, api, kind, name, change, namespace=None, sub=None):
        return self.request("PATCH", self.path(api, kind, namespace, name, sub), change,
                            "application/merge-patch+json")

    def delete(self, api, kind, name, namespace=None, **query):
        try:
            return self.request("DELETE", self.path(api, kind, namespace, name), **query)
        except ApiError as error:
            if error.code != 404:
                raise
            return None
