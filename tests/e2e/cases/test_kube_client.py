# SPDX-License-Identifier: Apache-2.0
"""The client of the API server that the daemons share, against a real API server of its own."""

import os
import subprocess

from fixtures import case, expect
from paths import BUILD, PATH, PYTHON, TOP


@case("lists in pages, watches, conflicts, and a server that is killed: the client keeps up",
      profile="outside")
def real_server():
    done = subprocess.run([PYTHON, os.path.join(TOP, "tests/net/kube_real.py"),
                           os.path.join(BUILD, "tests/net/peer_kube")], env={**os.environ, "PATH": PATH},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=600)
    expect(done.returncode == 0 and "SKIP" not in done.stdout, done.stdout)
