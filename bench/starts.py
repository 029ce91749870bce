# SPDX-License-Identifier: Apache-2.0
"""starts: what vgpu-runtime adds to the start of a container, where containers can be made."""

import os
import shutil
import subprocess

AT_MOST = {"runtime_plain_added_ms": 20, "runtime_share_added_ms": 20}
# The one that Debian's packages of grpcio are for.
PYTHON = "/usr/bin/python3"


def metrics_of(build):
    """Nothing without runc, root or the daemons."""
    build = os.path.abspath(build)
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    runtime = os.path.join(build, "bin", "vgpu-runtime")
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    if not shutil.which("runc", path=path) or os.geteuid() != 0 or not os.path.exists(runtime):
        return {}
    tests = os.path.join(source, "tests")
    environment = dict(
        os.environ, PATH=path, PYTHONDONTWRITEBYTECODE="1", GRPC_VERBOSITY="NONE", RUNTIME=runtime,
        PYTHONPATH=":".join(os.path.join(tests, name) for name in ("runtime", "cli", "net")),
        DESCRIPTORS=os.path.join(build, "api", "proto", "descriptors.pb"),
        PROBE=os.path.join(build, "tests", "attack", "probe"),
        SHARE_TOOL=os.path.join(build, "tests", "attack", "share_tool"))
    subprocess.run(["ninja", "-C", build, "--quiet", "api/proto/descriptors.pb"], check=True)
    output = subprocess.run(
        [PYTHON, os.path.join(tests, "runtime", "starts.py"), os.path.join(build, "bin", "vgpu"),
         os.path.join(build, "bin", "vgpu-burn"), source],
        env=environment, check=True, text=True, stdout=subprocess.PIPE).stdout
    return {name: float(value) for name, value in map(str.split, output.splitlines())}
