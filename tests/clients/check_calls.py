"""check_calls: no client called a function that the simulated driver does not simulate."""

import collections
import glob
import os
import re
import subprocess

from harness import Failed, check


def symbols(objects, kinds):
    text = subprocess.run(["nm", *objects], capture_output=True, text=True, check=True).stdout
    return {m.group(2) for m in re.finditer(rf" ([{kinds}]) sim_(\w+)$", text, re.M)}


def unsimulated(build):
    """The functions whose weak default body no source file replaces."""
    names = set()
    for library, folder in (("cuda", "libcuda.so*.p"), ("nvml", "libnvidia-ml.so*.p")):
        objects = glob.glob(os.path.join(build, "src", "sim", library, folder, "*.o"))
        if not objects:
            raise Failed(f"no objects of the simulated {library} in {build}")
        names |= symbols(objects, "W") - symbols(objects, "T")
    return names


@check("no client called a function that is not simulated")
def calls(clients):
    missing = unsimulated(clients.build)
    found = collections.defaultdict(set)
    total = 0
    for name in sorted(os.listdir(clients.logs)):
        with open(os.path.join(clients.logs, name), encoding="utf-8", errors="replace") as lines:
            for line in lines:
                total += 1
                function = re.sub(r"_pt(sz|ds)$", "", line.split()[2])
                if function in missing:
                    found[function].add(name)
    if not total:
        raise Failed("the call logs are empty")
    if found:
        raise Failed("\n".join(f"{f}: {', '.join(sorted(n))}" for f, n in sorted(found.items())))
