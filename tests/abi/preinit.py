# SPDX-License-Identifier: Apache-2.0
"""preinit LIBRARY TABLE [oracle]: before initialisation each function answers as recorded.

Each call is made with every argument zero, in a child of its own. With `oracle`, LIBRARY is the
real one: the same check proves the record itself.
"""

import ctypes
import os
import signal
import sys

import generate
from tap import Tap

ARGUMENTS = 16  # more than any function takes; registers and stack are zero


def answer(library, name):
    """What the function returns, as text; `crash` when it dies."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        function = getattr(ctypes.CDLL(library), name, None)
        if function is None:
            os.write(writing, b"missing")
        else:
            result = function(*[ctypes.c_uint64(0)] * ARGUMENTS)
            os.write(writing, str(result).encode())
        os._exit(0)
    os.close(writing)
    text = os.read(reading, 64).decode()
    os.close(reading)
    os.waitpid(child, 0)
    return text or "crash"


def main(path, table_path, oracle=""):
    # No machine: the record was made where there is no GPU.
    for name in ("VGPU_SIM", "VGPU_SIM_LOG", "VGPU_SIM_STRICT"):
        os.environ.pop(name, None)
    tap = Tap()
    table = generate.Table(table_path, [])
    wrong = []
    for function in table.functions:
        recorded = function.attributes.get("preinit", str(table.uninitialised))
        if function.returns != table.result or (oracle and not function.is_in_535):
            continue
        # A crash is not imitated: the caller gets the code for a bad argument.
        wanted = recorded if oracle or recorded != "crash" else str(table.crash)
        found = answer(path, function.name)
        if found != wanted:
            wrong.append(f"{function.name}: {wanted} recorded, {found} answered")
    tap.check(f"{len(table.functions)} functions answer as recorded", wrong)
    tap.done()


main(*sys.argv[1:])
