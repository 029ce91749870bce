# SPDX-License-Identifier: Apache-2.0
"""components: what the cluster consists of, as a table, and how it is configured."""

import os
import resource
import string
from dataclasses import dataclass

import kueue
import paths
import ready
import volcano
from paths import HERE, STATE, Trouble


@dataclass
class Component:
    """A program of the cluster: how it is started, when it can be used, what must run before it."""
    name: str
    command: str
    is_ready: object
    needs: tuple = ()
    prepare: object = None          # before its first start


COMPONENTS = {entry.name: entry for entry in (
    Component("etcd", """
        etcd --name e2e --data-dir $DATA/etcd --unsafe-no-fsync --log-level warn
        --listen-client-urls https://127.0.0.1:2379 --advertise-client-urls https://127.0.0.1:2379
        --listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380
        --initial-cluster e2e=http://127.0.0.1:2380
        --cert-file $PKI/etcd.crt --key-file $PKI/etcd.key --trusted-ca-file $PKI/ca.crt --client-cert-auth
        """, ready.web("https://127.0.0.1:2379/health")),
    Component("kube-apiserver", """
        kube-apiserver --bind-address 0.0.0.0 --secure-port 443 --advertise-address $NODE_IP
        --etcd-servers https://127.0.0.1:2379 --etcd-cafile $PKI/ca.crt
        --etcd-certfile $PKI/etcd.crt --etcd-keyfile $PKI/etcd.key
        --tls-cert-file $PKI/kube-apiserver.crt --tls-private-key-file $PKI/kube-apiserver.key
        --client-ca-file $PKI/ca.crt --authorization-mode Node,RBAC
        --enable-admission-plugins NodeRestriction --allow-privileged
        --service-cluster-ip-range 10.96.0.0/16 --enable-aggregator-routing
        --service-account-issuer https://kubernetes.default.svc
        --service-account-key-file $PKI/service-accounts.key
        --service-account-signing-key-file $PKI/service-accounts.key
        --kubelet-client-certificate $PKI/kubelet-client.crt --kubelet-client-key $PKI/kubelet-client.key
        --kubelet-certificate-authority $PKI/ca.crt --kubelet-preferred-address-types Hostname
        $AUDIT
        """, ready.web("https://127.0.0.1/readyz"), ("etcd",)),
    Component("kube-controller-manager", """
        kube-controller-manager --bind-address 127.0.0.1 --leader-elect=false --kube-api-qps 500 --kube-api-burst 1000
        --kubeconfig $STATE/kube-controller-manager.kubeconfig --use-service-account-credentials
        --service-account-private-key-file $PKI/service-accounts.key --root-ca-file $PKI/ca.crt
        --cluster-signing-cert-file $PKI/ca.crt --cluster-signing-key-file $PKI/ca.key
        --controllers $CONTROLLERS
        """, ready.service_accounts_are_made, ("kube-apiserver",)),
    Component("kube-scheduler", """
        kube-scheduler --bind-address 127.0.0.1 --config $STATE/config/kube-scheduler.yaml
        """, ready.web("https://127.0.0.1:10259/readyz"), ("kube-apiserver",)),
    Component("registry", "$PYTHON -B $HERE/registry.py", ready.web("http://127.0.0.1:5000/v2/")),
    Component("containerd", """
        containerd --config /etc/containerd/config.toml
        """, ready.containerd_is_ready),
    Component("kubelet", """
        kubelet --config $STATE/config/kubelet.yaml --kubeconfig $STATE/kubelet.kubeconfig
        --hostname-override $NODE --node-ip $NODE_IP
        """, ready.node_is_ready, ("kube-apiserver", "containerd", "registry")),
    Component("kueue", """
        kueue --config $STATE/config/kueue.yaml --kubeconfig $STATE/kueue.kubeconfig --zap-log-level 2
        """, ready.web("http://127.0.0.1:8081/readyz"), ("kube-controller-manager",), kueue.prepare),
    Component("volcano", """
        volcano --kubeconfig $STATE/volcano.kubeconfig --scheduler-conf $STATE/config/volcano.conf
        --leader-elect=false --enable-healthz --healthz-address 127.0.0.1:11251
        --listen-address 127.0.0.1:8080
        """, ready.web("http://127.0.0.1:11251/healthz"), ("kube-apiserver",), volcano.prepare),
    Component("volcano-controllers", """
        volcano-controllers --kubeconfig $STATE/volcano-controllers.kubeconfig --leader-elect=false
        --controllers job-controller,pg-controller,queue-controller
        --enable-healthz --healthz-address 127.0.0.1:11252 --listen-address 127.0.0.1:8082
        """, ready.web("http://127.0.0.1:11252/healthz"), ("kube-apiserver",), volcano.prepare),
)}

# light: scheduling without a node that runs anything; whoever makes nodes keeps them. scale: the least
# that schedules, so that what is measured is not others' work; it keeps a book of vgpu-scheduler's writes.
PROFILES = {
    "full": ("etcd", "kube-apiserver", "registry", "containerd", "kube-controller-manager", "kube-scheduler",
             "kubelet", "kueue"),
    "light": ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"),
    "scale": ("etcd", "kube-apiserver", "kube-scheduler"),
}
CONTROLLERS = {"full": "*", "light": "*,-node-lifecycle-controller", "scale": ""}
AUDIT_LOG = os.path.join(paths.LOGS, "audit.log")
AUDIT = dict.fromkeys(("full", "scale"),
                      f"--audit-policy-file {STATE}/config/audit.yaml --audit-log-path {AUDIT_LOG}")


def values(profile):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    own = {name: getattr(paths, name) for name in dir(paths) if name.isupper()}
    return {**own, "CONTROLLERS": CONTROLLERS[profile], "AUDIT": AUDIT.get(profile, ""),
            "OPEN_FILES": min(limit, 1000000)}


def configure(profile):
    """Writes the files of config/ to where the components look for them."""
    where = {"containerd.toml": "/etc/containerd/config.toml",
             "registry.toml": "/etc/containerd/certs.d/_default/hosts.toml",
             "network.conflist": "/etc/cni/net.d/10-pods.conflist",
             "runtime.conf": "/etc/vgpu/runtime.conf"}
    for name in os.listdir(os.path.join(HERE, "config")):
        with open(os.path.join(HERE, "config", name), encoding="utf-8") as file:
            text = string.Template(file.read()).substitute(values(profile))
        paths.write(where.get(name, os.path.join(STATE, "config", name)), text)
    paths.write(os.path.join(STATE, "profile"), profile)


def profile_now():
    with open(os.path.join(STATE, "profile"), encoding="utf-8") as file:
        return file.read()


def component(name):
    if name not in COMPONENTS:
        raise Trouble(f"no component '{name}'; there are: {', '.join(COMPONENTS)}")
    return COMPONENTS[name]


def words(name):
    """The command that starts a component."""
    return string.Template(component(name).command).substitute(values(profile_now())).split()
