# SPDX-License-Identifier: Apache-2.0
"""Where a cluster cannot run, the run says what is missing and fails."""

import os
import subprocess

from fixtures import case, expect
from paths import HERE, PYTHON


def refusal(*words, prefix=(), **variables):
    """What a run says that fails before it begins."""
    done = subprocess.run([*prefix, PYTHON, "-B", os.path.join(HERE, "cluster"), "test", *words], text=True,
                          check=False, env={**os.environ, **variables}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    expect(done.returncode == 1, f"status {done.returncode}\n{done.stdout}")
    return done.stdout


@case("a run without the commands it needs names them and fails", profile="outside")
def commands():
    text = refusal(PATH="/nonexistent")
    expect("cannot run the cluster" in text and "missing commands: unshare, nsenter" in text, text)


@case("a run without root says so and fails", profile="outside")
def root():
    text = refusal(prefix=("setpriv", "--reuid", "65534", "--clear-groups"))
    expect("need root" in text, text)


@case("a run that has no case to run fails", profile="outside")
def no_case():
    expect("no case matches" in refusal("no such case"), "it says something else")
