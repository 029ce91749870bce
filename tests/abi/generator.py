# SPDX-License-Identifier: Apache-2.0
"""generator: what generate.py makes of a small table, and what it says of a bad one."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import generate
import strict
from tap import Tap

TABLE = """
type  enum    CUmode
type  opaque  CUdesc
type  value   CUlocation
hook  memory  CUresult cuTake(CUdeviceptr *p, size_t n)  getproc=cuTake@2000 preinit=3
hook  copy    CUresult cuMove_v2(CUdeviceptr to, CUlocation where, CUstream s)  getproc=cuMove@3020 ptsz=7000
pass  copy    CUresult cuFill(CUmode mode, const CUdesc *desc)  getproc=cuFill@2000 ptds=7000 535=n
pass  image   CUresult cuBias(CUmode mode, float bias, double *ret_bias)  admin
pass  init    const char *cuName(CUresult r)
"""
TYPES = """
typedef enum { CUDA_SUCCESS } CUresult;
typedef unsigned long long CUdeviceptr;
typedef struct CUstream_st *CUstream;
typedef struct { int id; } CUlocation;
#define CU_STREAM_PER_THREAD ((CUstream)2)
"""


def views(folder, *headers):
    table = generate.Table(str(folder / "cuda.tbl"), [str(folder / h) for h in headers])
    return {name: "\n".join(view(table)) for name, view in generate.VIEWS.items()}


def complaint(folder, row):
    (folder / "cuda.tbl").write_text(row, encoding="utf-8")
    run = subprocess.run([sys.executable, generate.__file__, "symbols", folder / "cuda.tbl"],
                         capture_output=True, text=True, check=False)
    return run.returncode, run.stderr.strip().replace(str(folder), "")


def check_outputs(tap, folder):
    """Several views at once, into files, are what each is alone."""
    def run(*views):
        return subprocess.run([sys.executable, generate.__file__, *views, folder / "cuda.tbl", folder / "cuda_types.h"],
                              capture_output=True, text=True, check=True).stdout

    alone = {view: run(view) for view in ("preload-index:memory", "exports", "preload-index:copy")}
    printed = run(*(f"{view}={folder}/{number}" for number, view in enumerate(alone)))
    together = [(folder / str(number)).read_text(encoding="utf-8") for number in range(len(alone))]
    tap.check("views are the same alone and together", [] if together == [*alone.values()] and not printed else together)
    tap.check("families belong to their own view", [] if together[0] != together[2] else together)


def lacks(text, *parts):
    return [f"no {part!r} in:\n{text}" for part in parts if part not in text]


def check_tables(tap):
    """The tables in the tree."""
    api = pathlib.Path(generate.__file__).parent
    for name in ("cuda", "nvml"):
        table = generate.Table(str(api / f"{name}.tbl"), [])
        named = " ".join(p for f in table.functions for p in f.parameters)
        tap.check(f"every type row of {name}.tbl is named by a prototype", [
            f"{kind} {type_}" for kind, type_ in table.types
            if not re.search(rf"\b{type_}\b", named)])


def check_views(tap, folder):
    made = views(folder, "cuda_types.h")
    tap.check("a twin is a symbol of its own",
              [] if made["symbols"].split() == ["cuTake", "cuMove_v2", "cuMove_v2_ptsz", "cuFill",
                                                "cuFill_ptds", "cuBias", "cuName"] else made["symbols"])
    tap.check("types that no header defines are declared",
              lacks(made["prototypes"], "typedef int CUmode;", "typedef struct CUdesc_st CUdesc;"))
    tap.check("types that a header defines are not",
              [] if "CUlocation_st" not in made["prototypes"] else made["prototypes"])
    tap.check("a twin's null stream is the thread's own", lacks(
        made["sim-shells"], "sim_cuMove_v2(to, where, s ? s : CU_STREAM_PER_THREAD)"))
    tap.check("a twin without a stream tells its body", lacks(
        made["sim-shells"], "\tentry_per_thread_default = true;\n"))
    tap.check("a struct passed by value is left out of the question whether all is zero",
              lacks(made["sim-shells"], "entry_begin(FN_cuMove_v2, !to && !s)"))
    tap.check("a number with a fraction is compared with zero, a pointer to one is not",
              lacks(made["sim-shells"], "entry_begin(FN_cuBias, !mode && bias == 0 && !ret_bias)"))
    tap.check("a function for administrators asks for their rights, also where nothing else is to be asked", lacks(
        made["sim-shells"], "\tif (r == ENTRY_GO && !entry_is_admin())\n\t\tr = 800;\n")
        + ([] if made["sim-shells"].count("entry_is_quiet()") == 4 else [made["sim-shells"]]))
    tap.check("the rows of cuGetProcAddress are sorted by name, flag and version",
              lacks(made["sim-names"], '"cuFill", 2000, 0,', '"cuFill", 7000, 2,')
              + ([] if made["sim-names"].index('"cuFill", 7') < made["sim-names"].index('"cuMove"')
                 else ["cuFill comes after cuMove"]))
    tap.check("only the driver that has a function says so", lacks(
        made["sim-names"], '"cuFill", "copy", 3, false, false', '"cuTake", "memory", 3, false, true'))
    return made


def check_moves(tap, folder):
    """A copy's hook is made from its row."""
    (folder / "cuda.tbl").write_text(
        "hook  copy  CUresult cuMove_v2(size_t n, CUstream s)  ptsz=7000 moves=(uint64_t)n*4\n"
        "hook  copy  CUresult cuFill(size_t n)  ptds=7000 moves=n\n", encoding="utf-8")
    table = generate.Table(str(folder / "cuda.tbl"), [])
    table.families = ["copy"]
    made = "\n".join(generate.preload_shells(table))
    tap.check("a copy waits in its stream, and is called once", lacks(
        made, "move_admit(batch_stream(s, real == real_cuda.cuMove_v2_ptsz), (const void *)real,\n"
        "\t\t   (uint64_t)n*4, &admission);\n\tCUresult r = real(n, s);"))
    tap.check("a copy without a stream waits in the null stream, a twin in the thread's own", lacks(
        made, "move_admit(batch_stream(NULL, real == real_cuda.cuFill_ptds), (const void *)real,"))
    tap.check("where copies do not count a shell calls the driver", lacks(
        made, "if (__builtin_expect(real && !limits_copies_count(), 1))\n\t\treturn real(n, s);"))
    tap.check("a twin has no hook of its own", [] if made.count("hook_cuMove_v2(cuMove_v2_fn") == 1
              else made)


def check_lists(tap, folder):
    """The hook of a list of processes is made from its row."""
    (folder / "nvml.tbl").write_text(
        "hook  process  nvmlReturn_t nvmlMany(nvmlDevice_t d, unsigned int *n, entry_t *e)  list\n", encoding="utf-8")
    table = generate.Table(str(folder / "nvml.tbl"), [])
    table.families = ["process"]
    tap.check("a list of processes keeps the container's own", lacks(
        "\n".join(generate.preload_shells(table)), "hook_nvmlMany(nvmlMany_fn *real",
        "return nvml_view_list((nvml_list_fn *)(void *)real, d, n, e,\n\t\t\t      sizeof *e);"))


def check_compiles(tap, folder, made):
    names = {"prototypes": "cuda_prototypes.h", "sim-header": "sim_cuda.h",
             "sim-names": "names.c", "sim-shells": "shells.c", "sim-defaults": "defaults.c"}
    for view, name in names.items():
        (folder / name).write_text(made[view] + "\n", encoding="utf-8")
    source = pathlib.Path(generate.__file__).parent.parent / "sim"
    run = subprocess.run(
        ["cc", "-std=gnu17", "-Wall", "-Wextra", *strict.flags(),
         "-Wmissing-prototypes", "-fsyntax-only",
         f"-I{folder}", f"-I{source / 'entry'}", f"-I{source / 'cuda' / 'core'}",
         *(str(folder / n) for n in names.values() if n.endswith(".c"))],
        capture_output=True, text=True, check=False)
    tap.check("the views compile together", run.stderr if run.returncode else [])


def main():
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    tap = Tap()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "cuda.tbl").write_text(TABLE, encoding="utf-8")
        (folder / "cuda_types.h").write_text("#pragma once" + TYPES, encoding="utf-8")
        check_compiles(tap, folder, check_views(tap, folder))
        check_outputs(tap, folder)
        check_moves(tap, folder)
        check_lists(tap, folder)
        tap.check("a row that is none is named with its line",
                  [] if complaint(folder, "\nhook memory cuTake\n") ==
                  (1, "/cuda.tbl:2: not a row: hook memory cuTake") else "no")
        tap.check("a function with two rows is refused",
                  [] if complaint(folder, "pass a int cuA(void)\npass a int cuA(void)\n") ==
                  (1, "/cuda.tbl:2: cuA has a row already") else "no")
        tap.check("an unknown attribute is refused",
                  [] if complaint(folder, "pass a int cuA(void)  ptszz=1\n") ==
                  (1, "/cuda.tbl:1: unknown attribute 'ptszz'") else "no")
    check_tables(tap)
    tap.done()


main()
