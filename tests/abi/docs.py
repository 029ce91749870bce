# SPDX-License-Identifier: Apache-2.0
"""docs SOURCE: what the pages say is there is there. tests/deploy/reference.py has what the code does and pages must say."""

import pathlib
import re
import shutil
import subprocess
import sys

from tap import Tap

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(?:#([^)]*))?\)")
PATH = re.compile(r"`((?:api|bench|deploy|docs|lib|sim|src|tests|tools)/[\w./-]+)`")
FILE = re.compile(r"`(?:\w+/)*(\w[\w.-]*\.(?:c|h|py|sh|tbl|proto))`")
JOINED = re.compile(r"\| \|[-:]+\|")                              # a table's titles and what is below them
NUMBERED = re.compile(r"\d+\.(?: |$)")
NO_PROSE = ("#", "|", "<", ">", "- ", "* ")
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b")
MERGED = re.compile(r"^(?:<<<<<<<|>>>>>>>|={7}$)", re.M)       # {7}: this line is no marker
TEXT = {".c", ".h", ".py", ".md", ".sh", ".tbl", ".build", ".yaml", ".json", ".proto", ".1", ".8", ""}


def tracked(source):
    listing = shutil.which("git") and subprocess.run(["git", "-C", source, "ls-files"], capture_output=True,
                                                     text=True, check=False)
    if not listing or listing.returncode:      # not a clone: a released archive
        return [p for p in pathlib.Path(source).rglob("*") if p.is_file()]
    return [p for p in (pathlib.Path(source, name) for name in listing.stdout.splitlines())
            if p.is_file()]


def anchors(page):
    """The names of a page's headings, as links have them."""
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    titles = re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def reflowed(text):
    """What a program that fills lines made of a page: a table's rows on one line, a sentence's number as a list's item.

    In a list the line before an item is an item, or indented as the text of one.
    """
    found, before, is_code = [], "", False
    for line in text.splitlines():
        is_code ^= line.lstrip().startswith("```")
        is_item = NUMBERED.match(line) and before.strip() and before[0] != " " and \
            not NUMBERED.match(before) and not before.startswith(NO_PROSE)
        if not is_code and (JOINED.search(line) or is_item):
            found.append(line)
        before = "" if is_code or line.startswith("```") else line
    return found


def homes_of(source, table, prefix, files, home):
    """By family, where the bodies of its functions are. generate.py writes the others."""
    homes = {}
    for path in files:
        for name in re.findall(rf"^\S.*\b{prefix}_(\w+)\(", path.read_text(encoding="utf-8"), re.M):
            homes.setdefault(name, set()).add(home(path))
    found = {}
    for line in pathlib.Path(source, "api", table).read_text(encoding="utf-8").splitlines():
        row = re.match(r"(?:hook|call|deny|pass)\s+(\w+)\s.*?\b(\w+)\(", line)
        if row and row[2] in homes:
            found.setdefault(row[1], set()).update(homes[row[2]])
    return found


def check_simulated(tap, source, section):
    """The list of a function of the simulated driver has the folders of every family."""
    listed = re.findall(r"^ *\| `(sim/[\w/]+)` \| (.*) \|$", section, re.M)
    wrong = []
    for library, table in (("cuda", "cuda.tbl"), ("nvml", "nvml.tbl")):
        found = homes_of(source, table, "sim", pathlib.Path(source, "sim", library).glob("*/*.c"),
                         lambda path: f"sim/{path.parts[-3]}/{path.parts[-2]}")
        for family, folders in sorted(found.items()):
            told = {folder for folder, families in listed
                    if folder.startswith(f"sim/{library}/") and re.search(rf"\b{family}\b", families)}
            wrong += [f"{family}: {folder}" for folder in sorted(folders - told)]
    tap.check("the list of a function of the simulated driver has the folders of every family", wrong if listed else "no list")


def check_lists(tap, source):
    """The lists of CONTRIBUTING.md name each file where there is something to do."""
    text = pathlib.Path(source, "CONTRIBUTING.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### (.*?)\n(.*?)(?=^##)", text, re.M | re.S))
    for section, table in (("A driver function", "cuda.tbl"), ("An NVML view", "nvml.tbl")):
        listed = {family: set(FILE.findall(cell)) for family, cell in
                  re.findall(r"^ *\| (\w+) \| (`.*) \|$", sections[section], re.M)}
        found = homes_of(source, table, "hook", pathlib.Path(source, "src/preload/entry").glob("*.c"), lambda path: path.name)
        tap.check(f"the list of {section[0].lower() + section[1:]} has the files of every family's hooks",
                  [f"{family}: {sorted(files)}" for family, files in sorted(found.items())
                   if files != listed.get(family, {f"{family}.c"})] +
                  [f"{family}: has no hooks" for family in sorted(listed.keys() - found.keys())]
                  if found else "no hooks found")
    check_simulated(tap, source, sections["A function of the simulated driver"])
    kinds = re.findall(r"^\s+(RESOURCE_\w+),", re.search(r"enum resource_kind \{(.*?)\}", pathlib.Path(
        source, "lib/model/resource.h").read_text(encoding="utf-8"), re.S)[1], re.M)
    tell = [path for top in ("lib", "src") for path in sorted(pathlib.Path(source, top).rglob("*.[ch]"))
            if re.search(rf"\b(?:{'|'.join(kinds)})\b", path.read_text(encoding="utf-8"))]
    names = [str(path.relative_to(source)) for path in tell]
    tap.check("the list of a resource name has each file that tells kinds apart",
              [name for name in names if f"`{name}`" not in sections["A resource name"]]
              if len(names) > 10 else f"only {names}")


def main(source):
    tap = Tap()
    files = [f for f in tracked(source) if f.suffix in TEXT and "build" not in f.parts[-2:-1]]
    pages = [f for f in files if f.suffix == ".md"]
    today = [f for f in pages if not f.name.startswith("renames")]     # those tell of what was
    texts = {f: f.read_text(encoding="utf-8", errors="replace") for f in files}

    tap.check("every link leads somewhere", [
        f"{page.name}: {target}" for page in pages for target, _ in LINK.findall(texts[page])
        if "://" not in target and not (page.parent / target).exists()])
    tap.check("every heading that a link names is there", [
        f"{page.name}: {target}#{name}" for page in pages for target, name in LINK.findall(texts[page])
        if name and "://" not in target and name not in anchors((page.parent / target) if target else page)])
    tap.check("every path that a page names exists", [
        f"{page.name}: {path}" for page in today for path in PATH.findall(texts[page])
        if "*" not in path and not pathlib.Path(source, path).exists()])
    names = {file.name for file in tracked(source)}
    tap.check("every source file that a page names exists", [
        f"{page.name}: {name}" for page in today for name in FILE.findall(texts[page]) if name not in names])

    commands = set(re.findall(r"^([a-z0-9-]+):.*##", pathlib.Path(source, "Makefile").read_text(
        encoding="utf-8"), re.M))
    tap.check("every make command that a page names exists", [
        f"{page.name}: make {name}" for page in pages
        for name in re.findall(r"(?:^|`)make ([a-z0-9-]+)\b", texts[page], re.M)
        if name not in commands])

    broken = "| a | |---| | b |\n\na quota of\n0. What\n"
    whole = "| a | b |\n|---|---|\n| c | |\n\nIn order:\n\n1. one\n   more\n2. two\n```\na\n3. b\n```\n4. c\n"
    tap.check("a table and a sentence that filled lines broke are found, whole ones are not",
              "" if len(reflowed(broken)) == 2 and not reflowed(whole) else f"{reflowed(broken)} {reflowed(whole)}")
    tap.check("no page has such", [f"{page.name}: {line}" for page in pages for line in reflowed(texts[page])])
    tap.check("no marker of a merge is left", [
        f"{file}: {match.group()}" for file in files for match in [MERGED.search(texts[file])] if match])
    check_lists(tap, source)
    tap.check("nothing is left unfinished", [
        f"{file}: {match.group()}" for file in files for match in [UNFINISHED.search(texts[file])]
        if match])
    tap.done()


main(*sys.argv[1:])
