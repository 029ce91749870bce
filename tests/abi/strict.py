# SPDX-License-Identifier: Apache-2.0
"""strict: is a warning an error where a test compiles? Where it is one for the build."""

import os

OFF = {"0", "no", "false"}  # as in the Makefile


def flags(environment=os.environ):
    return ["-Werror"] if set(environment.get("WERROR", "").split()) - OFF else []
