# SPDX-License-Identifier: Apache-2.0
"""layers SOURCE: includes point downstream only, folder by folder."""

import pathlib
import re
import sys

from tap import Tap

# What both simulated libraries stand on.
SIM_BASE = ["sim/entry", "sim/machine", "lib/base", "api"]
# Folder: what it may include besides itself. Made headers (cuda_prototypes.h …) belong to api.
MAY_SEE = {
    "api": [],
    "lib/base": [],
    "lib/terminal": ["lib/base"],
    "lib/contract": ["lib/base", "lib/model"],
    "lib/model": ["lib/base"],
    "lib/net": ["lib/base"],
    "lib/kube": ["lib/net", "lib/model", "lib/base"],
    "lib/cluster": ["lib/kube", "lib/net", "lib/model", "lib/base"],
    "lib/arbiter": ["lib/contract", "lib/model", "lib/base"],
    "src/node/gpu": ["lib/net", "lib/model", "lib/base", "api"],
    "src/node/config": ["src/node/gpu", "lib/kube", "lib/net", "lib/model", "lib/base"],
    "src/node/share": ["src/node/gpu", "lib/kube", "lib/net", "lib/contract", "lib/model",
                       "lib/base"],
    "src/node/pod": ["src/node/share", "src/node/gpu", "lib/kube", "lib/net", "lib/contract",
                     "lib/model", "lib/base", "api"],
    "src/node/mig": ["src/node/pod", "src/node/gpu", "lib/contract", "lib/base", "api"],
    "src/node/kubelet": ["src/node/mig", "src/node/pod", "src/node/share", "src/node/gpu",
                         "src/node/config", "lib/kube", "lib/net", "lib/contract", "lib/model",
                         "lib/base", "api"],
    "src/node/arbiter": ["src/node/share", "lib/arbiter", "lib/net", "lib/contract", "lib/base"],
    "src/node/audit": ["src/node/arbiter", "src/node/pod", "src/node/share", "src/node/gpu",
                       "src/node/config", "lib/contract", "lib/model", "lib/base"],
    "src/node/serve": ["src/node/audit", "src/node/arbiter", "src/node/kubelet", "src/node/mig",
                       "src/node/pod", "src/node/share", "src/node/config", "lib/arbiter",
                       "lib/kube", "lib/net", "lib/contract", "lib/model", "lib/base", "api"],
    "src/node/metrics": ["src/node/audit", "src/node/kubelet", "src/node/pod", "src/node/share",
                         "src/node/gpu", "src/node/config", "lib/kube", "lib/net", "lib/contract", "lib/base"],
    "src/node": ["src/node/metrics", "src/node/serve", "src/node/audit", "src/node/kubelet",
                 "src/node/pod", "src/node/share", "src/node/gpu", "src/node/config", "lib/kube",
                 "lib/net", "lib/base"],
    "src/cli": ["src/cli/show", "src/cli/snapshot", "src/cli/base", "lib/terminal", "sim/machine", "lib/base"],
    "src/cli/run": ["src/cli/share", "src/cli/base", "lib/contract", "sim/machine", "lib/model", "lib/base"],
    "src/cli/set": ["src/cli/snapshot", "src/cli/share", "src/cli/base", "lib/arbiter", "lib/contract", "lib/model",
                    "lib/base"],
    "src/cli/show": ["src/cli/snapshot", "src/cli/base", "lib/terminal", "lib/contract", "lib/model", "lib/base"],
    "src/cli/doctor": ["src/cli/share", "src/cli/base", "lib/terminal", "lib/contract", "lib/base"],
    "src/cli/sim": ["src/cli/base", "lib/terminal", "sim/machine", "lib/model", "lib/base"],
    "src/cli/snapshot": ["src/cli/share", "src/cli/base", "lib/terminal", "lib/net", "lib/contract", "sim/machine",
                         "lib/model", "lib/base", "api"],
    "src/cli/share": ["src/cli/base", "lib/arbiter", "lib/contract", "sim/machine", "lib/model", "lib/base", "api"],
    "src/cli/base": ["lib/terminal", "lib/contract", "sim/machine", "lib/model", "lib/base"],
    "src/cluster": ["lib/terminal", "lib/cluster", "lib/kube", "lib/net", "lib/contract", "lib/model", "lib/base"],
    "src/burn": ["lib/base", "lib/model", "api"],
    "src/preload/entry": ["src/preload/charges", "src/preload/pace", "src/preload/gate", "src/preload/ledger",
                          "src/preload/real", "lib/contract", "lib/base", "api"],
    "src/preload/charges": ["src/preload/gate", "src/preload/ledger", "src/preload/real", "lib/contract", "lib/base",
                            "api"],
    "src/preload/pace": ["src/preload/gate", "src/preload/ledger", "src/preload/real", "lib/contract", "lib/base",
                         "api"],
    "src/preload/gate": ["src/preload/ledger", "src/preload/real", "lib/contract", "lib/model", "lib/base", "api"],
    "src/preload/ledger": ["lib/contract", "lib/base"],
    "src/preload/real": ["api"],
    "sim/entry": ["lib/base"],
    "sim/machine": ["lib/base"],
    "sim/cuda/core": [*SIM_BASE],
    "sim/cuda/stream": ["sim/cuda/core", *SIM_BASE],
    "sim/cuda/memory": ["sim/cuda/core", "sim/cuda/stream", *SIM_BASE],
    "sim/cuda/texture": ["sim/cuda/core", "sim/cuda/stream", "sim/cuda/memory", "sim/ptx", *SIM_BASE],
    "sim/cuda/module": ["sim/cuda/core", "sim/cuda/stream", "sim/cuda/memory", "sim/cuda/texture", "sim/ptx", *SIM_BASE],
    "sim/cuda/launch": ["sim/cuda/core", "sim/cuda/stream", "sim/cuda/memory", "sim/cuda/texture", "sim/cuda/module", "sim/ptx", *SIM_BASE],
    "sim/cuda/graph": ["sim/cuda/core", "sim/cuda/stream", "sim/cuda/memory", "sim/cuda/module", "sim/cuda/launch", *SIM_BASE],
    "sim/cuda/context": ["sim/cuda/core", "sim/cuda/stream", "sim/cuda/memory", "sim/cuda/module", *SIM_BASE],
    "sim/nvml/core": [*SIM_BASE],
    "sim/nvml/mig": ["sim/nvml/core", *SIM_BASE],
    "sim/nvml/process": ["sim/nvml/core", *SIM_BASE],
    "sim/nvml/device": ["sim/nvml/core", "sim/nvml/mig", "sim/nvml/process", *SIM_BASE],
    "sim/ptx": ["lib/base"],
    "sim/ptx/parse": ["sim/ptx", "lib/base"],
    "sim/ptx/run": ["sim/ptx/parse", "sim/ptx", "lib/base"],
    "sim/ptx/ops": ["sim/ptx/run", "sim/ptx/parse", "sim/ptx", "lib/base"],
    "src/scheduler": ["lib/cluster", "lib/kube", "lib/net", "lib/model", "lib/base"],
    "src/runtime": ["lib/kube", "lib/net", "lib/contract", "sim/machine", "lib/model", "lib/base"],
    "src/webhook": ["lib/kube", "lib/net", "lib/model", "lib/base"],
}
# Below these folders no two modules (a .c and its .h) include each other, directly or through others.
ACYCLIC = ["src/preload", "sim/cuda"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def layer(path):
    """The row of MAY_SEE that a file belongs to: its folder, or the nearest one above."""
    folder = path.parent
    while str(folder) not in MAY_SEE and folder != folder.parent:
        folder = folder.parent
    return str(folder) if str(folder) in MAY_SEE else None


def circles(graph):
    """The nodes of a graph that reach themselves."""
    found = []
    for start in sorted(graph):
        seen, todo = set(), list(graph[start])
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo.extend(graph.get(node, ()))
        if start in seen:
            found.append(start)
    return found


def module_graph(source, files):
    """Which module includes which. A module is a path without ending: names recur in other folders."""
    home = {file.name: str(file.with_suffix("")) for file in files if file.suffix == ".h"}
    graph = {}
    for file in files:
        mine = str(file.with_suffix(""))
        names = INCLUDE.findall((source / file).read_text(encoding="utf-8"))
        graph.setdefault(mine, set()).update(home[name] for name in names if home.get(name, mine) != mine)
    return graph


def drawing(page):
    """The block of ARCHITECTURE.md: by program or library, what each of its folders reaches by the arrows, and all
    names that are drawn for it. A name without a path is a folder of the program."""
    block = re.search(r"^## Layer order\n.*?^```\n(.*?)^```", page, re.M | re.S)[1]
    entries = re.sub(r"\n\s+", " ", block).splitlines()    # a line that is indented goes on
    drawn = {}
    for line in entries:
        lefts, remainder = re.split(r"\s+→\s+", line, maxsplit=1)
        for left in lefts.split(", "):
            edges = {}
            for number, chain in enumerate(remainder.split(";")):
                groups = [[f"{left}/{name}" if f"{left}/{name}" in MAY_SEE else name for name in group.strip().split(", ")]
                          for group in chain.split("→")]
                groups = [[left], *groups] if number == 0 else groups
                for above, below in zip(groups, groups[1:]):
                    for name in above:
                        edges.setdefault(name, set()).update(below)
            drawn[left] = edges
    return drawn


def reached(edges, start):
    seen, todo = set(), [start]
    while todo:
        for name in edges.get(todo.pop(), ()):
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return seen


def undrawn(drawn):
    """Where ARCHITECTURE.md and MAY_SEE differ."""
    wrong, seen = [], {}
    for folder, may_see in MAY_SEE.items():
        entry = next((left for left in drawn if f"{folder}/".startswith(f"{left}/")), None)
        if not entry:
            wrong += [f"{folder} is not drawn"] if may_see else []
            continue
        edges = drawn[entry]
        own = {name for name in reached(edges, entry) if name.startswith(f"{entry}/")}
        if own and folder not in own | {entry}:
            wrong.append(f"{folder} is not drawn in {entry}")
        seen.setdefault(entry, set()).update(may_see)
        arrows = reached(edges, folder if own else entry)
        wrong += [f"{folder} may include {name}, and no arrow leads there" for name in may_see
                  if name not in arrows and (own or not f"{name}/".startswith(f"{entry}/"))]
        wrong += [f"an arrow leads from {folder} to {name}, which may not be included there"
                  for name in sorted(edges.get(folder, set()) & own)
                  if folder in own and not any(name in MAY_SEE[other] for other in own if name in edges.get(other, ()))]
    for entry, edges in drawn.items():
        names = set().union(*edges.values())
        wrong += [f"{name} is drawn for {entry}, and is no folder" for name in sorted(names - MAY_SEE.keys())]
        wrong += [f"{name} is drawn for {entry}, which may not include it"
                  for name in sorted((names & MAY_SEE.keys()) - seen.get(entry, set()))
                  if not name.startswith(f"{entry}/")]
    return wrong


def main(source):
    tap = Tap()
    source = pathlib.Path(source)
    files = [f.relative_to(source) for top in ("api", "lib", "sim", "src")
             for f in sorted((source / top).rglob("*.[ch]"))
             if f.relative_to(source).parts[1] != "tests"]
    owner = {f.name: layer(f) for f in files if f.suffix == ".h"}
    homeless, upstream, paths = [], [], []
    for file in files:
        mine = layer(file)
        if mine is None:
            homeless.append(str(file))
            continue
        for name in INCLUDE.findall((source / file).read_text(encoding="utf-8")):
            theirs = owner.get(name, "api" if name.endswith("_prototypes.h") else mine)
            if "/" in name:
                paths.append(f"{file} includes {name}")
            elif theirs != mine and theirs not in MAY_SEE[mine]:
                upstream.append(f"{file} ({mine}) includes {name} ({theirs})")
    tap.check("every folder has a place among the layers", homeless)
    tap.check("includes point downstream", upstream)
    tap.check("no folder sees itself through others", circles(MAY_SEE))
    drawn = drawing((source / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    tap.check("ARCHITECTURE.md draws the same layers", undrawn(drawn) if len(drawn) > 10 else f"only {sorted(drawn)}")
    tap.check("an include is a name, not a path", paths)
    tap.check("no two headers include each other",
              circles(module_graph(source, [f for f in files if f.suffix == ".h"])))
    for top in ACYCLIC:
        inside = [f for f in files if str(f).startswith(f"{top}/")]
        tap.check(f"no two modules of {top} include each other", circles(module_graph(source, inside)))
    tap.check("src/preload/entry has hooks alone, which need no header",
              [str(f) for f in files if str(f.parent) == "src/preload/entry" and f.suffix == ".h"
               and f.name != "quick.h"])  # of the generated shells
    tap.done()


main(*sys.argv[1:])
