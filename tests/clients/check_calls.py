# SPDX-License-Identifier: Apache-2.0
"""check_calls: no client called a function that sim/docs/unsupported.md lists, but for those it names."""

import collections
import os
import re

from harness import TOP, Failed, check

# The page agrees with the built libraries: tests/abi sees to that.
PAGE = os.path.join(TOP, "sim", "docs", "unsupported.md")


def listed():
    """(all functions that answer NOT_SUPPORTED, those of them that clients may ask for)"""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    functions = set(re.findall(r"`((?:cu|nvml)[A-Z]\w+)`", text))
    asked = set(re.findall(r"^\| `((?:cu|nvml)[A-Z]\w+)` \| \w", text, re.M))
    if len(functions) < 50 or not asked:
        raise Failed(f"{PAGE} is not as expected: {len(functions)} functions, {len(asked)} with a reason")
    return functions, asked


@check("no client called a function that answers NOT_SUPPORTED")
def calls(clients):
    functions, asked = listed()
    found = collections.defaultdict(set)
    total = 0
    for name in sorted(os.listdir(clients.logs)):
        with open(os.path.join(clients.logs, name), encoding="utf-8", errors="replace") as lines:
            for line in lines:
                function = re.sub(r"_pt(sz|ds)$", "", line.split()[2])
                total += 1
                if function in functions:
                    found[function].add(name)
    if not total:
        raise Failed("the call logs are empty")
    refused = [f"{f}: {', '.join(sorted(n))}" for f, n in sorted(found.items()) if f not in asked]
    if refused:
        raise Failed("\n".join(refused))
