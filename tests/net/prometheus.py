# SPDX-License-Identifier: Apache-2.0
"""prometheus: reads the text format 0.0.4 as strictly as Prometheus does, and says what is wrong with it."""

import pathlib
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
HEAD = re.compile(rf"# (HELP|TYPE) ({NAME}) (.*)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")


def unescape(text):
    return re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), text)


def read_labels(text):
    labels, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        if not match:
            raise ValueError(f"label at {text[at:]!r}")
        if match[1] in labels:
            raise ValueError(f"label {match[1]} twice")
        labels[match[1]] = unescape(match[2])
        at = match.end()
        if match[3] == "," and at == len(text):
            raise ValueError("a comma too many")
    return labels


class Page:
    """All samples, as a list of (name, labels, value), and what is wrong with the text."""

    def __init__(self, text):
        self.samples, self.wrong, self.types, self.helped = [], [], {}, set()
        self.seen, self.last = set(), None
        if isinstance(text, bytes):
            text = text.decode("utf-8")  # an error is one
        if not text.endswith("\n"):
            self.wrong.append("the last line does not end")
        for line in text.splitlines():
            try:
                self.take(line)
            except ValueError as error:
                self.wrong.append(f"{line[:120]!r}: {error}")

    def seen_names(self):
        return {name for name, _, _ in self.samples}

    def take(self, line):
        if line.startswith("#"):
            match = HEAD.fullmatch(line)
            if not match:
                raise ValueError("no head")
            return self.take_head(match[1], match[2], match[3])
        match = SAMPLE.fullmatch(line)
        if not match:
            raise ValueError("no sample")
        name, labels, value = match[1], read_labels(match[2] or ""), float(match[3])
        self.take_sample(name, labels, value)
        return None

    def take_head(self, kind, name, remainder):
        if kind == "HELP":
            if name in self.helped:
                raise ValueError("help twice")
            self.helped.add(name)
        else:
            if name in self.types or remainder not in ("counter", "gauge", "histogram"):
                raise ValueError("type twice, or none")
            self.types[name] = remainder
            if (remainder == "counter") != name.endswith("_total"):
                raise ValueError("counters, and no others, are called …_total")

    def family(self, name):
        """The metric that a sample is of: a histogram has three kinds."""
        base = re.sub("_(bucket|sum|count)$", "", name)
        return base if self.types.get(base) == "histogram" else name

    def take_sample(self, name, labels, value):
        family = self.family(name)
        if family not in self.types or family not in self.helped:
            raise ValueError("no head before it")
        if family != self.last and family in {self.family(seen) for seen in self.seen_names()}:
            raise ValueError("apart from its like")
        self.last = family
        key = (name, tuple(sorted(labels.items())))
        if key in self.seen:
            raise ValueError("twice")
        self.seen.add(key)
        if name.endswith("_ratio") and not 0 <= value <= 1.0001:
            raise ValueError("a ratio is from 0 to 1")
        if self.types[family] == "counter" and value < 0:
            raise ValueError("a counter below 0")
        self.samples.append((name, labels, value))

    def value(self, name, **wanted):
        """The one sample with these labels; None: there is none."""
        found = [value for sample, labels, value in self.samples
                 if sample == name and all(labels.get(k) == v for k, v in wanted.items())]
        if len(found) > 1:
            raise KeyError(f"{len(found)} of {name} {wanted}")
        return found[0] if found else None

    def unlisted(self):
        """Metrics that docs/reference/metrics.md does not have."""
        listed = (pathlib.Path(__file__).resolve().parents[2] / "docs/reference/metrics.md").read_text(encoding="utf-8")
        return sorted(name for name in self.types if f"`{name}`" not in listed) if self.types else ["nothing is printed"]

    def named(self, prefix):
        return [(name, labels, value) for name, labels, value in self.samples
                if name.startswith(prefix)]
