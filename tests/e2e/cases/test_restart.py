# SPDX-License-Identifier: Apache-2.0
"""Components end and come back, and what ran runs on."""

import os
import subprocess

from components import PROFILES
from fixtures import case, expect, pod
from paths import HERE


def container(cluster, name):
    status = cluster.pod(name)["status"]["containerStatuses"][0]
    return status["containerID"], status["restartCount"], "running" in status["state"]


@case("a restart of the API server, by the command line, loses nothing")
def api_server(cluster):
    cluster.apply(pod("stays"))
    cluster.wait_phase("stays", "Running")
    before = container(cluster, "stays")
    subprocess.run([os.path.join(HERE, "cluster"), "restart", "kube-apiserver"], check=True)
    expect(container(cluster, "stays") == before, container(cluster, "stays"))
    cluster.apply(pod("next", command="true"))
    cluster.wait_phase("next", "Succeeded")


def killed(name):
    @case(f"the cluster survives kill -9 of {name} and its restart")
    def survive(cluster):
        cluster.apply(pod("stays"))
        cluster.wait_phase("stays", "Running")
        before = container(cluster, "stays")
        cluster.kill(name)
        cluster.start(name)
        cluster.wait("a new pod can be made", lambda: cluster.apply(pod("next", command="echo next")))
        cluster.wait_phase("next", "Succeeded")
        expect(cluster.logs("next") == "next\n", cluster.logs("next"))
        expect(container(cluster, "stays") == before, container(cluster, "stays"))
    return survive


for component in PROFILES["full"]:
    killed(component)
