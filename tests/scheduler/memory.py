# SPDX-License-Identifier: Apache-2.0
"""memory BIN measured|sanitized: what a flood of requests leaves of vgpu-scheduler's memory: nothing."""

import pathlib
import socket
import sys

from fake_scheduling import Api, Scheduler, node, pod
from peer import Tap, differs, eventually

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "node"))
from metrics import rss_kb  # noqa: E402

PEERS, BODY_BYTES = 200, 400000


def flood(scheduler):
    """As many connections as it takes, and as much of bodies as it keeps for all of them. VmRSS at its most."""
    held = []
    for number in range(PEERS):
        try:
            peer = socket.create_connection(("127.0.0.1", scheduler.port), timeout=10)
            peer.sendall(b"POST /filter HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n" +
                         b"x" * (BODY_BYTES + 1000 * number))
            held.append(peer)
        except OSError:
            pass                # pushed out by another
    most = rss_kb(scheduler.process.pid)
    for peer in held:
        peer.close()
    return most


def main(bin_dir, how):
    tap = Tap()
    api = Api([node(f"n{number}", 8) for number in range(300)])
    with Scheduler(bin_dir, api) as scheduler:
        def nodes():
            return len(scheduler.filter(pod("p", 1000)))
        tap.check("a pod fits on every node", differs(nodes(), 300))
        before = rss_kb(scheduler.process.pid)
        most = 0
        for _ in range(3):
            most = max(most, flood(scheduler), *(rss_kb(scheduler.process.pid) for _ in range(20) if nodes()))
        is_back = how == "measured" and eventually(lambda: rss_kb(scheduler.process.pid) < before + 2048, 60)
        print(f"# VmRSS {before} kB before, {most} kB in a flood, {rss_kb(scheduler.process.pid)} kB after")
        if how == "measured":   # a sanitizer keeps what is freed
            tap.check("a flood takes memory", [] if most > before + 4096 else [f"{before} kB, at most {most} kB"])
            tap.check("… which is given back", [] if is_back else [f"{before} kB, now {rss_kb(scheduler.process.pid)}"])
        tap.check("… and it answers as before", differs(nodes(), 300))
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
