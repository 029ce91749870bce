#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What admission makes of pods and templates: test_rules.py REVIEW."""

import base64
import copy
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import unit_tap  # noqa: E402

REVIEW = sys.argv[1]
SCHEDULER = "system:serviceaccount:vgpu-system:vgpu-scheduler"
VOLCANO = "system:serviceaccount:volcano-system:volcano-scheduler"
UUIDS, SEAL = "vgpu.io/container-uuids", "vgpu.io/container-uuids-seal"


def patched(document, operations):
    """RFC 6902, as far as add, replace and remove of members go."""
    document = copy.deepcopy(document)
    for operation in operations:
        *parents, last = [part.replace("~1", "/").replace("~0", "~")
                          for part in operation["path"].split("/")[1:]]
        target = document
        for part in parents:
            target = target[int(part) if isinstance(target, list) else part]
        if operation["op"] == "remove":
            del target[last]
        else:
            assert (last in target) == (operation["op"] == "replace"), operation
            target[last] = operation["value"]
    return document


class Case(unittest.TestCase):
    leave = False       # gpu.das.com/mem to the queue

    def ask(self, side, thing, kind="Pod", operation="CREATE", now=1000, **more):
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u-1", "kind": {"kind": kind}, "operation": operation, "namespace": "team",
            "userInfo": {"username": "alice"}, "object": thing, **more}}
        done = subprocess.run([REVIEW, side], input=json.dumps(review), text=True, capture_output=True,
                              env={**os.environ, "VGPU_TEST_NOW": str(now),
                                   **({"VGPU_TEST_LEAVE": "1"} if self.leave else {})}, check=True)
        answer = json.loads(done.stdout)
        self.assertEqual((answer["apiVersion"], answer["kind"]), ("admission.k8s.io/v1", "AdmissionReview"))
        self.assertEqual(answer["response"]["uid"], "u-1")
        return answer["response"]

    def mutate(self, thing, kind="Pod", **more):
        """The thing as admission leaves it. Done again, nothing changes; and it is valid."""
        once = self.mutate_once(thing, kind, **more)
        again = self.ask("mutate", once, kind, **more)
        self.assertNotIn("patch", again)
        self.assertTrue(again["allowed"])
        self.assertTrue(self.ask("validate", once, kind, **more)["allowed"])
        return once

    def mutate_once(self, thing, kind="Pod", **more):
        response = self.ask("mutate", thing, kind, **more)
        self.assertTrue(response["allowed"], response)
        if "patch" not in response:
            return thing
        self.assertEqual(response["patchType"], "JSONPatch")
        return patched(thing, json.loads(base64.b64decode(response["patch"])))

    def refused(self, part, thing, side="mutate", **more):
        response = self.ask(side, thing, **more)
        self.assertFalse(response["allowed"])
        self.assertIn(part, response["status"]["message"])

    def pod(self, *limits, annotations=None, requests=None, **spec):
        containers = [{"name": f"c{i}", "image": "x", "resources": {"limits": dict(limit)}}
                      for i, limit in enumerate(limits)]
        if requests is not None:
            containers[0]["resources"]["requests"] = requests
        pod = {"metadata": {"name": "p"}, "spec": {"containers": containers,
                                                  "schedulerName": "default-scheduler", **spec}}
        if annotations is not None:
            pod["metadata"]["annotations"] = annotations
        return pod

    def resources(self, *limits, **more):
        pod = self.mutate(self.pod(*limits, **more))
        lists = [container["resources"] for container in pod["spec"]["containers"]]
        for one in lists:
            self.assertEqual(one["limits"], one["requests"])
        return [one["limits"] for one in lists]


class Request(Case):
    def test_a_pod_without_gpu_is_left_alone(self):
        self.assertNotIn("patch", self.ask("mutate", self.pod({"cpu": "1"})))

    def test_memory_alone_is_one_gpu_of_its_family(self):
        self.assertEqual(self.resources({"nvidia.com/gpumem": "200"}),
                         [{"nvidia.com/gpumem": "200", "nvidia.com/vgpu": "1"}])
        self.assertEqual(self.resources({"volcano.sh/vgpu-cores": 30}),
                         [{"volcano.sh/vgpu-cores": 30, "volcano.sh/vgpu-number": "1"}])

    def test_a_number_alone_is_the_whole_gpu(self):
        self.assertEqual(self.resources({"nvidia.com/vgpu-number": "1"}),
                         [{"nvidia.com/vgpu-number": "1", "nvidia.com/vgpu-cores": "100"}])

    def test_seed_001_stays_as_written(self):
        limits = {"nvidia.com/gpucores": "0", "nvidia.com/gpumem": "200", "nvidia.com/vgpu": "1"}
        self.assertEqual(self.resources(limits), [limits])

    def test_requests_alone_are_copied_up(self):
        pod = self.pod({}, requests={"nvidia.com/gpumem": "200"})
        pod = self.mutate(pod)
        self.assertEqual(pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpumem"], "200")

    def test_the_same_amount_in_other_units(self):
        self.mutate(self.pod({"nvidia.com/vgpu": "2"}, requests={"nvidia.com/vgpu": "2000m"}))

    def test_containers_without_resources(self):
        pod = self.pod({"nvidia.com/gpumem": "200"})
        pod["spec"]["containers"].append({"name": "plain", "image": "x"})
        pod["spec"]["initContainers"] = [{"name": "first", "image": "x", "resources": None}]
        pod = self.mutate(pod)
        self.assertNotIn("resources", pod["spec"]["containers"][1])

    def test_what_cannot_be(self):
        for limits, sentence in (
                ({"nvidia.com/vgpu": "-1"}, "'-1' is negative"),
                ({"nvidia.com/vgpu": "500m"}, "'500m' is not a whole number"),
                ({"nvidia.com/vgpu": "many"}, "'many' is not a quantity"),
                ({"nvidia.com/vgpu": 1.5}, "not a quantity"),
                ({"nvidia.com/gpucores": "101"}, "101 is not between 0 and 100"),
                ({"nvidia.com/vgpu": "1", "volcano.sh/vgpu-number": "2"}, "says 2"),
                ({"nvidia.com/vgpu": "9223372036854775808"}, "is too large")):
            self.refused(sentence, self.pod(limits))
            self.refused("container 'c0'", self.pod(limits))
        self.refused("differ", self.pod({"nvidia.com/vgpu": "1"}, requests={"nvidia.com/vgpu": "2"}))


class Profiles(Case):
    def test_memory_for_queues(self):
        for name in ("nvidia.com/mig-1g.5gb", "mig.das.com/1g.5gb"):
            self.assertEqual(self.resources({name: "2"}), [{name: "2", "gpu.das.com/mem": "10"}])
        self.assertEqual(self.resources({"nvidia.com/mig-3g.20gb": 1})[0]["gpu.das.com/mem"], "20")
        self.assertEqual(self.resources({"nvidia.com/mig-1g.10gb.me": "1"})[0]["gpu.das.com/mem"], "10")

    def test_profiles_add_up_in_each_container_apart(self):
        first, second = self.resources({"nvidia.com/mig-1g.5gb": "1", "nvidia.com/mig-2g.10gb": "2"},
                                       {"nvidia.com/mig-1g.5gb": "1"})
        self.assertEqual((first["gpu.das.com/mem"], second["gpu.das.com/mem"]), ("25", "5"))

    def test_init_containers_and_sidecars(self):
        pod = self.pod({})
        pod["spec"]["initContainers"] = [{"name": "side", "restartPolicy": "Always", "resources":
                                          {"limits": {"nvidia.com/mig-1g.5gb": "1"}}}]
        pod = self.mutate(pod)
        self.assertEqual(pod["spec"]["initContainers"][0]["resources"]["requests"]["gpu.das.com/mem"], "5")

    def test_memory_that_the_pod_requests(self):
        self.assertEqual(self.resources({"nvidia.com/mig-1g.5gb": "1", "gpu.das.com/mem": 5}),
                         [{"nvidia.com/mig-1g.5gb": "1", "gpu.das.com/mem": 5}])
        self.refused("come to 5", self.pod({"nvidia.com/mig-1g.5gb": "1", "gpu.das.com/mem": "6"}))

    def test_memory_that_the_queue_counts(self):
        self.leave = True
        limits = {"nvidia.com/mig-1g.5gb": "2"}
        self.assertEqual(self.resources(limits), [limits])
        self.refused("counted twice", self.pod({**limits, "gpu.das.com/mem": "10"}))

    def test_a_template_that_nobody_touched_stays(self):
        """It may be older than admission, and a Job's cannot be changed any more."""
        spec = self.pod({"nvidia.com/mig-1g.5gb": "2"})["spec"]
        old = {"spec": {"suspend": True, "template": {"spec": spec}}}
        new = {"spec": {"suspend": False, "template": {"spec": spec}}}
        self.assertNotIn("patch", self.ask("mutate", new, "Job", operation="UPDATE", oldObject=old))
        new = copy.deepcopy(old)
        new["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/mig-1g.5gb"] = "3"
        made = self.mutate_once(new, "Job", operation="UPDATE", oldObject=old)
        self.assertEqual(made["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
                         ["gpu.das.com/mem"], "15")

    def test_templates(self):
        spec = self.pod({"nvidia.com/mig-1g.5gb": "2"})["spec"]
        for kind, thing, path in (
                ("Job", {"spec": {"template": {"spec": spec}}}, "spec/template/spec"),
                ("CronJob", {"spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}},
                 "spec/jobTemplate/spec/template/spec"),
                ("JobSet", {"spec": {"replicatedJobs": [{"template": {"spec": {"template": {"spec": spec}}}}]}},
                 "spec/replicatedJobs/0/template/spec/template/spec")):
            target = self.mutate(thing, kind)
            for part in path.split("/"):
                target = target[int(part) if part.isdigit() else part]
            limits = target["containers"][0]["resources"]["limits"]
            self.assertEqual(limits["gpu.das.com/mem"], "10", kind)
            self.assertEqual(target["schedulerName"], "default-scheduler")
            owned = {**copy.deepcopy(thing), "metadata": {"ownerReferences": [{"controller": True}]}}
            self.assertNotIn("patch", self.ask("mutate", owned, kind))
        self.assertNotIn("patch", self.ask("mutate", {"spec": {"template": {"spec": spec}}}, "Deployment"))


class Way(Case):
    """Scheduler, runtime, identity."""

    GPU = {"nvidia.com/gpumem": "200"}

    def test_scheduler(self):
        self.assertEqual(self.mutate(self.pod(self.GPU))["spec"]["schedulerName"], "vgpu-scheduler")
        pod = self.pod(self.GPU, schedulerName="volcano")
        self.assertEqual(self.mutate(pod)["spec"]["schedulerName"], "volcano")

    def test_runtime_class(self):
        self.assertEqual(self.mutate(self.pod(self.GPU))["spec"]["runtimeClassName"], "vgpu")
        pod = self.pod(self.GPU, runtimeClassName="kata")
        self.assertEqual(self.mutate(pod)["spec"]["runtimeClassName"], "kata")
        self.refused("hands out GPUs without vgpu", self.pod(self.GPU, runtimeClassName="nvidia"))
        self.refused("hands out GPUs without vgpu", self.pod({}, runtimeClassName="nvidia"))

    def test_node_by_hand(self):
        self.refused("only the scheduler may place", self.pod(self.GPU, nodeName="n1"))
        self.assertNotIn("patch", self.ask("mutate", self.pod({"cpu": "1"}, nodeName="n1")))

    def test_uuids_of_gpu_containers(self):
        pod = self.mutate(self.pod(self.GPU, {"cpu": "1"}, self.GPU))
        uuids = json.loads(pod["metadata"]["annotations"][UUIDS])
        self.assertEqual(set(uuids), {"c0", "c2"})
        self.assertNotEqual(uuids["c0"], uuids["c2"])
        for uuid in uuids.values():
            self.assertRegex(uuid, "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")

    def test_what_a_user_wrote_is_replaced(self):
        forged = {UUIDS: '{"c0": "mine"}', SEAL: "1000.00", "vgpu.io/allocation": "{}", "team": "a",
                  "vgpu.io/nominated-node": "n1"}
        pod = self.mutate(self.pod(self.GPU, annotations=forged))
        annotations = pod["metadata"]["annotations"]
        self.assertNotIn("mine", annotations[UUIDS])
        self.assertNotIn("vgpu.io/allocation", annotations)
        self.assertNotIn("vgpu.io/nominated-node", annotations)
        self.assertEqual(annotations["team"], "a")
        plain = self.mutate(self.pod({}, annotations=forged))
        self.assertEqual(plain["metadata"]["annotations"], {"team": "a"})

    def test_an_old_seal_does_not_hold(self):
        pod = self.mutate(self.pod(self.GPU))
        self.assertIn("patch", self.ask("mutate", pod, now=1061))
        self.assertNotIn("patch", self.ask("mutate", pod, now=1060))

    def test_a_seal_of_a_replica_whose_clock_is_ahead_holds(self):
        pod = self.mutate(self.pod(self.GPU))
        self.assertNotIn("patch", self.ask("mutate", pod, now=999))
        self.assertNotIn("patch", self.ask("mutate", pod, now=940))
        self.assertIn("patch", self.ask("mutate", pod, now=939))

    def test_a_seal_of_another_namespace_does_not_hold(self):
        pod = self.mutate(self.pod(self.GPU))
        self.assertIn("patch", self.ask("mutate", pod, namespace="other"))

    def test_more_memory_than_any_gpu_has_is_a_warning(self):
        self.assertNotIn("warnings", self.ask("mutate", self.pod({"nvidia.com/gpumem": "40960"})))
        answer = self.ask("mutate", self.pod({"cpu": "1"}, {"nvidia.com/gpumem": "40961"}))
        self.assertTrue(answer["allowed"])
        self.assertEqual(answer["warnings"], ["container 'c1' waits: it asks for 40961 MiB of one GPU, and the "
                                              "largest here has 40960"])

    def test_a_pod_with_a_nul_is_taken_as_the_scheduler_takes_it(self):
        pod = self.pod({"nvidia.com/gpumem": "1000"}, annotations={"note": "a\0b\x01"})
        done = self.mutate_once(pod)
        self.assertEqual(done["metadata"]["annotations"]["note"], "a\0b\x01")
        # What is ours means nothing with a NUL, and is no shorter text.
        self.refused("vgpu.io", self.pod({"nvidia.com/gpumem": "1000"}, annotations={"vgpu.io/memory-max": "1g\0"}))

    def test_unknown_fields_stay(self):
        pod = self.pod(self.GPU)
        pod["spec"]["futureField"] = {"a": [1, {"b": 2.50}], "n": 9007199254740993}
        self.assertEqual(self.mutate(pod)["spec"]["futureField"], pod["spec"]["futureField"])

    def test_policies(self):
        for name, values in (("node-policy", "binpack spread none"), ("device-policy", "binpack spread none"),
                             ("topology", "none numa numa-strict link link-strict"),
                             ("cores-policy", "fixed balance none")):
            for value in values.split():
                self.mutate(self.pod(self.GPU, annotations={f"vgpu.io/{name}": value}))
        self.refused("expected one of: binpack", self.pod(self.GPU, annotations={"hami.io/node-scheduler-policy": "big"}))
        self.refused("expected one of: fixed, balance, none",
                     self.pod(self.GPU, annotations={"nvidia.com/vgpu-compute-policy": "soft"}))
        self.refused("expected one of: none, numa", self.pod(self.GPU, annotations={"vgpu.io/topology": "ring"}))


class Change(Case):
    GPU = {"nvidia.com/gpumem": "200", "nvidia.com/gpucores": "30"}

    def change(self, before, after, user="alice"):
        return self.ask("validate", self.pod(self.GPU, annotations=after), operation="UPDATE",
                        oldObject=self.pod(self.GPU, annotations=before), userInfo={"username": user})

    def test_reserved_annotations_are_ours(self):
        for before, after in (({}, {"vgpu.io/allocation": "{}"}), ({"vgpu.io/allocation": "{}"}, {}),
                              ({UUIDS: "a"}, {UUIDS: "b"}), ({}, {"volcano.sh/vgpu-ids-new": "x"})):
            self.assertFalse(self.change(before, after)["allowed"])
            self.assertTrue(self.change(before, after, SCHEDULER)["allowed"])
        self.assertTrue(self.change({"vgpu.io/allocation": "{}"},
                                    {"vgpu.io/allocation": "{}", "a": "b"})["allowed"])

    def test_resize_within_ceilings(self):
        ceilings = {"vgpu.io/memory-max": "300Mi", "vgpu.io/cores-max": "50"}
        for sizes, is_allowed in (({"vgpu.io/memory": "300Mi"}, True), ({"vgpu.io/memory": "301Mi"}, False),
                                  ({"vgpu.io/cores": "50"}, True), ({"vgpu.io/cores": "51"}, False),
                                  ({"vgpu.io/memory": "lots"}, False)):
            self.assertEqual(self.change(ceilings, {**ceilings, **sizes})["allowed"], is_allowed, sizes)
        self.assertFalse(self.change(ceilings, {**ceilings, "vgpu.io/memory-max": "1Gi"})["allowed"])

    def test_volcano_writes_its_own_annotations_alone(self):
        self.assertTrue(self.change({}, {"volcano.sh/vgpu-ids-new": "x", "volcano.sh/vgpu-node": "n"},
                                    VOLCANO)["allowed"])
        self.assertFalse(self.change({}, {"vgpu.io/allocation": "{}"}, VOLCANO)["allowed"])
        self.assertFalse(self.change({UUIDS: "a"}, {UUIDS: "b"}, VOLCANO)["allowed"])

    def test_a_size_over_the_request_cannot_be_written_at_creation_either(self):
        self.refused("over the ceiling", self.mutate_once(self.pod(self.GPU, annotations={"vgpu.io/memory": "1Gi"})),
                     side="validate")
        self.mutate(self.pod(self.GPU, annotations={"vgpu.io/memory": "1Gi", "vgpu.io/memory-max": "1Gi"}))

    def test_a_part_of_a_gpu_does_not_grow_beyond_its_request(self):
        requested = json.dumps({"version": 1, "pod": "u", "node": "n", "containers": {
            "c0": [{"uuid": "GPU-1", "memory": 4096, "cores": 0}]}})

        def change(before, **sizes):
            pods = [self.pod({"nvidia.com/gpumem-percentage": "10"}, annotations=annotations)
                    for annotations in (before, {**before, **sizes})]
            return self.ask("validate", pods[1], operation="UPDATE", oldObject=pods[0])["allowed"]
        self.assertTrue(change({"vgpu.io/allocation": requested}, **{"vgpu.io/memory": "4Gi"}))
        self.assertFalse(change({"vgpu.io/allocation": requested}, **{"vgpu.io/memory": "5Gi"}))
        self.assertFalse(change({}, **{"vgpu.io/memory": "4Gi"}))

    def test_without_ceilings_a_share_only_shrinks(self):
        self.assertTrue(self.change({}, {"vgpu.io/memory": "100Mi"})["allowed"])
        self.assertFalse(self.change({}, {"vgpu.io/memory": "201Mi"})["allowed"])
        self.assertFalse(self.change({}, {"vgpu.io/cores": "31"})["allowed"])

    def test_another_webhook_after_ours(self):
        pod = self.mutate(self.pod({"nvidia.com/mig-1g.5gb": "1"}))
        pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/mig-1g.5gb"] = "3"
        self.refused("differ", pod, side="validate")
        del pod["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/mig-1g.5gb"]
        self.refused("come to 15", pod, side="validate")

    def test_a_binding_carries_our_decision_only(self):
        binding = {"metadata": {"annotations": {"vgpu.io/allocation": "{}"}}}
        for user, is_allowed in (("alice", False), (SCHEDULER, True)):
            for sub in ("binding", ""):         # of a pod, or an object of its own
                answer = self.ask("validate", binding, kind="Binding", subResource=sub,
                                  userInfo={"username": user})
                self.assertEqual(answer["allowed"], is_allowed)


    def test_a_binding_of_volcanos_repeats_what_the_pod_has(self):
        pod = self.mutate(self.pod(self.GPU))
        given = {key: pod["metadata"]["annotations"][key] for key in (UUIDS, SEAL)}
        decision = {"volcano.sh/vgpu-ids-new": "x", "team": "a"}

        def bind(user, **annotations):
            return self.ask("validate", {"metadata": {"annotations": {**given, **decision, **annotations}}},
                            kind="Binding", subResource="binding", userInfo={"username": user}, now=90000)["allowed"]
        self.assertTrue(bind(VOLCANO))
        self.assertFalse(bind("alice"))
        self.assertFalse(bind(VOLCANO, **{UUIDS: '{"c0":"mine"}'}))
        self.assertFalse(bind(VOLCANO, **{"vgpu.io/allocation": "{}"}))


class Envelope(unittest.TestCase):
    def test_what_is_no_review(self):
        for body in ("", "{", "[]", "{}", '{"kind": "AdmissionReview"}', '{"a":' * 3000,
                     '{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {}}',
                     '{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {}}'):
            done = subprocess.run([REVIEW, "mutate"], input=body, text=True, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""), body[:40])
            self.assertTrue(done.stderr.strip())


if __name__ == "__main__":
    unit_tap.run("__main__", sys.argv[2:])
