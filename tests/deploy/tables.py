#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The chart and the scheduler's options repeat names of our tables: tables.py SOURCE_ROOT PRINT_TABLES VGPU_SCHEDULER"""

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "tests", "abi"))
from tap import Tap

SOURCE, PRINTER, SCHEDULER = sys.argv[1:4]


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def read(path):
    with open(os.path.join(SOURCE, "deploy", path), encoding="utf-8") as file:
        return file.read()


def rows_of(*words):
    return [line.split() for line in run(PRINTER, *words).stdout.splitlines()]


def pattern_of(domain, with_gpu):
    """vgpu.cel.requestsGpu for these values: names that match it are admitted by vgpu-webhook, others pass."""
    text = read("helm/vgpu/templates/_names.tpl")
    gpu = re.search(r'\$gpu := ternary "(.*?)" "" \$values', text).group(1) if with_gpu else ""
    return re.search(r'\$names := printf "(.*?)"', text).group(1) % (domain.replace(".", "[.]"), gpu)


def alternatives(pattern):
    """"^(a/(b|c)|d)" as "^a/b", "^a/c", "^d"."""
    inner = re.fullmatch(r"\^\((.*?)/\((.*?)\)\|(.*)\)", pattern)
    return [f"^{inner.group(1)}/{name}" for name in inner.group(2).split("|")] + \
        [f"^{name}" for name in inner.group(3).split("|")]


def check_admission(tap, domain, with_gpu):
    pattern = pattern_of(domain, with_gpu)
    names = {row[1]: row[2] for row in rows_of(domain) if row[0] == "resource"}
    ours = [name for name, kind in names.items() if kind != "optional" or with_gpu]
    what = f"the chart's pattern for {domain}{' and its gpu' if with_gpu else ''}"
    tap.check(f"{what} matches every resource of the table",
              [name for name in ours if not re.match(pattern, name)] if ours else "the table has none")
    others = [*(names.keys() - ours), "cpu", "memory", f"{domain}/gpu.shared", f"x{domain}/vgpu"]
    tap.check(f"{what} matches no other, and each of its parts some",
              [name for name in others if re.match(pattern, name)] +
              [part for part in alternatives(pattern) if not any(re.match(part, name) for name in ours)])


def check_resources(tap):
    for domain, with_gpu in (("nvidia.com", False), ("nvidia.com", True), ("gpu.example.com", False)):
        check_admission(tap, domain, with_gpu)
    patterns = set(re.findall(r"k[.]matches\('(.*?)'\)", read("manifests/admission.yaml")))
    tap.check("the manifests have the chart's pattern", sorted(patterns ^ {pattern_of("nvidia.com", False)}))
    rows = [row for row in rows_of() if row[0] == "resource"]
    managed = re.findall(r"^ *- {name: (\S+), ignoredByScheduler: true}$", read("manifests/scheduler.yaml"), re.M)
    tap.check("managedResources are the table's, each once",
              sorted({row[1] for row in rows if row[2] == "managed"} ^ set(managed)) +
              [name for name in set(managed) if managed.count(name) > 1])
    sys.path.insert(0, os.path.join(SOURCE, "tests", "e2e"))
    from managed import names       # the cases on a real Kubernetes take them from the manifests
    copies = [file for file in ("full_stack.py", "placing.py") if "managedResources\": [" in read(f"../tests/e2e/{file}")]
    tap.check("the tests on a real Kubernetes have no list of their own",
              copies + sorted(set(names()) ^ set(managed)))
    counts = {row[1] for row in rows if row[3] == "count" and row[2] == "managed"}
    listed = re.search(r"^RESOURCES = (\[.*\])$", read("../tests/e2e/full_stack.py"), re.M)
    tap.check("… and each resource that counts",
              sorted(counts ^ set(json.loads(listed.group(1)))) if listed else "there is no RESOURCES")
    optional = re.findall(r'ternary \(list "(.*?)"\) list [.]Values[.]nvidiaGpu',
                          read("helm/vgpu/templates/_scheduler.tpl"))
    tap.check("the optional ones come with nvidiaGpu",
              sorted({row[1].partition("/")[2] for row in rows if row[2] == "optional"} ^ set(optional)))


def main():
    tap = Tap()
    rows = rows_of()
    policies = [row[1] for row in rows if row[0] == "node-policy" and len(row) == 2]
    of_pods = [row[1] for row in rows if row[0] == "node-policy" and len(row) > 2]
    schema = json.loads(read("helm/vgpu/values.schema.json"))
    enum = schema["properties"]["scheduler"]["properties"]["nodePolicy"]["enum"]
    tap.check("the chart's nodePolicy takes the policies of the table",
              "" if policies and enum == policies else f"chart: {enum}, table: {policies}")
    trouble = [name for name in policies if run(SCHEDULER, f"--node-policy={name}", "--version").returncode != 0]
    trouble += [name for name in of_pods if run(SCHEDULER, f"--node-policy={name}", "--version").returncode != 2]
    tap.check("vgpu-scheduler takes the same, and none that is for pods only",
              trouble if of_pods else "the table has none that is for pods only")
    text = run(SCHEDULER, "--help").stdout
    at = text.find("--node-policy")
    tap.check("its help names each", [name for name in policies if name not in text[at:at + 120]])
    refusal = run(SCHEDULER, "--node-policy=x").stdout
    expected = re.search(r"expected (.*?)\)", refusal)
    tap.check("its refusal names each, and no other",
              "" if expected and re.split(", | or ", expected[1]) == policies else refusal)
    check_resources(tap)
    tap.done()


main()
