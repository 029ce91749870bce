#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""vgpu top and vgpu ps on real terminals: test_screen.py VGPU VGPU_BURN SOURCE_ROOT."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

from cli_case import VGPU, main, wait_until
from share_case import ShareCase

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import terminal  # noqa: E402

COLOURS = re.compile(rb"\x1b\[[0-9;]*(?:3[0-7]|4[0-7]|38;|48;)[0-9;]*m")
NAME = "a-name-that-is-long-and-must-be-whole-where-there-is-space"


class Session:
    """vgpu on a terminal of its own, read until something is on it."""

    def __init__(self, case, *words, rows=24, columns=80, term="xterm-256color", stdin=None,
                 program=VGPU, **environment):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            if stdin is not None:
                os.dup2(os.open(stdin, os.O_RDONLY), 0)
            os.execve(program, [program, *words], {**case.environment, "LC_ALL": "C.UTF-8", "TERM": term, **environment})
        self.text = b""
        case.addCleanup(self.end)

    def until(self, part, seconds=20):
        end = time.monotonic() + seconds
        part = part.encode()
        while part not in self.text and time.monotonic() < end:
            self.read(0.2)
        return part in self.text

    def read(self, seconds):
        if select.select([self.terminal], [], [], seconds)[0]:
            try:
                self.text += os.read(self.terminal, 65536)
            except OSError:     # the other side is closed
                time.sleep(0.02)

    def press(self, keys):
        os.write(self.terminal, keys)

    def resize(self, rows, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def status(self):
        """How it ended; the terminal is drained meanwhile."""
        for _ in range(200):
            self.read(0.1)
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.pid = None
                return os.waitstatus_to_exitcode(status)
        return None

    def is_restored(self):
        """It has left the other screen, shows the cursor, and echoes what is typed."""
        return b"\x1b[?1049l" in self.text and (b"\x1b[?25h" in self.text or b"\x1b[?12l\x1b[?25h" in self.text) and \
            bool(termios.tcgetattr(self.terminal)[3] & termios.ECHO)

    def end(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.terminal)


class Screen(ShareCase):
    def setUp(self):
        super().setUp()
        self.create("--preset", "t4-16gb", "--context-memory", "0", "--gpus", "2")
        self.environment["VGPU_SIM"] = self.machine

    def share(self, name=NAME):
        guest = self.start("--memory", "1g", "--name", name)
        guest.alloc(100)
        return guest

    def top(self, *words, **more):
        return Session(self, "top", "--interval", "0.2", *words, **more)

    def test_signals_and_keys_end_it_well(self):
        self.share()
        for end in (b"q", b"\x03", signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            session = self.top()
            self.assertTrue(session.until("Tesla T4"), session.text)
            if isinstance(end, bytes):
                session.press(end)
            else:
                os.kill(session.pid, end)
            self.assertEqual(session.status(), 0, end)
            self.assertTrue(session.is_restored(), (end, session.text[-200:]))

    def test_it_stops_and_goes_on_under_a_shell(self):
        self.share()
        session = Session(self, "--norc", "--noprofile", "-i", program=shutil.which("bash"), PS1="$ ")
        session.press(f"{VGPU} top --interval 0.2\n".encode())
        self.assertTrue(session.until("Tesla T4"), session.text)
        session.press(b"\x1a")
        self.assertTrue(session.until("Stopped"), session.text)
        self.assertIn(b"\x1b[?1049l", session.text)
        session.text = b""
        session.press(b"fg\n")
        self.assertTrue(session.until("Tesla T4"), session.text)
        session.press(b"?")
        self.assertTrue(session.until("leave"), session.text)
        session.text = b""
        session.press(b"q")
        self.assertTrue(session.until("\x1b[?1049l"), session.text)
        session.press(b"exit $?\n")
        self.assertEqual(session.status(), 0)

    def test_it_follows_the_size_of_the_terminal(self):
        self.share()
        session = self.top(columns=80)
        self.assertTrue(session.until("Tesla T4"))
        self.assertNotIn(NAME.encode(), session.text)
        session.resize(30, 200)
        self.assertTrue(session.until(NAME), session.text)
        session.press(b"q")
        self.assertEqual(session.status(), 0)

    def test_no_keys_without_stdin_but_the_terminal_s(self):
        session = self.top(stdin="/dev/null")
        self.assertTrue(session.until("Tesla T4"), session.text)
        session.press(b"q")
        self.assertEqual(session.status(), 0)

    def test_the_terminal_goes_away(self):
        session = self.top()
        self.assertTrue(session.until("Tesla T4"))
        os.close(session.terminal)
        session.terminal = os.open("/dev/null", os.O_RDONLY)
        self.assertTrue(wait_until(lambda: os.waitpid(session.pid, os.WNOHANG)[0]))
        session.pid = None

    def test_no_color(self):
        self.share()
        for words, around, is_coloured in (((), {}, True), ((), {"NO_COLOR": "1"}, False),
                                           (("--color=never",), {}, False),
                                           (("--color=always",), {"NO_COLOR": "1"}, True),
                                           ((), {"NO_COLOR": ""}, True)):
            session = self.top(*words, columns=160, **around)
            self.assertTrue(session.until("100/1024M"), session.text)
            session.press(b"q")
            self.assertEqual(session.status(), 0)
            self.assertEqual(bool(COLOURS.search(session.text)), is_coloured, (words, around))

    def test_a_dumb_terminal_gets_tables(self):
        self.share()
        for term in ("dumb", "no-such-terminal"):
            session = self.top(term=term)
            self.assertTrue(session.until("GPU  NAME"), session.text)
            os.kill(session.pid, signal.SIGINT)
            self.assertEqual(session.status(), 0, session.text)
            self.assertNotIn(b"\x1b[?1049h", session.text)
            self.assertTrue(term != "dumb" or b"\x1b[" not in session.text)

    def test_a_machine_that_vanishes_is_said(self):
        session = self.top()
        self.assertTrue(session.until("Tesla T4"))
        os.remove(self.machine)
        self.assertTrue(session.until("cannot open machine"), session.text)
        session.press(b"q")
        self.assertEqual(session.status(), 0)

    def test_a_lost_gpu_is_unhealthy(self):
        self.assertEqual(self.vgpu("sim", "inject", "--machine", self.machine, "lose", "1").returncode, 0)
        session = self.top()
        self.assertTrue(session.until("unhealthy"), session.text)
        session.press(b"q")
        self.assertEqual(session.status(), 0)

    def test_ps_fits_the_terminal(self):
        self.share()
        for columns in (20, 40, 60, 80, 120, 200):
            session = Session(self, "ps", columns=columns)
            self.assertEqual(session.status(), 0)
            text = terminal.ESCAPES.sub("", session.text.decode()).replace("\r", "")
            if columns >= 40:
                self.assertLessEqual(max(map(len, text.splitlines())), columns, text)
            self.assertEqual(NAME in text, columns >= 120, text)
        session = Session(self, "ps", "--wide", columns=80)
        self.assertEqual(session.status(), 0)
        for part in (NAME, "RESIDENT", "MANAGED"):
            self.assertIn(part, session.text.decode())

    def test_ps_columns(self):
        self.share()
        done = self.vgpu("ps", "--columns", "limit,share")
        self.assertIn(f"1GiB\t{NAME}", done.stdout.splitlines())
        self.assertEqual(done.stdout.splitlines()[0], "LIMIT\tSHARE")
        self.refuses(self.vgpu("ps", "--columns", "share,hold"), 2, "no column 'hold'", "did you mean 'held'")

    @unittest.skipUnless(shutil.which("tmux"), "there is no tmux")
    def test_what_is_on_the_screen(self):
        self.share("one")
        tmux = []
        environment = {**self.environment, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}

        def shown():
            return subprocess.run([*tmux, "capture-pane", "-p"], env=environment, capture_output=True, text=True,
                                  check=False).stdout
        for rows, columns, parts in ((24, 80, ("? help", "SHARE", "  one ", "1 Tesla T4  shares 0.0G")),
                                     (10, 40, ("? help", "  one ", "100/1024M")),
                                     (4, 20, (" vgpu top", "Tesl")),
                                     (50, 200, ("PROGRAM", "PID", "PAST", "python3"))):
            tmux[:] = ["tmux", "-L", f"{os.path.basename(self.folder)}-{rows}", "-f", "/dev/null"]
            self.addCleanup(subprocess.run, [*tmux, "kill-server"], env=environment, check=False, capture_output=True)
            subprocess.run([*tmux, "new-session", "-d", "-x", str(columns), "-y", str(rows),
                            f"exec {VGPU} top --interval 0.2"], env=environment, check=True)
            subprocess.run([*tmux, "set", "-g", "status", "off"], env=environment, check=False)
            subprocess.run([*tmux, "resize-window", "-x", str(columns), "-y", str(rows)], env=environment, check=False)
            self.assertTrue(wait_until(lambda: all(part in shown() for part in parts)), shown())
            self.assertTrue(shown().startswith(" vgpu top"), shown())
        subprocess.run([*tmux, "send-keys", "-l", "/é o"], env=environment, check=True)
        self.assertTrue(wait_until(lambda: "filter: é o_" in shown()), shown())


if __name__ == "__main__":
    main("__main__")
