# SPDX-License-Identifier: Apache-2.0
"""commands SOURCE BIN: every command line of vgpu's programs on a page or in an example is one they take."""

import pathlib
import re
import subprocess
import sys

from tap import Tap

PROGRAMS = ("burn", "node", "scheduler", "webhook", "runtime")
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.S)
# A command line begins its line, or stands behind a prompt, a pipe or another program's "--".
LINE = re.compile(r"(?:^|[`$|;]|-- |sudo )\s*(?:[A-Z_]+=\S+ )*(?:[\w./]*/)?"
                  rf"(vgpu(?:-(?:{'|'.join(PROGRAMS)}))?)(?![\w./:=-])((?: [^\n`|#;]*)?)", re.M)
OPTION = re.compile(r"(?<=\s)--([a-z][a-z-]*)")


def helps(folder):
    """{"vgpu sim list": its options …}"""
    def ask(program, *words):
        text = subprocess.run([folder / program, *words, "--help"], capture_output=True, text=True, check=True).stdout
        return text, set(OPTION.findall(text))

    known = {"vgpu": {"help", "version"}}
    for name in re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", ask("vgpu")[0].split("Options:")[0], re.M):
        known[f"vgpu {name}"] = ask("vgpu", *name.split())[1]
        known.setdefault(f"vgpu {name.split()[0]}", set())
    for name in PROGRAMS:
        known[f"vgpu-{name}"] = ask(f"vgpu-{name}")[1] | {"help", "version"}
    for name in ("install", "cdi"):
        known[f"vgpu-runtime {name}"] = ask("vgpu-runtime", name)[1] | {"help"}
    return known


def wrong(known, program, remainder):
    """What such a line has that the program does not; None: it is fine."""
    words = re.split(r" -- | --$", remainder)[0].split()
    names = [word for word in words[:2] if re.fullmatch("[a-z]+", word)]
    command = next((c for c in (" ".join([program, *names[:n]]) for n in (2, 1)) if c in known), program)
    if command == "vgpu" and names:
        return f"{program} {names[0]}"
    missing = [option for option in OPTION.findall(" " + " ".join(words)) if option not in known[command]]
    return f"{command} --{missing[0]}" if missing else None


def main(source, folder):
    tap = Tap()
    source = pathlib.Path(source)
    known = helps(pathlib.Path(folder))
    pages = [*source.glob("*.md"), *source.glob("docs/**/*.md")]
    found = [(page.name, *match.groups()) for page in pages for code in CODE.findall(page.read_text(encoding="utf-8"))
             for match in LINE.finditer(code.strip("`"))]
    texts = (source / "src/cli/base/command.c").read_text(encoding="utf-8")
    found += [("command.c", *match.groups()) for text in re.findall(r'"  ([^"\n]*)\\n', texts)
              for match in LINE.finditer(text)]
    tap.check("pages have command lines", [] if len(found) > 100 else [f"only {len(found)} were found"])
    tap.check("what they ask for is there", [f"{page}: {bad}" for page, program, remainder in found
                                             for bad in [wrong(known, program, remainder)] if bad])
    tap.done()


main(*sys.argv[1:])
