# SPDX-License-Identifier: Apache-2.0
"""Pods run: images, logs, exec, the network, and what an account may do."""

from fixtures import case, expect, pod

IMAGES = ("quay.io/jitesoft/ubuntu:24.04", "docker.io/chrstnhntschl/gpu_burn:latest")


@case("a pod runs and its log is read")
def pod_log(cluster):
    cluster.apply(pod("hello", command="echo hello from $(hostname)"))
    cluster.wait_phase("hello", "Succeeded")
    expect(cluster.logs("hello") == "hello from hello\n", cluster.logs("hello"))


@case("the images that the requirements name are pulled by these names, latest always")
def images(cluster):
    for number, image in enumerate(IMAGES):
        made = pod(f"pull-{number}", image=image)
        made["spec"]["containers"][0]["imagePullPolicy"] = "Always"
        cluster.apply(made)
    for number, image in enumerate(IMAGES):
        cluster.wait_phase(f"pull-{number}", "Running")
        events = cluster.events(f"pull-{number}")
        expect(any(f'Successfully pulled image "{image}"' in event for event in events), events)
    expect("bash" in cluster.exec("pull-1", "/bin/bash", "-c", "echo $0; cd /app && ls gpu_burn"), "no bash")
    # Without a policy of its own, "latest" is asked for at every start.
    plain = pod("always", image=IMAGES[1])
    del plain["spec"]["containers"][0]["imagePullPolicy"]
    made = cluster.apply(plain)
    expect(made["spec"]["containers"][0]["imagePullPolicy"] == "Always", made["spec"]["containers"])


@case("an image that nobody serves is not pulled, and the pod says so")
def image_unknown(cluster):
    cluster.apply(pod("nobody", image="docker.io/library/nobody:1"))
    cluster.wait("the pull fails", lambda: any("ErrImagePull" in event for event in cluster.events("nobody")))


@case("a pod reaches the API server with its own account, and may do what RBAC lets it")
def account(cluster):
    # Nothing in the pod speaks TLS, so that it only shows that it gets there; its token is tried from here.
    cluster.apply(pod("client"))
    cluster.wait_phase("client", "Running")
    cluster.exec("client", "sh", "-c", "nc -w 5 10.96.0.1 443 </dev/null")
    token = cluster.exec("client", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token")
    list_pods = ("--token", token, "--kubeconfig", "/dev/null", "--server", "https://127.0.0.1",
                 "--insecure-skip-tls-verify", "get", "pods")
    expect("Forbidden" in cluster.kubectl(*list_pods, check=False), "an account without a role lists pods")
    cluster.apply(f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: view}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}}
subjects: [{{kind: ServiceAccount, name: default, namespace: {cluster.namespace}}}]
""")
    cluster.wait("the role counts", lambda: "client" in cluster.kubectl(*list_pods, check=False))
