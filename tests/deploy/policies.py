#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""policies SOURCE_ROOT: the NetworkPolicies of deploy/manifests let nobody read metrics but who is named."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "tests" / "abi"))
from tap import Tap

MANIFESTS = pathlib.Path(sys.argv[1]) / "deploy" / "manifests"
# The API server asks the webhook from wherever it runs; the webhook's own figures name no tenant.
OPEN = {"webhook.yaml": ["8443"]}


def rules(text):
    """The rules under `ingress` of each NetworkPolicy, as text."""
    for part in re.split(r"^---\n", text, flags=re.M):
        if "\nkind: NetworkPolicy\n" in part:
            ingress = re.search(r"^  ingress:\n((?:  - .*\n|    .*\n)*)", part, re.M)
            yield from re.findall(r"^  - .*\n(?:    .*\n)*", ingress.group(1) if ingress else "", re.M)


def open_to_all(path):
    ports = []
    for rule in rules(path.read_text(encoding="utf-8")):
        if "\n    from:\n" not in rule:
            ports += re.findall(r"port: (\d+)", rule)
    return ports


def main():
    tap = Tap()
    for name in ("node.yaml", "scheduler.yaml", "webhook.yaml"):
        found = open_to_all(MANIFESTS / name)
        tap.check(f"{name}: what every pod may reach is what it must", sorted(set(found) ^ set(OPEN.get(name, []))))
    texts = [rule for name in ("node.yaml", "scheduler.yaml")
             for rule in rules((MANIFESTS / name).read_text(encoding="utf-8")) if re.search(r"port: 939\d", rule)]
    tap.check("metrics are for the namespaces that the values name",
              [] if len(texts) == 2 and all('values: ["monitoring"]' in text for text in texts) else texts or ["none"])
    tap.done()


main()
