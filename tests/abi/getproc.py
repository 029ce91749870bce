# SPDX-License-Identifier: Apache-2.0
"""getproc LIBRARY TABLE [oracle]: cuGetProcAddress answers every name at every version and flag.

With `oracle`, LIBRARY is the real driver 535: the same check proves the table itself.
"""

import ctypes
import os
import sys

import generate
from tap import Tap

NOT_FOUND, TOO_OLD = 1, 2


class Driver:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def address(self, symbol):
        function = getattr(self.library, symbol, None)
        return ctypes.cast(function, ctypes.c_void_p).value if function else None

    def ask(self, name, version, flag):
        """(address or None, status, result) of cuGetProcAddress_v2."""
        pointer, status = ctypes.c_void_p(), ctypes.c_int(-1)
        result = self.library.cuGetProcAddress_v2(name.encode(), ctypes.byref(pointer), version,
                                                  ctypes.c_uint64(flag), ctypes.byref(status))
        return pointer.value, status.value, result

    def ask_v1(self, name, version, flag):
        pointer = ctypes.c_void_p()
        result = self.library.cuGetProcAddress(name.encode(), ctypes.byref(pointer), version,
                                               ctypes.c_uint64(flag))
        return pointer.value, result


def wanted(functions, version, flag):
    """(symbol or None, status): twins alone answer flag 2 where there are any."""
    twins = [f for f in functions if f.suffix]
    candidates = twins if flag == 2 and twins else [f for f in functions if not f.suffix]
    fitting = [f for f in candidates if f.version <= version]
    if fitting:
        return max(fitting, key=lambda f: (f.version, f.name)).name, 0
    return None, TOO_OLD if candidates else NOT_FOUND


def main(path, table_path, oracle=""):
    os.environ.pop("VGPU_SIM_LOG", None)
    tap = Tap()
    driver = Driver(path)
    names = {}
    for f in generate.Table(table_path, []).functions:
        if f.base and (f.is_in_535 or not oracle):
            names.setdefault(f.base, []).append(f)
    versions = sorted({f.version + d for fs in names.values() for f in fs for d in (-1, 0)})
    if oracle:
        versions = [v for v in versions if v <= 12020]

    wrong, wrong_v1, asked = [], [], 0
    for name, functions in names.items():
        for version in versions:
            for flag in (0, 1, 2):
                symbol, status = wanted(functions, version, flag)
                address = driver.address(symbol) if symbol else None
                asked += 1
                if driver.ask(name, version, flag) != (address, status, 0):
                    found = driver.ask(name, version, flag)
                    wrong.append(f"{name}@{version}/{flag}: {symbol} {status} wanted, got {found}")
                if driver.ask_v1(name, version, flag) != (address, 0 if symbol else 500):
                    wrong_v1.append(f"{name}@{version}/{flag}: {symbol} wanted")
    tap.check(f"cuGetProcAddress_v2 answers {asked} questions", wrong)
    tap.check("cuGetProcAddress answers the same, and 500 where there is nothing", wrong_v1)
    odd = [("cuMemAlloc_v2", 12000, 0), ("nonsense", 12000, 0), ("", 12000, 0)]
    tap.check("suffixed and unknown names are not found",
              [f"{q}" for q in odd if driver.ask(*q) != (None, NOT_FOUND, 0)])
    tap.check("an unknown flag is an invalid value",
              [] if driver.ask("cuMemAlloc", 12000, 8)[2] == 1 else ["flag 8 was accepted"])
    tap.done()


main(*sys.argv[1:])
