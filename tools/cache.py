# SPDX-License-Identifier: Apache-2.0
"""cache: the folder of what is fetched and made once; tools/cache.sh has the same rule for the shell."""

import os


def cache_path(*names):
    """A folder below it."""
    base = os.environ.get("VGPU_CACHE")
    if not base:
        base = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vgpu")
    return os.path.join(base, *names)
