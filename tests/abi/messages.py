# SPDX-License-Identifier: Apache-2.0
"""messages SOURCE_ROOT: what programs say states something, or names what is missing. It never asks."""

import pathlib
import re
import subprocess
import sys

from tap import Tap

LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
QUESTION = re.compile(r"[\w')’]\?(?=\s|\)|$|\\n)")
# A guess at what was meant is worth its question mark; json_pack's letters are no prose.
ALLOWED = re.compile(r"did you mean|^\{s:|s\?[,}]")


def questions(text):
    return [literal for literal in LITERAL.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.S))
            if QUESTION.search(literal) and not ALLOWED.search(literal)]


def main(root):
    tap = Tap()
    tap.check("a question is found, a statement is none", "" if questions('f("which share?")') and
              not questions('f("missing NAME") /* "why?" */; "/pods?limit=%d"; "(did you mean \'x\'?)"; "?"') else "no")
    names = subprocess.run(["find", "src", "lib", "sim", "-name", "*.[ch]"], cwd=root, capture_output=True, text=True,
                           check=True).stdout.split()
    told = [f"{name}: {literal}" for name in sorted(names)
            for literal in questions(pathlib.Path(root, name).read_text(encoding="utf-8"))]
    tap.check("no message of src/, lib/ and sim/ asks a question", told if len(names) > 500 else f"only {len(names)} files")
    tap.done()


main(*sys.argv[1:])
