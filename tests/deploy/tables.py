#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The chart and the scheduler's options repeat names of our tables: tables.py SOURCE_ROOT PRINT_TABLES VGPU_SCHEDULER"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "tests", "abi"))
from tap import Tap

SOURCE, PRINTER, SCHEDULER = sys.argv[1:4]


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def main():
    tap = Tap()
    rows = [line.split() for line in run(PRINTER).stdout.splitlines()]
    policies = [row[1] for row in rows if row[0] == "node-policy" and len(row) == 2]
    of_pods = [row[1] for row in rows if row[0] == "node-policy" and len(row) > 2]
    with open(os.path.join(SOURCE, "deploy/helm/vgpu/values.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
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
    tap.done()


main()
