"""layers SOURCE: includes point downstream only, folder by folder."""

import pathlib
import re
import sys

from tap import Tap

# Folder: what it may include besides itself. Made headers (cuda_prototypes.h …) belong to api.
MAY_SEE = {
    "api": [],
    "lib/base": [],
    "lib/contract": ["lib/base", "lib/model"],
    "lib/machine": ["lib/base"],
    "lib/model": ["lib/base"],
    "lib/net": ["lib/base"],
    "lib/kube": ["lib/net", "lib/model", "lib/base"],
    "lib/cluster": ["lib/kube", "lib/net", "lib/model", "lib/base"],
    "lib/arbiter": ["lib/contract", "lib/model", "lib/base"],
    "src/node": ["lib/arbiter", "lib/kube", "lib/net", "lib/contract", "lib/model", "lib/base", "api"],
    "src/cli": ["lib/base", "lib/cluster", "lib/kube", "lib/net", "lib/arbiter", "lib/contract", "lib/machine", "lib/model", "api"],
    "src/burn": ["lib/base", "lib/model", "api"],
    "src/preload/entry": ["src/preload/gate", "src/preload/ledger", "src/preload/real",
                          "lib/contract", "lib/base", "api"],
    "src/preload/gate": ["src/preload/ledger", "lib/contract", "lib/model", "lib/base", "api"],
    "src/preload/ledger": ["lib/contract", "lib/base"],
    "src/preload/real": ["api"],
    "src/sim/entry": ["lib/base"],
    "src/sim/cuda": ["src/sim/entry", "src/sim/ptx", "lib/machine", "lib/base", "api"],
    "src/sim/nvml": ["src/sim/entry", "lib/machine", "lib/base", "api"],
    "src/sim/ptx": ["lib/base"],
    "src/scheduler": ["lib/cluster", "lib/kube", "lib/net", "lib/model", "lib/base"],
    "src/runtime": ["lib/kube", "lib/net", "lib/contract", "lib/machine", "lib/model", "lib/base"],
    "src/webhook": ["lib/kube", "lib/net", "lib/model", "lib/base"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def layer(path):
    """The row of MAY_SEE that a file belongs to: its folder, or the nearest one above."""
    folder = path.parent
    while str(folder) not in MAY_SEE and folder != folder.parent:
        folder = folder.parent
    return str(folder) if str(folder) in MAY_SEE else None


def main(source):
    tap = Tap()
    source = pathlib.Path(source)
    files = [f.relative_to(source) for top in ("api", "lib", "src")
             for f in sorted((source / top).rglob("*.[ch]"))]
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
    tap.check("an include is a name, not a path", paths)
    tap.done()


main(*sys.argv[1:])
