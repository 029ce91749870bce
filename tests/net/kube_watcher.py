# SPDX-License-Identifier: Apache-2.0
"""kube_watcher: a running `peer_kube watch`, line by line."""

import queue
import threading

from peer import Program


class Watcher:
    def __init__(self, peer, config, path, query, page):
        self.program = Program(peer, "watch", config, path, query, str(page))
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.program.process.stdout:
            self.lines.put(line.strip())

    def next(self, count=1, timeout=10):
        return [self.lines.get(timeout=timeout) for _ in range(count)]

    def none(self, seconds=0.3):
        """The next line, or None if there is none for so long."""
        try:
            return self.lines.get(timeout=seconds)
        except queue.Empty:
            return None
