# SPDX-License-Identifier: Apache-2.0
"""Is this tree slower than another revision? Both are measured alternately in one run, and compared call by call.

What disturbs a round disturbs both, so it is their difference in each round that counts, and the median of all rounds. A
figure that looks worse is measured as often again before it is called so.
"""

import os
import shutil
import statistics
import subprocess
import sys

ROUNDS = 7
WORSE_PART, WORSE_NS = 0.10, 2      # it is worse if it is so by more than the larger of the two
PROGRAMS = ("sim_cost", "limit_cost", "launch_cost")


def is_per_call(name):
    """Nanoseconds of one call; starts and ratios vary with the host far more than calls do."""
    return name.endswith("_ns") or "_ns_" in name


def added_ns(rounds, name):
    """(what the other takes, how much more we take) of the rounds, each a pair of {name: ns}."""
    return (statistics.median(other[name] for other, _ in rounds),
            statistics.median(ours[name] - other[name] for other, ours in rounds))


def worse(rounds):
    """The names of the figures that are worse."""
    names = [name for name in rounds[0][1] if is_per_call(name) and name in rounds[0][0]]
    found = []
    for name in names:
        before, added = added_ns(rounds, name)
        if added > max(WORSE_PART * abs(before), WORSE_NS):
            found.append(name)
    return found


def run_round(measures, builds):
    """A {name: figure} for each build. They are measured one right after the other, measure by measure."""
    figures = {build: {} for build in builds}
    for measure in measures:
        for build in builds:
            figures[build].update(measure(build))
    return figures


def run_rounds(measures, other, ours, count):
    """Pairs. Who begins changes with each round."""
    rounds = [run_round(measures, (ours, other) if number % 2 else (other, ours)) for number in range(count)]
    return [(both[other], both[ours]) for both in rounds]


def compare(measures, other, ours, count=ROUNDS):
    """(all rounds, the names that are worse); a measure of a build gives {name: figure}."""
    rounds = run_rounds(measures, other, ours, count)
    if worse(rounds):
        rounds += run_rounds(measures, other, ours, count)
    return rounds, worse(rounds)


def commit_of(revision):
    found = subprocess.run(["git", "rev-parse", "--verify", "--quiet", revision + "^{commit}"], check=False, text=True,
                           stdout=subprocess.PIPE)
    if found.returncode:
        sys.exit(f"bench: there is no revision '{revision}'")
    return found.stdout.strip()


def build_of(revision, build):
    """Builds the revision below our build folder, once; gives its own build folder."""
    commit = commit_of(revision)
    tree = os.path.join(os.path.abspath(build), "check", commit)
    if not os.path.isdir(tree):
        fresh = tree + ".new"
        shutil.rmtree(fresh, ignore_errors=True)
        os.makedirs(fresh)
        with subprocess.Popen(["git", "archive", commit], stdout=subprocess.PIPE) as archive:
            subprocess.run(["tar", "-x", "-C", fresh], stdin=archive.stdout, check=True)
        os.rename(fresh, tree)
    # What our own make was told is not for this one.
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS", "BUILD", "CHECK")}
    theirs = os.path.join(tree, "build")
    subprocess.run(["make", "-C", tree, "build"], check=True, env=environment)
    subprocess.run(["ninja", "-C", theirs, "--quiet", *(f"bench/{name}" for name in PROGRAMS)], check=True,
                   env=environment)
    return theirs


def table(rounds, names, revision):
    """A line for each figure that both have."""
    yield f"{'':42} {revision[:12]:>12} {'here':>12}   of {len(rounds)} rounds"
    for name in rounds[0][1]:
        if not is_per_call(name):
            continue
        if name not in rounds[0][0]:
            yield f"{name:42} {'-':>12}   not measured there"
            continue
        before, added = added_ns(rounds, name)
        yield f"{name:42} {before:12.2f} {before + added:12.2f}{'   worse' if name in names else ''}"


def run(measures, revision, build):
    """The exit status: 1 where a figure is worse."""
    rounds, names = compare(measures, build_of(revision, build), build)
    print("\n".join(table(rounds, names, revision)))
    if names:
        print(f"bench: worse than {revision} by more than {WORSE_PART * 100:.0f} % and {WORSE_NS} ns: {', '.join(names)}")
    return 1 if names else 0
