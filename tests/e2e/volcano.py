# SPDX-License-Identifier: Apache-2.0
"""volcano: what Volcano's scheduler and controllers find in the cluster when they start."""

import json
import os

from kube import Kube
from paths import VOLCANO


def prepare():
    kube = Kube()
    with open(os.path.join(VOLCANO, "volcano.json"), encoding="utf-8") as file:
        kube.install(json.load(file))
    kube.apply("""\
apiVersion: v1
kind: Namespace
metadata: {name: volcano-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: volcano-scheduler}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects:
- {kind: ServiceAccount, name: volcano-scheduler, namespace: volcano-system}
- {kind: ServiceAccount, name: volcano-controllers, namespace: volcano-system}
""")
