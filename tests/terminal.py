# SPDX-License-Identifier: Apache-2.0
"""terminal: runs a full-screen program on a pseudo terminal and keeps what it draws."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[()][A-Z0-9]|[=>78])")


def run(command, environment, seconds, keys, rows=50, columns=160):
    """Draws for some seconds, then sends the keys; (exit status, drawn text without escapes)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command[0], command, {**environment, "TERM": "xterm-256color"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    text = _read(terminal, time.monotonic() + seconds)
    try:
        os.write(terminal, keys)
    except OSError:
        pass                    # it has ended by itself: the status says how
    text += _read(terminal, time.monotonic() + 5)
    status = _wait(pid, time.monotonic() + 5)
    os.close(terminal)
    return status, ESCAPES.sub("", text.decode("utf-8", "replace"))


def _read(terminal, until):
    text = b""
    while (left := until - time.monotonic()) > 0:
        if not select.select([terminal], [], [], left)[0]:
            break
        try:
            piece = os.read(terminal, 65536)
        except OSError:         # the other side is closed
            break
        if not piece:
            break
        text += piece
    return text


def _wait(pid, until):
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None
