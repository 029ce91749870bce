# SPDX-License-Identifier: Apache-2.0
"""Is this tree slower than another revision? Both are measured alternately in one run, and compared call by call.

What disturbs a round disturbs both, so it is their difference in each round that counts: each round is for one of two
answers, "more than is allowed" or "not more". A figure is measured until one answer has clearly more rounds than the
other, so a calm host needs few rounds and a busy one more. It takes more rounds to call a figure worse: there are
thirty of them, and one that is wrong stops a change.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time

import calls

WORSE_PART, WORSE_NS = 0.10, 2      # it is worse if it is so by more than the larger of the two
SAME_LEAD, WORSE_LEAD = 5, 8        # so many rounds more for an answer than for the other are clear
SECONDS = 180                       # then the rounds that there are decide,
ROUNDS_LEAST = 5                    # if there are so many
# Of the other revision: what is compared, and nothing else of it.
TARGETS = ("place-libvgpu.so.stamp", "bench/sim_cost")
PROGRAMS = ("bench/sim_cost", "bench/limit_cost", "bench/launch_cost")


def is_per_call(name):
    """Nanoseconds of one call; starts and ratios vary with the host far more than calls do."""
    return name.endswith("_ns") or "_ns_" in name


def added_ns(pairs):
    """(what the other takes, how much more we take) of a figure's rounds, each a pair (other, ours)."""
    return statistics.median(other for other, _ in pairs), statistics.median(ours - other for other, ours in pairs)


def lead(pairs):
    """How many rounds more say that it is worse; negative: that it is not."""
    allowed = max(WORSE_PART * abs(added_ns(pairs)[0]), WORSE_NS)
    return sum(1 if ours - other > allowed else -1 for other, ours in pairs)


def is_clear(pairs):
    return not -SAME_LEAD < lead(pairs) < WORSE_LEAD


def is_worse(pairs):
    return lead(pairs) > 0


class Measure:
    """A measure of check, and the rounds of its figures: measure(builds) gives {build: {name: ns}}."""

    def __init__(self, measure):
        self.measure = measure
        self.pairs = {}         # {name: [(other, ours)]}
        self.unmatched = []     # names that only we have

    def round(self, other, ours, number):
        """Who begins changes with each round."""
        figures = self.measure((ours, other) if number % 2 else (other, ours))
        names = [name for name in figures[ours] if is_per_call(name)]
        self.unmatched = [name for name in names if name not in figures[other]]
        for name in names:
            if name in figures[other]:
                self.pairs.setdefault(name, []).append((figures[other][name], figures[ours][name]))

    def is_clear(self):
        return all(map(is_clear, self.pairs.values()))


def compare(measures, other, ours, seconds=SECONDS, clock=time.monotonic):
    """The measures with their rounds. One whose figures are all clear is not measured again."""
    measures = list(map(Measure, measures))
    end, open_ones, number = clock() + seconds, measures, 0
    while open_ones and clock() < end:
        for one in open_ones:
            one.round(other, ours, number)
        number += 1
        open_ones = [one for one in open_ones if not one.is_clear()]
    return measures


def worse(measures):
    """The names of the figures that are worse."""
    return [name for measure in measures for name, pairs in measure.pairs.items() if is_worse(pairs)]


def undecided(measures):
    """The names of the figures that are not clear and have too few rounds to be judged all the same."""
    return [name for measure in measures for name, pairs in measure.pairs.items()
            if not is_clear(pairs) and len(pairs) < ROUNDS_LEAST]


def commit_of(revision):
    found = subprocess.run(["git", "rev-parse", "--verify", "--quiet", revision + "^{commit}"], check=False, text=True,
                           stdout=subprocess.PIPE)
    if found.returncode:
        sys.exit(f"bench: there is no revision '{revision}'")
    return found.stdout.strip()


def tree_of(commit, build):
    """The files of the commit, below our build folder."""
    tree = os.path.join(os.path.abspath(build), "check", commit)
    if not os.path.isdir(tree):
        fresh = tree + ".new"
        shutil.rmtree(fresh, ignore_errors=True)
        os.makedirs(fresh)
        with subprocess.Popen(["git", "archive", commit], stdout=subprocess.PIPE) as archive:
            subprocess.run(["tar", "-x", "-C", fresh], stdin=archive.stdout, check=True)
        os.rename(fresh, tree)
    return tree


def build_of(revision, build):
    """Builds what is compared of the revision, once; gives its build folder."""
    tree = tree_of(commit_of(revision), build)
    theirs = os.path.join(tree, "build")
    # A compiler's cache knows the files of one revision that are those of another.
    environment = dict(os.environ, CCACHE_BASEDIR=tree, CCACHE_NOHASHDIR="1")
    if not os.path.exists(os.path.join(theirs, "build.ninja")):
        subprocess.run(["meson", "setup", theirs, tree, "-Dlibdir=lib"], check=True, env=environment,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", theirs, "--quiet", *TARGETS], check=True, env=environment)
    return theirs


def table(measures, revision):
    """A line for each figure."""
    yield f"{'':42} {revision[:12]:>12} {'here':>12}   rounds"
    for measure in measures:
        for name, pairs in measure.pairs.items():
            before, added = added_ns(pairs)
            yield f"{name:42} {before:12.2f} {before + added:12.2f}   {len(pairs):<6}{' worse' if is_worse(pairs) else ''}".rstrip()
        for name in measure.unmatched:
            yield f"{name:42} {'-':>12}   not measured there"


def run(revision, build):
    """The exit status: 1 where a figure is worse, 2 where the host was too busy to tell."""
    build = os.path.abspath(build)
    theirs = build_of(revision, build)
    subprocess.run(["ninja", "-C", build, "--quiet", *PROGRAMS], check=True)
    measures = compare([calls.simulator, calls.compared(build, calls.LAUNCHES, ["41"]), calls.compared(build, calls.ALONE),
                        calls.compared(build, calls.CROWD), calls.compared(build, calls.RUNNING)], theirs, build)
    print("\n".join(table(measures, revision)))
    names = worse(measures)
    if undecided(measures):
        print(f"bench: cannot compare within {SECONDS} s: the host is too busy; try again: {', '.join(undecided(measures))}")
        return 2
    if names:
        print(f"bench: worse than {revision} by more than {WORSE_PART * 100:.0f} % and {WORSE_NS} ns: {', '.join(names)}")
    return 1 if names else 0
