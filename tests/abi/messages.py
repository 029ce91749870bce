# SPDX-License-Identifier: Apache-2.0
"""messages SOURCE_ROOT: what programs say states something, or names what is missing. It never asks.

A value that is none of those allowed is told of in one form: invalid value 'x' (expected a or b).
"""

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
# Other ways to say that a value is none of some words.
OTHER_FORM = re.compile(r"is none of|\b(?:is|must be) one of|\b(?:is|must be) '[\w-]+' or '[\w-]+'|^--\S+: invalid value")
FORM = re.compile(r"invalid value '%[^']*'.* \(expected ")


def forms(text):
    """Literals that tell of an invalid value in another form; those of one text are one."""
    joined = re.sub(r'"\s+"', "", re.sub(r"/\*.*?\*/", "", text, flags=re.S))
    return [literal for literal in LITERAL.findall(joined)
            if OTHER_FORM.search(literal) or ("invalid value" in literal and not FORM.search(literal))]


def main(root):
    tap = Tap()
    tap.check("a question is found, a statement is none", "" if questions('f("which share?")') and
              not questions('f("missing NAME") /* "why?" */; "/pods?limit=%d"; "(did you mean \'x\'?)"; "?"') else "no")
    wrong = ("'%s' is none of %s", "--x is 'a' or 'b', not '%s'", "--%s: invalid value '%s' (expected %s)", "invalid value of x")
    found = forms("".join(f'f("{text}");' for text in wrong) + 'f("invalid value \'%s\' of --x (exp"\n  "ected a or b)");')
    tap.check("an invalid value in another form is found, one in the usual form is not",
              "" if found == list(wrong) else f"{found}")
    names = subprocess.run(["find", "src", "lib", "sim", "-name", "*.[ch]"], cwd=root, capture_output=True, text=True,
                           check=True).stdout.split()
    told = [f"{name}: {literal}" for name in sorted(names)
            for literal in questions(pathlib.Path(root, name).read_text(encoding="utf-8"))]
    tap.check("no message of src/, lib/ and sim/ asks a question", told if len(names) > 500 else f"only {len(names)} files")
    told = [f"{name}: {literal}" for name in sorted(names)
            for literal in forms(pathlib.Path(root, name).read_text(encoding="utf-8"))]
    tap.check("invalid values are told of in one form", told)
    tap.done()


main(*sys.argv[1:])
