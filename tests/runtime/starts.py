#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What vgpu-runtime adds to a container's start: starts.py VGPU BURN SOURCE_ROOT; prints "metric value".

By turns: runc alone, and behind vgpu-runtime a container without a share, one with, and a command that is
passed on. Figures are differences of the medians; `bench/run` calls it.
"""

import statistics
import subprocess
import time

from fixtures import RUNTIME, Fixtures, pod

ROUNDS = 50


def create(fixtures, kind, number):
    uid = f"{kind}-{number}"
    if kind == "share":
        fixtures.share(uid, "main", 100)
    name, bundle = fixtures.bundle("true", annotations=pod(uid))
    program = "runc" if kind == "runc" else RUNTIME
    spent = call(fixtures, program, "--root", fixtures.root, "create", "--bundle", bundle, name)
    call(fixtures, RUNTIME, "--root", fixtures.root, "delete", "--force", name)
    return spent


def call(fixtures, *words):
    begin = time.perf_counter()
    # Not to be waited for through a pipe: the container keeps what it inherits.
    subprocess.run(words, env=fixtures.environment(), check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1000


def main():
    fixtures = Fixtures()
    try:
        fixtures.agent.start()
        spent = {kind: [] for kind in ("runc", "plain", "share", "version", "passed")}
        for number in range(ROUNDS):
            for kind in ("runc", "plain", "share"):
                spent[kind].append(create(fixtures, kind, number))
            spent["version"].append(call(fixtures, "runc", "--version"))
            spent["passed"].append(call(fixtures, RUNTIME, "--version"))
    finally:
        fixtures.close()
    middle = {kind: statistics.median(all_of) for kind, all_of in spent.items()}
    print("runtime_runc_create_ms", middle["runc"])
    print("runtime_plain_added_ms", middle["plain"] - middle["runc"])
    print("runtime_share_added_ms", middle["share"] - middle["runc"])
    print("runtime_passed_added_ms", middle["passed"] - middle["version"])


if __name__ == "__main__":
    main()
