# SPDX-License-Identifier: Apache-2.0
"""Metrics name the pods of all tenants: who reads them is decided by the real API server."""

import base64
import contextlib
import http.client
import socket
import ssl

from fixtures import case, expect
from installation import NAMESPACE, installed
from scraping import PARTS, READER, addresses, all_are_read, ask, token_of

ROLES = "rbac.authorization.k8s.io/v1"


@contextlib.contextmanager
def accounts(cluster, binding):
    """Prometheus, which has the right, and a tenant, who has none."""
    cluster.apply([{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
                   for name in ("prometheus", "tenant")])
    cluster.apply([{"apiVersion": ROLES, "kind": "ClusterRoleBinding", "metadata": {"name": binding},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": READER},
                    "subjects": [{"kind": "ServiceAccount", "name": "prometheus", "namespace": cluster.namespace}]}])
    try:
        yield token_of("prometheus", cluster.namespace), token_of("tenant", cluster.namespace)
    finally:
        cluster.delete(ROLES, "ClusterRoleBinding", binding)


def everywhere(cluster, token=None):
    """The statuses of all replicas of all parts."""
    return {ask(address, port, "/metrics", token)[0] for part, (port, _) in PARTS.items()
            for address in addresses(cluster, part)}


def plain(address, port):
    """What comes over HTTP without TLS; None: nothing."""
    link = http.client.HTTPConnection(address, port, timeout=10)
    try:
        link.request("GET", "/metrics")
        return link.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        link.close()


def is_verified(address, port, authority, name):
    context = ssl.create_default_context(cadata=authority)
    try:
        with socket.create_connection((address, port), timeout=10) as connection:
            context.wrap_socket(connection, server_hostname=name).close()
        return True
    except OSError:
        return False


@case("metrics are for those whom the API server allows to read them, over TLS, and for nobody else")
def readers(cluster):
    binding = f"{cluster.namespace}-reads"
    with installed(cluster, "overlays/simulated"), accounts(cluster, binding) as (reader, tenant):
        expect(everywhere(cluster) == {401}, "without a token")
        expect(everywhere(cluster, "nobody.made.this") == {401}, "with a token that nobody made")
        expect(everywhere(cluster, tenant) == {403}, "with a tenant's token")
        all_are_read(cluster, reader)
        for part, (port, _) in PARTS.items():
            for address in addresses(cluster, part):
                expect(ask(address, port, "/healthz")[0] == 200, f"{part}: kubelet's probe needs no token")
                expect(plain(address, port) is None, f"{part} answers over plain HTTP")
        cluster.delete(ROLES, "ClusterRoleBinding", binding)    # it is believed for a minute more
        secret = cluster.get("v1", "Secret", "vgpu-allocations-client", NAMESPACE)
        authority = base64.b64decode(secret["data"]["ca.crt"]).decode()
        for part, service in (("vgpu-scheduler", "vgpu-scheduler-metrics"), ("vgpu-node", "vgpu-node")):
            for address in addresses(cluster, part):
                cluster.wait(f"{part} serves with a certificate of vgpu-scheduler's CA", lambda at=address, of=part,
                             name=service: is_verified(at, PARTS[of][0], authority, f"{name}.{NAMESPACE}.svc"))
        cluster.wait("who lost the right reads no more", lambda: everywhere(cluster, reader) == {403}, 100)
