# SPDX-License-Identifier: Apache-2.0
"""strangers TABLE TYPES...: every NVML function that can tell of a process is intercepted, or there is a reason.

A function can if one of its parameters is a pid, or points to something with a pid in it; of types that
nobody has declared, and of figures, the name must do.
"""

import re
import sys

import generate
from tap import Tap

PID = re.compile(r"\bpids?\b", re.I)
NAME = re.compile(r"Process(?!or)|Pids?\b|Pids?[A-Z]|Accounting|Sessions?|Stats|BAR1|MemoryInfo|MemoryUsage|Samples$"
                  r"|(?:Encoder|Decoder|Jpg|Ofa|Rates)Utilization|UtilizationRates")
TELLING_TYPE = re.compile(r"nvml(Process|Accounting|FBC|Encoder|Vgpu\w*Process)")

NO_CONTAINER = "only where a hypervisor cuts the GPU: its guests are virtual machines, not containers"
REASONS = {
    "nvmlDeviceGetAccountingMode": "whether there is accounting",
    "nvmlDeviceSetAccountingMode": "for administrators, and tells nothing",
    "nvmlDeviceClearAccountingPids": "for administrators, and tells nothing",
    "nvmlDeviceGetAccountingBufferSize": "how many processes accounting can remember",
    "nvmlDeviceGetEncoderCapacity": "what the GPU can do",
    "nvmlDeviceGetConfComputeProtectedMemoryUsage": "only a GPU that belongs to one virtual machine has it",
    "nvmlDeviceGetVgpuProcessUtilization": NO_CONTAINER,
    "nvmlDeviceGetVgpuProcessesUtilizationInfo": NO_CONTAINER,
    "nvmlVgpuInstanceClearAccountingPids": NO_CONTAINER,
    "nvmlVgpuInstanceGetAccountingMode": NO_CONTAINER,
    "nvmlVgpuInstanceGetAccountingPids": NO_CONTAINER,
    "nvmlVgpuInstanceGetAccountingStats": NO_CONTAINER,
    "nvmlVgpuInstanceGetEncoderSessions": NO_CONTAINER,
    "nvmlVgpuInstanceGetEncoderStats": NO_CONTAINER,
    "nvmlVgpuInstanceGetFBCSessions": NO_CONTAINER,
    "nvmlVgpuInstanceGetFBCStats": NO_CONTAINER,
    "nvmlVgpuTypeGetBAR1Info": NO_CONTAINER,
}


def types_with_pids(headers):
    """The names of the structures that hold a pid, directly or by another one."""
    bodies = {}
    for header in headers:
        with open(header, encoding="utf-8") as text:
            for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text.read(), re.S):
                bodies[name] = body
    telling = {name for name, body in bodies.items() if PID.search(body)}
    while True:
        more = {name for name, body in bodies.items()
                if name not in telling and set(re.findall(r"\w+", body)) & telling}
        if not more:
            return telling
        telling |= more


def can_tell(function, telling):
    words = set(re.findall(r"\w+", " ".join(function.parameters)))
    return (any(PID.fullmatch(word) for word in words) or bool(words & telling)
            or any(TELLING_TYPE.match(word) for word in words) or bool(NAME.search(function.name)))


def main(table, *headers):
    tap = Tap()
    telling = types_with_pids(headers)
    rows = [f for f in generate.Table(table, list(headers)).functions if can_tell(f, telling)]
    tap.check("some functions tell of processes", "" if len(rows) > 25 else str(len(rows)))
    past = [f.name for f in rows if f.verdict not in ("hook", "deny") and f.name not in REASONS]
    tap.check("each is intercepted, or has a reason", past)
    known = {f.name for f in rows if f.verdict == "pass"}
    tap.check("each reason is for one that is not", sorted(set(REASONS) - known))
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
