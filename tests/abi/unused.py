# SPDX-License-Identifier: Apache-2.0
"""unused SOURCE: every function of a header is used outside tests and its own file, and every row of options that a switch
takes has a case.
"""

import pathlib
import re
import sys

from tap import Tap

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
# At the beginning of a line a function is declared or defined, anywhere else it is used.
DECLARED = re.compile(r"^(?!#|typedef\b|struct \w+ \{)[A-Za-z_][^(){};=#]*?\b([a-z]\w*)\(", re.M)
WORD = re.compile(r"\w+")
PREFIX = re.compile(r"\b([a-z]\w*_)\{")  # quick_{function}
# What tests alone call, and why it is no part of them.
SEAMS = {
    "futex_set_use_threads": "the way of older kernels, tested on every kernel",
    "region_close": "a test opens many regions in its life; a program keeps its own until it ends",
    "registry_server_connections": "no client sees how many the server keeps",
    "slot_detach": "a process of tests/soak has many slots in its life, one after the other",
    "timeslices_init": "each test begins anew, in storage that was used",
}
# What json_read.h does already: a member's text, number or truth in one step.
MEMBER = re.compile(r"\bjson_(?:string_value|integer_value|is_true)\(\s*json_object_get\(")
OPTIONS = re.compile(r"const struct cli_option \w+\[\] = \{\n(.*?)\n\};", re.S)


def caseless(text):
    """The options of a file that takes them by a switch, and has no case for these."""
    rows = OPTIONS.search(text)
    if not rows or "switch (option)" not in text:
        return []
    return [name for name in re.findall(r"^\s+\[(\w+)\] =", rows[1], re.M)
            if not re.search(rf"case {name}:|== {name}\b|\[{name}\] =", OPTIONS.sub("", text))]


def main(source):
    tap = Tap()
    source = pathlib.Path(source)
    files = [f for top in ("api", "bench", "lib", "sim", "src") for f in (source / top).rglob("*")
             if f.suffix in (".c", ".h", ".py", ".tbl") and f.relative_to(source).parts[1] != "tests"]
    declared, used, prefixes, users = {}, set(), set(), {}
    for file in files:
        text = file.read_text(encoding="utf-8")
        if file.suffix in (".py", ".tbl"):  # the generator prints calls
            text = re.sub(r"\\[nt]", " ", text)
            users[file] = set(WORD.findall(text))
            used |= users[file]
            prefixes.update(PREFIX.findall(text))
            continue
        text = COMMENT.sub("", text)
        users[file] = set(WORD.findall(text))
        if file.suffix == ".h":
            declared.update((name, file.relative_to(source)) for name in DECLARED.findall(text))
        used.update(WORD.findall(DECLARED.sub("", text)))
    tap.check("functions of headers are found", "" if len(declared) > 1000 else f"{len(declared)} only")
    unused = {name for name in declared if name not in used and not name.startswith(tuple(prefixes))}
    tap.check("each is used, and not by tests alone",
              [f"{declared[name]}: {name}()" for name in sorted(unused - SEAMS.keys())])
    tap.check("members of JSON are read by json_read alone",
              [f"{file.relative_to(source)}: {found.group()}" for file in files
               if file.suffix in (".c", ".h") and file.name != "json_read.c"
               for found in MEMBER.finditer(file.read_text(encoding="utf-8"))])
    for file in (f for top in ("tests", "sim/tests") for f in (source / top).rglob("*.[ch]")):
        users[file] = set(WORD.findall(COMMENT.sub("", file.read_text(encoding="utf-8"))))
    homes = {}
    for file, words in users.items():
        for name in words & declared.keys():
            homes.setdefault(name, []).append(file)
    inline = {name for name, header in declared.items() if re.search(
        rf"\b{name}\([^;{{]*\)\s*\{{|\b{name}\b.*\b{name}\b", (source / header).read_text(encoding="utf-8"), re.S)}
    tap.check("each is used by another file than its own, or it is static",
              [f"{declared[name]}: {name}()" for name, found in sorted(homes.items())
               if len(found) == 2 and name not in inline and not name.startswith(tuple(prefixes)) and
               {file.suffix for file in found} == {".c", ".h"}])
    rows = "const struct cli_option o[] = {\n  [A] = {},\n  [B] = {},\n};\n"
    found = caseless(rows + "switch (option) {\ncase A:")
    tap.check("a row of options without a case is found", "" if found == ["B"] else f"{found}")
    tap.check("each row of options that a switch takes has its case",
              [f"{file.relative_to(source)}: {name}" for file in files if file.suffix == ".c"
               for name in caseless(file.read_text(encoding="utf-8"))])
    tap.check("no exception is left over", sorted(SEAMS.keys() - unused))
    tap.done()


main(*sys.argv[1:])
