# SPDX-License-Identifier: Apache-2.0
"""programs PROGRAM…: each says what it can do, which release it is, and what is wrong with its options."""

import pathlib
import re
import subprocess
import sys

from tap import Tap

# Values that mean nothing: each is refused before anything else is looked at.
WRONG = {
    "vgpu-node": [("device-split-count", "x"), ("device-split-count", "0"), ("device-memory-scaling", "0.5"),
                  ("device-cores-scaling", "x"), ("device-memory-factor", "0"), ("mig-strategy", "x"),
                  ("memory-units", "x"), ("metrics-listen", "x"), ("health-recovery", "0"),
                  ("driver-timeout", "x"), ("env-ceiling", "x"), ("violation-policy", "x"), ("scheduler", "x"),
                  ("oversold-host-memory", "x"), ("context-memory", "x")],
    "vgpu-scheduler": [("listen", "x"), ("allocations", "x"), ("node-policy", "x"), ("assume-for", "0"), ("metrics-listen", "x")],
    "vgpu-webhook": [("listen", "x")],
}


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=20,
                          env={"PATH": "/usr/bin:/bin"})


def refusal(program, name, *words):
    """What is wrong with the answer to a command line that is wrong; None: nothing."""
    done = run(program, *words)
    if done.returncode == 2 and done.stdout == "" and re.fullmatch(rf"{name}: [^\n]+\n", done.stderr):
        return None
    return f"{name} {' '.join(words)}: {done.returncode} {done.stdout!r} {done.stderr!r}"


# A line that it forges, an escape, and a command to the terminal in one letter (U+009B).
HOSTILE = "x\nerror all is lost\x1b[2J\u009b31m\x7f"


def commands_in(said):
    """The control characters of what was said, but for the ends of lines."""
    return [letter for letter in said if letter != "\n" and not letter.isprintable()]


def main(*programs):
    tap = Tap()
    helps, versions, refusals, unnamed, lost, repeated = [], [], [], [], [], []
    for program in programs:
        name = pathlib.Path(program).name
        done = run(program, "--help")
        if done.returncode or done.stderr or not done.stdout.startswith(f"Usage: {name} ") or run(
                program, "-h").stdout != done.stdout:
            helps.append(name)
        said = run(program, "--version")
        if said.returncode or not re.fullmatch(rf"{name} \d+\.\d+\.\d+\n", said.stdout):
            versions.append(f"{name}: {said.stdout!r}")
        for option, argument in re.findall(r"^  (?:-\w, )?--([a-z-]+)(?: ([A-Za-z]\S*))?", done.stdout, re.M):
            taken = run(program, f"--{option}=x" if argument else f"--{option}", "--version")
            if taken.returncode not in (0, 2) or "internal error" in taken.stderr:
                lost.append(f"{name} --{option}: {taken.returncode} {taken.stderr!r}")
        refusals.append(refusal(program, name, "--no-such-option"))
        refusals.append(refusal(program, name, "nonsense"))
        for words in ([HOSTILE], ["--" + HOSTILE], *([f"--{option}", HOSTILE] for option, _ in WRONG.get(name, []))):
            said = run(program, *words).stderr
            if commands_in(said) or said.count("\n") != 1:
                repeated.append(f"{name} {words}: {said!r}")
        for option, value in WRONG.get(name, []):
            refusals.append(refusal(program, name, f"--{option}", value))
            if f"--{option}" not in run(program, f"--{option}={value}").stderr:
                unnamed.append(f"{name} --{option}")
    tap.check("--help and -h print one text, on standard output", helps)
    tap.check("--version names program and release", versions)
    tap.check("each option of the help is one that the program knows how to read", lost)
    tap.check("a wrong command line is reported in one line, with status 2", [r for r in refusals if r])
    tap.check("that line names the option", unnamed)
    tap.check("what it holds forges no line, and commands no terminal", repeated)
    tap.done()


main(*sys.argv[1:])
