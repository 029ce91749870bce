# SPDX-License-Identifier: Apache-2.0
"""Cases for the test of the harness itself: what must be cleaned up after."""

import time

from fixtures import case, expect, pod


@case("a case that fails while its pod runs")
def fails(cluster):
    cluster.apply(pod("left"))
    cluster.wait_phase("left", "Running")
    expect(False, "as it should")


@case("a case that waits until somebody interrupts it")
def waits(cluster):
    cluster.apply(pod("left"))
    cluster.wait_phase("left", "Running")
    print("waiting with a pod", flush=True)
    time.sleep(600)


@case("a case without pods that waits until somebody interrupts it", profile="light")
def waits_light(_cluster):
    print("waiting without", flush=True)
    time.sleep(600)


@case("a case that fails twice", profile="outside")
def fails_twice():
    expect(False, "each time\nthe same")


TRIED = set()


def first_time(number):
    @case(f"number {number} of those that fail the first time only", profile="outside")
    def fails_once():
        is_first = number not in TRIED
        TRIED.add(number)
        expect(not is_first, "the first time\nbut not the next")


@case("a case that fails once and is not listed as unsteady", profile="outside")
def unlisted():
    is_first = "unlisted" not in TRIED
    TRIED.add("unlisted")
    expect(not is_first, "once")


for each in range(7):
    first_time(each)
