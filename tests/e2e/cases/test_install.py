# SPDX-License-Identifier: Apache-2.0
"""The whole product, installed as an operator does it: from the project's own image, with kubectl and with Helm."""

import json
import os
import re
import shutil
import subprocess

from cases.test_kueue import GPU_POD
from daemons import KUBECONFIG
from documents import BURN as DEPLOYMENT, OVERSOLD
from installation import ANNOTATIONS, DEPLOY, NAMESPACE, installed, kubectl, manifests
from fixtures import case, expect, pod
from paths import BUILD, DATA, NODE, TOP, write


def container_engine_is_told():
    """As docs/tasks/install.md says: the runtime that vgpu-node put on the node, in the place of the build's own."""
    path = "/etc/containerd/config.toml"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(f"{BUILD}/bin/vgpu-runtime", "/opt/vgpu/current/sbin/vgpu-runtime"))
    return lambda: write(path, text)


# A processor less than documented: this node has two, and runs our own pods too.
DOCUMENTED = OVERSOLD.replace("cpu: 2", "cpu: 1") + "---" + DEPLOYMENT
BURN = "docker.io/chrstnhntschl/gpu_burn:latest"


@case("an operator installs it from deploy/, and pods have their shares, through restarts of every part")
def installed_whole(cluster):
    undo = container_engine_is_told()
    try:
        cluster.restart("containerd")
        with installed(cluster, "overlays/simulated"):
            cluster.apply(DOCUMENTED)
            limits = {"nvidia.com/vgpu": "1", "nvidia.com/gpumem": "4096", "nvidia.com/gpucores": "30"}
            cluster.apply(pod("share", image=BURN, limits=limits))
            cluster.apply(pod("add", image="nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0-ubi8", command=None,
                              limits=limits))
            cluster.wait_phase("add", "Succeeded")
            expect("Test PASSED" in cluster.logs("add"), cluster.logs("add"))
            cluster.wait_phase("gpu-example", "Running")
            cluster.wait("the Deployment runs", lambda: cluster.get(
                "apps/v1", "Deployment", "gpu-burn-test", cluster.namespace)["status"].get("readyReplicas") == 1)
            before = cluster.wait_phase("share", "Running")
            expect_share(cluster)
            node_is_well()
            use_is_told(cluster)
            for kind, name in (("daemonset", "vgpu-node"), ("deployment", "vgpu-scheduler"),
                               ("deployment", "vgpu-webhook")):
                is_done, text = kubectl("-n", NAMESPACE, "rollout", "restart", f"{kind}/{name}")
                is_done, text = kubectl("-n", NAMESPACE, "rollout", "status", f"{kind}/{name}", "--timeout=120s")
                expect(is_done, text)
            expect_share(cluster)
            after = cluster.pod("share")
            for field in ("containerID", "restartCount"):
                was, now = (entry["status"]["containerStatuses"][0][field] for entry in (before, after))
                expect(was == now, f"{field} was {was} and is {now}")
            cluster.apply(pod("later", image=BURN, limits=limits, command="./gpu_burn -m 1000 1"))
            cluster.wait_phase("later", "Succeeded")
    finally:
        undo()
        cluster.restart("containerd")


# The container engine starts commands of `exec` with what the pod said, not with what the runtime added: a simulated
# driver is found by its variables.
INSIDE = 'export $(tr "\\0" "\\n" </proc/1/environ | grep -E "^(VGPU_SIM|LD_LIBRARY_PATH|CUDA_VISIBLE_DEVICES)="); '


def burn(cluster, words):
    return cluster.exec("share", "sh", "-c", f"{INSIDE} ./gpu_burn {words}", check=False)


def expect_share(cluster):
    """Seen from inside: one GPU, and of its memory what was asked for."""
    expect(burn(cluster, "-l").count("GPU ") == 1, burn(cluster, "-l"))
    fits, over = burn(cluster, "-m 3000 1"), burn(cluster, "-m 5000 1")
    expect("GPU 0: OK" in fits, fits)
    expect("CUDA_ERROR_OUT_OF_MEMORY" in over, over)


def node_is_well():
    done = subprocess.run([f"{BUILD}/bin/vgpu", "doctor", "--json"], stdout=subprocess.PIPE, text=True, check=False)
    found = [row for row in json.loads(done.stdout)["checks"] if row["subject"] == "node"]
    expect([row["verdict"] for row in found] == ["ok"], found)


def use_is_told(cluster):
    """From an operator's own machine: what a pod holds, by the agent of its node, through the API server. What it
    computed counts for a second."""
    def told():
        done = subprocess.run([f"{BUILD}/bin/vgpu", "explain", "pod", "share", "-n", cluster.namespace, "--json",
                               "--kubeconfig", KUBECONFIG], stdout=subprocess.PIPE, text=True, check=True)
        gpu = json.loads(done.stdout)["gpus"][0]
        return gpu.get("memory_used_mib"), gpu.get("cores_used_percent")
    cluster.wait("the pod's use is told: none", lambda: told() == (0, 0), 15)


@case("containerd takes the image that `make image` writes, and the configuration that vgpu-runtime adds to its own")
def container_engine(cluster):
    image, folder = f"localhost/{cluster.namespace}:1", f"{DATA}/{cluster.namespace}/root"
    os.makedirs(folder)

    def run(*words):
        done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        expect(done.returncode == 0, f"{words}: {done.stdout}")
        return done.stdout
    run(f"{TOP}/tools/image", BUILD, image)
    # Not in kubelet's namespace: it has pulled the same image by another name, and trusts no other after that.
    ctr = ("ctr", "--namespace", cluster.namespace, "image")
    expect(image in run(*ctr, "import", f"{BUILD}/vgpu-image.tar"), "another name")
    run(*ctr, "mount", image, folder)
    try:
        expect("a100-40gb" in run("chroot", folder, "/usr/bin/vgpu", "sim", "list"), "no GPUs")
    finally:
        run(*ctr, "unmount", folder)
    # Without the lines that the tests' own configuration has of the runtime.
    with open("/etc/containerd/config.toml", encoding="utf-8") as file:
        before = file.read()
    plain = before[:before.index('[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.vgpu]')]
    path = write(f"{DATA}/{cluster.namespace}/config.toml", plain)
    subprocess.run([f"{BUILD}/bin/vgpu-runtime", "install", "--to", f"{DATA}/{cluster.namespace}/vgpu", "--containerd",
                    path], check=True)
    dumped = subprocess.run(["containerd", "--config", path, "config", "dump"], text=True, stdout=subprocess.PIPE,
                            check=True).stdout
    for text in ("runtimes.vgpu]", f'BinaryName = "{DATA}/{cluster.namespace}/vgpu/current/sbin/vgpu-runtime"',
                 'container_annotations = ["vgpu.io/*"]', "runtimes.runc]", "enable_cdi = true"):
        expect(text in dumped, f"{text} is not in\n{dumped}")


# As their document has it: a line is added to the command, in an editor.
EDIT = ("KUBE_EDITOR=\"sed -i 's/^\\( *\\)- deviceplugin$/&\\n\\1- --device-memory-scaling=2.0 # Set the memory scaling "
        "ratio to 2 times/'\" kubectl edit ds -n kube-system vgpu-manager-device-plugin")
REGISTERED = (r"nvidia.com/node-device-register: '\[\{\"id\":0,\"type\":\"NVIDIA GeForce GTX 1050 Ti\",\"uuid\":\"GPU-[0-9a-f-]+\","
              r"\"core\":100,\"memory\":8192,\"number\":10,\"numa\":0,\"mig\":false,\"busId\":\"[0-9A-F:.]+\","
              r"\"capability\":6.1,\"healthy\":true\}\]'")


def typed(line):
    """A line of a document, as one types it; what it says."""
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, timeout=180)
    expect(done.returncode == 0, f"{line}: {done.stdout}")
    return done.stdout


def memory_is_queued(cluster):
    """The document on Kueue: how to see that GPU memory is advertised, and put into pods."""
    cluster.wait("the node's part is there", lambda: "gpu.das.com/mem: registered" in kubectl(
        "logs", "-n", "das-operator", "-l", "app.kubernetes.io/name=das-operator-daemonset")[1])
    cluster.wait("GB are advertised", lambda: cluster.node(NODE)["status"]["allocatable"].get("gpu.das.com/mem") == "4")
    told = typed(f"kubectl describe node {NODE} | grep gpu.das.com/mem")
    expect(re.search(r"gpu.das.com/mem: +4$", told, re.M), told)
    told = typed("kubectl logs -n das-operator -l app.kubernetes.io/name=das-operator-daemonset")
    expect("gpu.das.com/mem: registered with kubelet, 4 of them" in told, told)
    told = typed("kubectl logs -n das-operator -l app.kubernetes.io/name=das-operator-webhook")
    expect("the API server knows our certificate" in told, told)
    cluster.apply(GPU_POD)
    told = typed(f"kubectl get pod gpu-example -n {cluster.namespace} -o yaml | grep gpu.das.com/mem")
    expect(told.count('gpu.das.com/mem: "10"') == 2, told)
    cluster.delete("v1", "Pod", "gpu-example", cluster.namespace, gracePeriodSeconds=0)


@case("Helm installs it under the names users know, their document's edit doubles the memory, and nothing is left of it")
def with_helm(cluster):
    values = ("seedLabels=true,simulated.enabled=true,simulated.preset=gtx-1050ti,simulated.gpus=1,"
              "node.nodeSelector.vgpu\\.io/node=null")
    release = ("vgpu", "--namespace", "das-operator")

    def helm(*words):
        done = subprocess.run([manifests.helm_find(), *words], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        expect(done.returncode == 0, done.stdout + kubectl("get", "pods", "-A")[1])
        return done.stdout

    def registered():
        text = cluster.node(NODE)["metadata"].get("annotations", {}).get("nvidia.com/node-device-register", "[]")
        return [(entry["type"], entry["memory"]) for entry in json.loads(text)]
    shutil.rmtree("/var/lib/vgpu", ignore_errors=True)         # another machine of simulated GPUs
    try:
        told = helm("install", *release, f"{DEPLOY}/helm/vgpu", "--create-namespace", "--set", values, "--wait",
                    "--timeout", "4m")
        expect("is installed in das-operator" in told, told)
        cluster.wait("the GPU is registered", lambda: registered() == [("NVIDIA GeForce GTX 1050 Ti", 4096)])
        typed(EDIT)
        cluster.wait("its memory is twice as much", lambda: registered() == [("NVIDIA GeForce GTX 1050 Ti", 8192)])
        told = typed(f"kubectl get node {NODE} -o yaml | grep node-device-register")
        expect(re.search(REGISTERED, told), told)
        # Its other document has the node's part in the namespace of the rest.
        helm("upgrade", *release, f"{DEPLOY}/helm/vgpu", "--set", f"{values},node.namespace=das-operator", "--wait",
             "--timeout", "4m")
        memory_is_queued(cluster)
    finally:
        helm("uninstall", *release, "--wait", "--timeout", "2m")
        cluster.delete("v1", "Namespace", "das-operator")
        cluster.patch("v1", "Node", NODE, {"metadata": {"annotations": dict.fromkeys(ANNOTATIONS)}})
        shutil.rmtree("/var/lib/vgpu", ignore_errors=True)
    left = kubectl("get", "clusterrole,clusterrolebinding,mutatingwebhookconfiguration,validatingwebhookconfiguration,"
                   "validatingadmissionpolicy,runtimeclass", "-A", "-o", "name", "-l", "app.kubernetes.io/part-of=vgpu")[1]
    expect("/vgpu" not in left, left)
