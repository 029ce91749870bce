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
    tap.check("nothing is left unfinished", [
        f"{file}: {match.group()}" for file in files for match in [UNFINISHED.search(texts[file])]
        if match])
    tap.done()


main(*sys.argv[1:])
