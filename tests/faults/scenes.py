# SPDX-License-Identifier: Apache-2.0
"""scenes: our daemons, each with what it works with, for the tests of faults."""

import os
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parent.parent / name) for name in ("cli", "net", "runtime")]
from cli_case import SOURCE, VGPU  # noqa: E402

from cluster_scene import Scheduler, Webhook  # noqa: E402
from node_scene import ClusterNode, StandaloneNode  # noqa: E402

BUILD = pathlib.Path(VGPU).parent.parent
GOLDEN = pathlib.Path(SOURCE, "tests/runtime/golden")
DESCRIPTORS = os.environ["DESCRIPTORS"]
LIBRARY = os.environ["FAULTS"]


def daemons(folder):
    """Name → how it is made, below the folder."""
    folder = pathlib.Path(folder)
    return {
        "vgpu-node": lambda: ClusterNode(folder / "node", BUILD, DESCRIPTORS),
        "vgpu-node --standalone": lambda: StandaloneNode(folder / "alone", BUILD, DESCRIPTORS, GOLDEN),
        "vgpu-scheduler": lambda: Scheduler(folder / "scheduler", BUILD),
        "vgpu-webhook": lambda: Webhook(folder / "webhook", BUILD),
    }
