# SPDX-License-Identifier: Apache-2.0
"""managed: the resources that kube-scheduler leaves to vgpu-scheduler, as the manifests have them."""

import os
import re

MANIFEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/manifests/scheduler.yaml")


def names():
    with open(MANIFEST, encoding="utf-8") as file:
        return re.findall(r"^ *- {name: (\S+), ignoredByScheduler: true}$", file.read(), re.M)


def resources():
    """managedResources of an extender."""
    return [{"name": name, "ignoredByScheduler": True} for name in names()]
