# SPDX-License-Identifier: Apache-2.0
"""daemons: our own programs beside the cluster, for the time of a block."""

import contextlib
import os
import subprocess
import time
import urllib.request

from paths import BUILD, LOGS, STATE

KUBECONFIG = os.path.join(STATE, "admin.kubeconfig")


@contextlib.contextmanager
def daemon(name, *words, ready=None, seconds=30):
    """Runs build/bin/NAME; waits until `ready`, a URL of its own, answers 200. Yields the process."""
    log_path = os.path.join(LOGS, f"{name}.log")
    with open(log_path, "ab") as log:
        process = subprocess.Popen([os.path.join(BUILD, "bin", name), *words], stdout=log, stderr=log)
    try:
        _wait_ready(process, ready, seconds, log_path)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_ready(process, url, seconds, log_path):
    end = time.monotonic() + seconds
    while url:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError as error:
            if process.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
                continue
            with open(log_path, encoding="utf-8") as log:
                raise AssertionError(f"{url}: {error}\n{log.read()[-2000:]}") from error
