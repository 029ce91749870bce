"""components: what the cluster consists of, as a table, and how a component is started and stopped."""

import http.client
import json
import os
import resource
import signal
import socket
import ssl
import string
import subprocess
import time
from dataclasses import dataclass

import kueue
import places
from kube import ApiError, Kube
from places import CACHE, DATA, HERE, LOGS, NODE, NODE_IP, PKI, PYTHON, RUN, STATE, Trouble

READY_SECONDS = 300             # on a machine that is busy with other things, too


def web(url):
    """Ready when this address answers 200."""
    def is_ready():
        scheme, rest = url.split("://")
        host, _, path = rest.partition("/")
        context = ssl.create_default_context(cafile=f"{PKI}/ca.crt")
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if scheme == "https":
            context.load_cert_chain(f"{PKI}/admin.crt", f"{PKI}/admin.key")
            connection = http.client.HTTPSConnection(host, context=context, timeout=5)
        else:
            connection = http.client.HTTPConnection(host, timeout=5)
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


def socket_is_open(port):
    def is_ready():
        socket.create_connection(("127.0.0.1", port), 2).close()
        return True
    return is_ready


def accounts_are_made():
    """Pods cannot be made before their namespace has its default account."""
    Kube().get("v1", "ServiceAccount", "default", "default")
    return web("https://127.0.0.1:10257/healthz")()


def volcano_prepare():
    kube = Kube()
    with open(os.path.join(CACHE, "volcano.json"), encoding="utf-8") as file:
        kube.install(json.load(file))
    kube.apply("""\
apiVersion: v1
kind: Namespace
metadata: {name: volcano-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: volcano-scheduler}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: volcano-scheduler, namespace: volcano-system}]
""")


@dataclass
class Component:
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
        """, web("https://127.0.0.1:2379/health")),
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
        """, web("https://127.0.0.1/readyz"), ("etcd",)),
    Component("kube-controller-manager", """
        kube-controller-manager --bind-address 127.0.0.1 --leader-elect=false
        --kubeconfig $STATE/kube-controller-manager.kubeconfig --use-service-account-credentials
        --service-account-private-key-file $PKI/service-accounts.key --root-ca-file $PKI/ca.crt
        --cluster-signing-cert-file $PKI/ca.crt --cluster-signing-key-file $PKI/ca.key
        --controllers $CONTROLLERS
        """, accounts_are_made, ("kube-apiserver",)),
    Component("kube-scheduler", """
        kube-scheduler --bind-address 127.0.0.1 --config $STATE/config/kube-scheduler.yaml
        """, web("https://127.0.0.1:10259/readyz"), ("kube-apiserver",)),
    Component("registry", "$PYTHON -B $HERE/registry.py", web("http://127.0.0.1:5000/v2/")),
    Component("containerd", """
        containerd --config /etc/containerd/config.toml
        """, containerd_is_ready),
    Component("kubelet", """
        kubelet --config $STATE/config/kubelet.yaml --kubeconfig $STATE/kubelet.kubeconfig
        --hostname-override $NODE --node-ip $NODE_IP
        """, node_is_ready, ("kube-apiserver", "containerd", "registry")),
    Component("kueue", """
        kueue --config $STATE/config/kueue.yaml --kubeconfig $STATE/kueue.kubeconfig --zap-log-level 2
        """, web("http://127.0.0.1:8081/readyz"), ("kube-controller-manager",), kueue.prepare),
    Component("volcano", """
        volcano --kubeconfig $STATE/volcano.kubeconfig --scheduler-conf $STATE/config/volcano.conf
        --leader-elect=false --enable-healthz --healthz-address 127.0.0.1:11251
        --listen-address 127.0.0.1:8080
        """, web("http://127.0.0.1:11251/healthz"), ("kube-apiserver",), volcano_prepare),
)}

# light: scheduling without a node that runs anything; whoever makes nodes keeps them.
PROFILES = {
    "full": ("etcd", "kube-apiserver", "registry", "containerd", "kube-controller-manager", "kube-scheduler",
             "kubelet", "kueue"),
    "light": ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"),
}
CONTROLLERS = {"full": "*", "light": "*,-node-lifecycle-controller"}


def values(profile):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    own = {name: getattr(places, name) for name in dir(places) if name.isupper()}
    return {**own, "CONTROLLERS": CONTROLLERS[profile], "OPEN_FILES": min(limit, 1000000)}


def configure(profile):
    """Writes the files of config/ to where the components look for them."""
    where = {"containerd.toml": "/etc/containerd/config.toml",
             "registry.toml": "/etc/containerd/certs.d/_default/hosts.toml",
             "network.conflist": "/etc/cni/net.d/10-pods.conflist"}
    for name in os.listdir(os.path.join(HERE, "config")):
        with open(os.path.join(HERE, "config", name), encoding="utf-8") as file:
            text = string.Template(file.read()).substitute(values(profile))
        places.write(where.get(name, os.path.join(STATE, "config", name)), text)
    places.write(os.path.join(STATE, "profile"), profile)


def profile_now():
    with open(os.path.join(STATE, "profile"), encoding="utf-8") as file:
        return file.read()


def component(name):
    if name not in COMPONENTS:
        raise Trouble(f"no component '{name}'; there are: {', '.join(COMPONENTS)}")
    return COMPONENTS[name]


def log_path(name):
    return os.path.join(LOGS, f"{name}.log")


def started_at(pid):
    """When a process began, in the kernel's ticks: a number that came round is another process."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    if fields[0] == "Z":
        raise ProcessLookupError
    return fields[19]


def pid_of(name):
    """The component's process, None if it is not running."""
    try:
        with open(os.path.join(RUN, name), encoding="ascii") as file:
            pid, ticks = file.read().split()
        return int(pid) if started_at(pid) == ticks else None
    except (FileNotFoundError, ProcessLookupError):
        return None


def spawn(name):
    words = string.Template(component(name).command).substitute(values(profile_now())).split()
    with open(log_path(name), "a", encoding="utf-8") as log:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=DATA,
                                   start_new_session=True)
    places.write(os.path.join(RUN, name), f"{process.pid} {started_at(process.pid)}")


def wait_ready(name, seconds=READY_SECONDS):
    deadline = time.monotonic() + seconds
    last = None
    while time.monotonic() < deadline:
        if not pid_of(name):
            raise Trouble(f"{name} ended; the end of {log_path(name)}:\n{log_tail(name)}")
        try:
            if component(name).is_ready():
                return
        except (OSError, http.client.HTTPException, ApiError) as error:
            last = error
        time.sleep(0.1)
    raise Trouble(f"{name} is not ready after {seconds} s ({last}); the end of {log_path(name)}:\n{log_tail(name)}")


def start(name):
    """Starts a component, if it does not run, and waits until it is ready."""
    if not pid_of(name):
        if component(name).prepare and not os.path.exists(log_path(name)):
            component(name).prepare()
        spawn(name)
    wait_ready(name)


def stop(name, number=signal.SIGTERM, seconds=15):
    """Ends a component by a signal, and by SIGKILL if that does not help."""
    pid = pid_of(name)
    if not pid:
        return
    os.kill(pid, number)
    deadline = time.monotonic() + seconds
    while pid_of(name):
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            deadline += seconds
        time.sleep(0.05)


def restart(name, number=signal.SIGTERM):
    stop(name, number)
    start(name)


def log_tail(name, lines=15):
    try:
        with open(log_path(name), encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-lines:]).rstrip()
    except FileNotFoundError:
        return "(no log)"
