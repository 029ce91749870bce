#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""names.py TABLE... HEADER...: the names that `vgpu sim inject` knows, as C rows.

From the symbol tables the functions, from the headers of types the result codes.
"""

import re
import sys

functions, results = set(), {}
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if path.endswith(".tbl"):
                match = re.search(r"\b((?:cu|nvml)[A-Z]\w*)\(", line.partition("#")[0])
                if match:
                    functions.add(match.group(1))
            else:
                match = re.match(r"\s*((?:CUDA|NVML)_(?:ERROR_\w+|SUCCESS)) = (\d+),", line)
                if match:
                    results[match.group(1)] = int(match.group(2))

if len(functions) < 900 or len(results) < 100:
    sys.exit(f"names.py: only {len(functions)} functions and {len(results)} results found")
print("/* Made by names.py. */\nstatic const char *const function_names[] = {")
for name in sorted(functions):
    print(f'        "{name}",')
print("};\nstatic const struct { const char *name; int code; } result_names[] = {")
for name in sorted(results):
    print(f'        {{ "{name}", {results[name]} }},')
print("};")
