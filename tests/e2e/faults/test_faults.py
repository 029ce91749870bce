"""Cases for the test of the harness itself: what must be cleaned up after."""

import time

from lab import case, expect, pod


@case("a case that fails while its pod runs")
def fails(cluster):
    cluster.apply(pod("left"))
    cluster.wait_phase("left", "Running")
    expect(False, "as it should")


@case("a case that waits until somebody interrupts it")
def waits(cluster):
    cluster.apply(pod("left"))
    cluster.wait_phase("left", "Running")
    print("waiting", flush=True)
    time.sleep(600)
