#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user who may create pods writes, through the rules of admission: test_pods.py REVIEW SOURCE_ROOT.

What holds where admission is passed by is in tests/e2e/cases/test_forgery.py; what a node makes of pods, in
tests/node/shares.py.
"""

import json
import os
import re
import sys

from test_rules import UUIDS, Case, unit_tap

SOURCE = sys.argv[2]
GPU = {"nvidia.com/gpumem": "200"}
RESERVED = {"vgpu.io/allocation": "{}", "vgpu.io/nominated-node": "n1", UUIDS: "{}", "vgpu.io/container-uuids-seal": "1.00",
            "volcano.sh/vgpu-ids-new": "x", "volcano.sh/devices-to-allocate": "x", "volcano.sh/vgpu-node": "n1",
            "volcano.sh/vgpu-time": "1", "volcano.sh/bind-phase": "success", "volcano.sh/bind-time": "1"}


class Author(Case):
    def cleaned(self, pod):
        """The annotations that are left of a pod, without those that admission gives."""
        made = self.mutate(pod)["metadata"].get("annotations", {})
        return {key: value for key, value in made.items() if value == RESERVED.get(key)}

    def test_every_reserved_annotation_goes(self):
        for limits in (GPU, {}):
            for name, value in RESERVED.items():
                self.assertEqual(self.cleaned(self.pod(limits, annotations={name: value})), {}, name)

    def test_annotations_of_templates_reach_no_pod(self):
        """A template may have them: what is made of it is a pod, and is cleaned then."""
        for kind, wrap in (("Job", lambda spec: {"spec": {"template": spec}}),
                           ("CronJob", lambda spec: {"spec": {"jobTemplate": {"spec": {"template": spec}}}}),
                           ("JobSet", lambda spec: {"spec": {"replicatedJobs": [{"template": {"spec": {"template": spec}}}]}})):
            pod = self.pod(GPU, annotations=dict(RESERVED))
            template = {"metadata": pod["metadata"], "spec": pod["spec"]}
            answer = self.ask("mutate", wrap(template), kind)
            self.assertTrue(answer["allowed"], kind)
            self.assertEqual(self.cleaned({"metadata": dict(template["metadata"], name="made"), "spec": pod["spec"]}), {}, kind)

    def test_names_similar_to_ours_decide_nothing(self):
        names = ("VGPU.io/allocation", "vgpu.io/Allocation", "vgpu.io/allocation\u200b", "vgpu.io/аllocation", " vgpu.io/allocation",
                 "vgpu.io/allocation\n", "nvidia.com/allocation")
        made = self.mutate(self.pod(GPU, annotations={name: "{}" for name in names}))
        self.assertNotIn("vgpu.io/allocation", made["metadata"]["annotations"])

    def test_containers_of_one_name(self):
        """The API server refuses them; here they have one identity, and each its own request."""
        pod = self.pod(GPU, GPU)
        pod["spec"]["containers"][1]["name"] = "c0"
        made = self.mutate_once(pod)
        self.assertEqual(len(json.loads(made["metadata"]["annotations"][UUIDS])), 1)
        self.assertEqual([one["resources"]["limits"]["nvidia.com/gpumem"] for one in made["spec"]["containers"]], ["200"] * 2)

    def test_ephemeral_containers_get_no_share(self):
        pod = self.pod(GPU, ephemeralContainers=[{
            "name": "debug", "image": "x", "targetContainerName": "c0",
            "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}, {"name": "VGPU_MEMORY_LIMIT", "value": "9g"}],
            "resources": {"limits": {"nvidia.com/gpumem": "9000"}}}])
        made = self.mutate(pod)
        self.assertEqual(set(json.loads(made["metadata"]["annotations"][UUIDS])), {"c0"})

    def test_what_the_host_shares_changes_no_request(self):
        for more in ({"hostPID": True}, {"hostNetwork": True}, {"hostIPC": True}, {"shareProcessNamespace": True},
                     {"securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}}):
            made = self.mutate(self.pod(GPU, **more))
            self.assertEqual((made["spec"]["schedulerName"], made["spec"]["runtimeClassName"]), ("vgpu-scheduler", "vgpu"))

    def test_a_node_by_hand_in_every_form(self):
        self.refused("only the scheduler may place", self.pod(GPU, nodeName="n1"))
        for selector in ({"nodeSelector": {"kubernetes.io/hostname": "n1"}},
                         {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                             "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In",
                                                                     "values": ["n1"]}]}]}}}}):
            self.assertEqual(self.mutate(self.pod(GPU, **selector))["spec"]["schedulerName"], "vgpu-scheduler")

    def test_runtime_classes_without_vgpu(self):
        for limits in (GPU, {}):
            self.refused("hands out GPUs without vgpu", self.pod(limits, runtimeClassName="nvidia"))

    def test_amounts_that_are_none(self):
        for amount in ("-1", "1e400", "0x10", "NaN", "1.5", "99999999999999999999", "1Ei", "", " 1", "1\u0000", "١"):
            self.refused("", self.pod({"nvidia.com/gpumem": amount}))
        for amount in ("101", "-1", "1e3"):
            self.refused("", self.pod({"nvidia.com/gpu": "1", "nvidia.com/gpucores": amount}))

    def test_a_mebibyte_of_annotations(self):
        large = {"vgpu.io/memory": "1" * 200000, **{f"a/{number}": "x" * 1000 for number in range(250)}}
        self.refused("vgpu.io/memory", self.pod(GPU, annotations=large))
        del large["vgpu.io/memory"]
        self.assertIn("vgpu.io/container-uuids", self.mutate(self.pod(GPU, annotations=large))["metadata"]["annotations"])

    def test_fields_of_the_wrong_kind(self):
        for path, value in ((("metadata", "annotations"), []), (("metadata", "annotations"), "x"),
                            (("spec", "containers"), {}), (("spec", "containers"), [1, None, []]), (("spec", "initContainers"), "x"),
                            (("spec", "schedulerName"), 7), (("spec", "runtimeClassName"), {}), (("spec", "nodeName"), []),
                            (("metadata",), None), (("spec",), [])):
            pod = self.pod(GPU)
            target = pod
            for key in path[:-1]:
                target = target[key]
            target[path[-1]] = value
            answer = self.ask("mutate", pod)        # an answer, whichever: the API server refuses such pods
            self.assertIn("allowed", answer, path)

    def test_changes_reach_admission_by_every_door(self):
        """The status, a Binding by either name, and the pod itself."""
        folder = os.path.join(SOURCE, "deploy", "manifests")
        text = "".join(open(os.path.join(folder, name), encoding="utf-8").read() for name in sorted(os.listdir(folder))
                       if name.endswith(".yaml"))
        rules = re.findall(r"operations: \[([^\]]*)\], resources: \[([^\]]*)\]", text)
        seen = {(operation.strip(), resource.strip()) for operations, resources in rules
                for operation in operations.split(",") for resource in resources.split(",")}
        for door in (("CREATE", "pods"), ("UPDATE", "pods"), ("UPDATE", "pods/status"), ("CREATE", "pods/binding"),
                     ("CREATE", "bindings")):
            self.assertIn(door, seen)


if __name__ == "__main__":
    unit_tap.run("__main__", sys.argv[3:])
