"""The right share in the right container: webhook, scheduler, agent and runtime on a real kubelet."""

from lab import case, expect
from whole import expect_own, gpu_pod, wait_log, whole


@case("a pod sees the share that it was given, by CUDA and by NVML, and is refused beyond it")
def own(cluster):
    with whole(cluster):
        cluster.apply(gpu_pod("user", "look; look hold 1000; sleep 3600", memory=700, cores=30))
        entry = cluster.wait_phase("user", "Running", seconds=60)
        log = wait_log(cluster, "user", "refused after")
        expect_own(entry, "main", log)
        expect("all right" in log, log)
