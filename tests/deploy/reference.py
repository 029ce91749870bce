#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages of docs/reference name what there is, all of it, and nothing else: reference.py SOURCE_ROOT PRINT_NAMES BIN

Each check goes both ways: what the code has and the page lacks, and what the page has and the code lacks.
"""

import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "tests", "abi"))
from tap import Tap

SOURCE, PRINTER, BIN = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
CODE = re.compile(r"`([^`]+)`")
COMPATIBILITY = "docs/reference/compatibility.md"
TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
DOMAIN = re.compile(r"(?:vgpu\.io|nvidia\.com|hami\.io|volcano\.sh)/[a-z0-9-]+")
METRIC = re.compile(r"\bvgpu_(?:device|mig_device|container|process|node|scheduler|webhook)_[a-z_]*[a-z]\b")
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")

# Texts in the sources with the look of an annotation.
NO_ANNOTATIONS = {"vgpu.io/share": "the kind of a CDI device"}
# Variables that our programs set for themselves.
OWN_USE = {"VGPU_RUNTIME_PASSED"}


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout


def page(name):
    return (SOURCE / name).read_text(encoding="utf-8")


def tables(text):
    """Of each table the titles, and its rows as lists of cells."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in block.splitlines()]
        yield rows[0], rows[2:]


def named(name, wanted=lambda titles: True, columns=1):
    """What stands as code in the first columns of a page's tables."""
    return {code for titles, rows in tables(page(name)) if wanted(titles) for row in rows
            for cell in row[:columns] for code in CODE.findall(cell)}


def sources(*folders):
    """Texts of the C files, by path."""
    return {path: path.read_text(encoding="utf-8") for folder in folders
            for path in sorted((SOURCE / folder).rglob("*.[ch]")) if "tests" not in path.relative_to(SOURCE).parts}


def differs(found, listed):
    return [f"not on the page: {name}" for name in sorted(found - listed)] + \
           [f"on the page alone: {name}" for name in sorted(listed - found)]


def resources(tap, rows):
    families = {}
    for _, name, family in rows["resource"]:
        families.setdefault(family, set()).add(name)
    mig = {"nvidia.com/mig-", "mig.das.com/"}       # prefixes, in lib/model/resource.c
    next(names for names in families.values() if "gpu.das.com/mem" in names).update(mig)
    totals = {text for content in sources("src/cluster").values() for text in TEXT.findall(content)
              if text.startswith("vgpu.io/total-")}
    listed = named("docs/reference/resources.md", lambda titles: titles[0] == "name")
    tap.check("resources.md has each resource name", differs(set().union(*families.values(), totals), listed))
    of_families = [set(CODE.findall(row[2])) for titles, table in tables(page("docs/reference/resources.md"))
                   if titles[0] == "family" for row in table]
    tap.check("… and each in its family", sorted(
        str(sorted(names)) for names in of_families + list(families.values())
        if names not in of_families or names not in families.values()))
    return set().union(*families.values(), totals)


def annotations(tap, rows, resource_names):
    found = {row[1] for row in rows["annotation"]}
    found |= {text for content in sources("lib", "src").values() for text in TEXT.findall(content)
              if DOMAIN.fullmatch(text) and not text.endswith("-")}
    tap.check("annotations.md has each annotation", differs(
        found - resource_names - set(NO_ANNOTATIONS), named("docs/reference/annotations.md", lambda t: t[0] == "annotation")))
    tap.check("what is no annotation is still in use", sorted(set(NO_ANNOTATIONS) - found))


def variables(tap, rows):
    limits = {row[1] for row in rows["variable"]}
    listed = {re.sub(r"(\[_i\]|_<i>)$", "", name) for name in
              named("docs/reference/environment.md", lambda t: t[:2] == ["ours", "vgpu-manager"], 3)}
    tap.check("environment.md has each variable that limits", differs(limits, listed))
    asked = {False: set(), True: set()}
    for path, content in sources("lib", "src", "sim").items():
        if path.name in ("variable.c", "variable_known.c", "setting.c"):
            continue                                # names of limits, and lists of names
        names = set(re.findall(r'(?:getenv|give_if)\("([A-Z_]+)"', content))
        names |= {text for text in TEXT.findall(content) if text.startswith("VGPU_") and VARIABLE.fullmatch(text)}
        asked[path.is_relative_to(SOURCE / "sim")] |= names
    ours = named("docs/reference/environment.md", lambda t: t[0] == "variable")
    tap.check("… and each that our programs read", differs(asked[False] - limits - OWN_USE, ours))
    listed = named("sim/docs/simulator.md", lambda t: t[0] == "variable")
    tap.check("simulator.md has each that the simulated driver reads",
              differs(asked[True], listed - (asked[False] - asked[True])))


def metrics(tap):
    found = set()
    for path, content in sources("src").items():
        content = re.sub(r'\bNAME\("', '"vgpu_container_', content) if path.name == "container_metrics.c" else content
        found |= {name for text in TEXT.findall(content) for name in METRIC.findall(text)}
    listed = {name for name in named("docs/reference/metrics.md") if name.startswith("vgpu_")}
    tap.check("metrics.md has each metric", differs(found, listed) if len(found) > 40 else f"only {sorted(found)}")


def events(tap, rows):
    listed = {(CODE.match(row[0])[1], row[1]) for titles, table in tables(page(COMPATIBILITY))
              if titles[:2] == ["reason", "type"] for row in table}
    found = {tuple(row[1:]) for row in rows["event"]}
    tap.check("compatibility.md has each reason of an event, and its type", differs(
        {" ".join(row) for row in found}, {" ".join(row) for row in listed}))
    known = {reason for reason, _ in found}
    tap.check("no program writes an event with another reason", [
        f"{path.relative_to(SOURCE)}: {text}" for path, content in sources("lib", "src").items()
        for text in re.findall(r'"reason", "(\w+)"', content) if '"Event"' in content and text not in known])


def versions(tap):
    found = {f"{name} = {number}" for content in sources("lib/contract", "lib/kube").values()
             for name, number in re.findall(r"\b([A-Z_]+_VERSION) = (\d+)", content)}
    listed = {f"{name} = {number}" for name, number in
              re.findall(r"`([A-Z_]+_VERSION)` = (\d+)", page(COMPATIBILITY))}
    tap.check("compatibility.md has each version of a format", differs(found, listed))


def json_commands(tap):
    printing = {name for name in re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", run(BIN / "vgpu", "--help").split("Options:")[0],
                                            re.M) if re.search("^  --json", run(BIN / "vgpu", *name.split(), "--help"), re.M)}
    told = {name for line in page(COMPATIBILITY).splitlines() if "JSON of" in line
            for name in re.findall(r"`vgpu ([a-z ]+)`", line)}
    tap.check("compatibility.md says of each command's JSON whether it is promised", differs(printing, told))


def helps():
    """By manual page, the options that --help prints."""
    pages = {}
    commands = run(BIN / "vgpu", "--help").split("Options:")[0]
    for name in re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", commands, re.M):
        pages.setdefault(f"vgpu-{name.split()[0]}.1", set()).update(
            re.findall(r"^  --([a-z-]+)", run(BIN / "vgpu", *name.split(), "--help"), re.M))
    for name in ("vgpu-burn", "vgpu-node", "vgpu-scheduler", "vgpu-webhook"):
        pages[f"{name}.{1 if name == 'vgpu-burn' else 8}"] = set(
            re.findall(r"^  (?:-\w, )?--([a-z-]+)", run(BIN / name, "--help"), re.M))
    pages["vgpu-runtime.8"] = {option for words in ([], ["install"], ["cdi"]) for option in
                               re.findall(r"^  --([a-z-]+)", run(BIN / "vgpu-runtime", *words, "--help"), re.M)}
    return pages


def options(tap):
    wrong = []
    for name, found in helps().items():
        path = SOURCE / "docs/man" / name
        if not path.exists():                       # a command on the page of vgpu(1) has no options
            wrong += [f"{name} is missing, for --{option}" for option in sorted(found - {"help"})]
            continue
        text = path.read_text(encoding="utf-8").replace("\\-", "-")
        listed, usage = (set(OPTION.findall(re.sub(r"\\f.", " ", part).replace('"', " "))) for part in (
            "\n".join(re.findall(r"^\.TP\n(.*)", text, re.M)), re.search(r"^\.SH SYNOPSIS\n(.*?)^\.SH", text, re.M | re.S)[1]))
        quiet = {"help", "version"} | usage - listed
        wrong += [f"{name}: {line}" for line in differs(found - quiet, listed - quiet)]
    tap.check("manual pages have each option", wrong)


def targets(tap):
    found = set(re.findall(r"^([a-z0-9-]+):.*##", page("Makefile"), re.M))
    listed = {re.match(r"make ?([\w-]*)", code)[1] or "build" for code in named("docs/reference/make.md")
              if code.startswith("make")}
    tap.check("make.md has each target", differs(found, listed))


def main():
    tap = Tap()
    rows = {}
    for line in run(PRINTER).splitlines():
        rows.setdefault(line.split()[0], []).append(line.split())
    annotations(tap, rows, resources(tap, rows))
    variables(tap, rows)
    metrics(tap)
    events(tap, rows)
    versions(tap)
    json_commands(tap)
    options(tap)
    targets(tap)
    tap.done()


main()
