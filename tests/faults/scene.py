# SPDX-License-Identifier: Apache-2.0
"""scene: a program of ours at work, which is judged while faults come and after they are gone."""

import http.client
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

SENTENCE = re.compile(r"[a-z].{8,}")


class Refused(Exception):
    """Whoever asked got no answer, or a refusal: fine while there are faults, and only then."""

    def __eq__(self, other):
        return isinstance(other, Refused)

    __hash__ = Exception.__hash__


class UnixHttp(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=5)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask_http(connection, method, path, body=None):
    """(status, text) of one request; raises Refused where there is no answer."""
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise Refused(str(error)) from error
    finally:
        connection.close()


class Scene:
    """A subclass says how the program starts, when it is up, and what it is asked."""

    object = ""         # the program's file name, or that of a library in it

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.log = self.folder / "log"
        self.process, self.right, self.limits = None, None, {}
        self.slow = set()       # questions that take seconds: asked once a life, if is_thorough
        self.is_thorough = True
        self.may_lack = False   # with faults a list may lack what could not be made yet

    # Of a subclass.

    def command(self):
        raise NotImplementedError

    def environment(self):
        return {}

    def is_up(self):
        raise NotImplementedError

    def asks(self):
        """What → a function that asks the program, and gives what must be the same each time, or raises Refused."""
        raise NotImplementedError

    def doors(self):
        """Where it listens: paths of sockets, or (host, port)."""
        return []

    def lost(self):
        """What was there before the faults and is not any more."""
        return []

    def anew(self):
        """Forgets what earlier runs have left."""

    # Of all.

    def begin(self, faults=None):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in self.command()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                env={**os.environ, **self.environment(), **(faults or {})},
                preexec_fn=self.limit if self.limits else None)

    def limit(self):
        import resource     # pylint: disable=import-outside-toplevel
        for what, most in self.limits.items():
            resource.setrlimit(what, most)

    def has_ended(self):
        return self.process.poll() is not None

    def waits(self, seconds=15):
        """Until it is up, or has ended: is it up?"""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.has_ended():
            if self.is_up():
                return True
            time.sleep(0.02)
        return False

    def cpu_s(self):
        """What it has spent on a core so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def said(self):
        return self.log.read_text(encoding="utf-8", errors="replace").splitlines()

    def end(self):
        """It ends in order; complaints if not."""
        if self.process is None:
            return []
        self.process.terminate()
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return ["it does not end when asked to"]
        return [] if code == 0 else [f"its end has status {code}: {self.said()[-1:]}"]

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def answers(self):
        """Of each question, in order."""
        found = {}
        for what, ask in self.asks().items():
            if what in self.slow and not self.is_thorough:
                continue
            try:
                found[what] = ask()
            except Refused as refusal:
                found[what] = refusal
        return found

    def wrong(self, may_refuse):
        """Complaints about the answers; right is what it said when all was well."""
        return [f"{what}: {answer!r} instead of {self.right[what]!r}" for what, answer in self.answers().items()
                if answer != self.right[what] and not (may_refuse and self.is_less(answer, self.right[what]))]

    def is_less(self, answer, right):
        return isinstance(answer, Refused) or (
            self.may_lack and isinstance(answer, list) and all(item in right for item in answer))

    def settles(self, seconds=30):
        """Without faults every answer is right, be it after a while; complaints if not."""
        end = time.monotonic() + seconds
        while (complaints := self.wrong(False)) and time.monotonic() < end and not self.has_ended():
            time.sleep(0.1)
        return complaints

    def learns(self):
        """Runs it without faults; what it answers is right."""
        self.begin()
        if not self.waits(30):
            raise RuntimeError(f"{self.object} does not start: {self.said()[-3:]}")
        end = time.monotonic() + 20
        self.right = self.answers()
        while Refused("") in self.right.values():
            if time.monotonic() > end:
                raise RuntimeError(f"{self.object} does not answer: {self.right}")
            time.sleep(0.1)
            self.right = self.answers()
        complaints = self.end()
        if complaints:
            raise RuntimeError(f"{self.object}: {complaints}")

    def refused(self):
        """It has ended by itself: with a status that says so, and a sentence; complaints if not."""
        code = self.process.returncode
        if code < 0:
            return [f"it was ended by {signal.Signals(-code).name}: {self.said()[-2:]}"]
        if code == 0:
            return ["it ends as if all were well"]
        return [] if any(SENTENCE.search(line) for line in self.said()) else [f"status {code} without a sentence"]
