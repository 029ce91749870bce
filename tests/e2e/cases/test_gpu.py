# SPDX-License-Identifier: Apache-2.0
"""The simulated GPU reaches pods: two containers, one machine."""

from fixtures import case, expect, pod


@case("a CUDA sample computes in a pod on the simulated GPU")
def vector_add(cluster):
    cluster.apply(cluster.gpu_pod("add", cluster.machine(), command=None,
                                  image="nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0-ubi8"))
    cluster.wait_phase("add", "Succeeded")
    expect("Test PASSED" in cluster.logs("add"), cluster.logs("add"))


@case("gpu_burn runs in a pod, and a second pod sees the same GPUs")
def burn(cluster):
    machine = cluster.machine("a100-40gb", 2)
    image = "docker.io/chrstnhntschl/gpu_burn:latest"
    cluster.apply(cluster.gpu_pod("burn", machine, image=image, command="./gpu_burn -m 64 -i 0 1"))
    cluster.apply(cluster.gpu_pod("list", machine, image=image, command="./gpu_burn -l"))
    cluster.wait_phase("list", "Succeeded")
    expect(cluster.logs("list").count("A100") == 2, cluster.logs("list"))
    cluster.wait_phase("burn", "Succeeded")
    expect("OK" in cluster.logs("burn"), cluster.logs("burn"))


@case("a pod without a GPU request has no GPU")
def none(cluster):
    cluster.apply(pod("none", image="docker.io/chrstnhntschl/gpu_burn:latest", command="./gpu_burn -l"))
    cluster.wait_phase("none", "Failed")
