#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What vgpu-runtime adds to a container's start: starts.py VGPU BURN SOURCE_ROOT; prints "metric value".

By turns: runc alone, and behind vgpu-runtime a container without a share, one with, and a command that is
passed on. Figures are differences of the medians; `bench/run` calls it.
"""

import statistics
import subprocess
import time

from fixtures import RUNTIME, Lab, pod

ROUNDS = 50


def create(lab, kind, number):
    uid = f"{kind}-{number}"
    if kind == "share":
        lab.share(uid, "main", 100)
    name, bundle = lab.bundle("true", annotations=pod(uid))
    program = "runc" if kind == "runc" else RUNTIME
    spent = call(lab, program, "--root", lab.root, "create", "--bundle", bundle, name)
    call(lab, RUNTIME, "--root", lab.root, "delete", "--force", name)
    return spent


def call(lab, *words):
    begin = time.perf_counter()
    # Not to be waited for through a pipe: the container keeps what it inherits.
    subprocess.run(words, env=lab.environment(), check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1000


def main():
    lab = Lab()
    try:
        lab.agent.start()
        spent = {kind: [] for kind in ("runc", "plain", "share", "version", "passed")}
        for number in range(ROUNDS):
            for kind in ("runc", "plain", "share"):
                spent[kind].append(create(lab, kind, number))
            spent["version"].append(call(lab, "runc", "--version"))
            spent["passed"].append(call(lab, RUNTIME, "--version"))
    finally:
        lab.close()
    middle = {kind: statistics.median(all_of) for kind, all_of in spent.items()}
    print("runtime_runc_create_ms", middle["runc"])
    print("runtime_plain_added_ms", middle["plain"] - middle["runc"])
    print("runtime_share_added_ms", middle["share"] - middle["runc"])
    print("runtime_passed_added_ms", middle["passed"] - middle["version"])


if __name__ == "__main__":
    main()
