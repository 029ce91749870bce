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

    tap.check("no marker of a merge is left", [
        f"{file}: {match.group()}" for file in files for match in [MERGED.search(texts[file])] if match])
    tap.check("nothing is left unfinished", [
        f"{file}: {match.group()}" for file in files for match in [UNFINISHED.search(texts[file])]
        if match])
    tap.done()


main(*sys.argv[1:])
