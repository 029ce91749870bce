# SPDX-License-Identifier: Apache-2.0
"""memory_search: tenants of `make hunt` whose memory does not fit their part of the GPU, or not together.

Each has a limit alone, a ratio, or is oversold; memory of cuMemAlloc, managed memory or both; and uses all of it or a
part. By the simulator's own account, at every look, none has more on the GPU than its physical part, and the GPU no
more than it has. What they wrote is there at the end. Some are promised how much gets done:

- a tenant alone under a ratio, whose set in use fits its physical part: AT_LEAST of what it gets with all of it there
- two oversold tenants, each of at most three quarters of the GPU: together AT_LEAST of one alone, and evenly
- one with a limit of compute: no more than that, and AT_LEAST of what it could have
"""

import os
import subprocess

import memory

BLOCK_MIB = 64
WARM_UP_S, WATCH_S, ALONE_S = 3, 12, 3
AT_LEAST, EVENLY, POINTS = 0.85, 0.9, 2.0
EXEMPT = ("--context-memory", "exempt")
WRONG = 100.0  # points: a bound was passed, or data lost


def blocks(mib):
    return max(int(mib) // BLOCK_MIB, 2) * BLOCK_MIB


class Gpu(memory.Gpu):
    """One whose contexts take nothing: what they take cannot move, and has to be left free."""

    def __init__(self, build, folder, mib):
        self.mib = mib
        super().__init__(build, folder)

    def make(self):
        subprocess.run([self.vgpu, "sim", "create", "--machine", self.machine, "--gpu-memory", f"{self.mib}Mi",
                        "--context-memory", "0", "--kernel", "k1ms=1000"], check=True, env=self.env,
                       stdout=subprocess.DEVNULL)


class Tenant:
    """A made-up share, and the program in it. `part`: of the GPU's memory that it may fill on the GPU."""

    def __init__(self, rng, gpu_mib, way, part, cores):
        self.kind, self.way, self.cores = rng.choice(("device", "managed", "mixed")), way, cores
        self.physical = int(gpu_mib * part)
        self.whole = ["--memory", f"{self.physical}Mi"]
        self.options = list(self.whole)
        if way == "limit":
            self.mib = blocks(self.physical * rng.uniform(0.4, 0.85))
        elif way == "ratio":
            ratio = rng.choice((1.5, 2, 3))
            self.physical = int(self.physical / ratio)
            self.options += ["--memory-ratio", str(ratio)]
            self.mib = blocks(self.physical * rng.uniform(1.1, 0.9 * ratio))
        else:
            self.options += ["--oversold"]
            self.mib = blocks(self.physical * rng.uniform(0.5, 1.2))
        self.hot = blocks(min(self.mib, rng.choice((self.mib, self.physical * rng.uniform(0.2, 0.75)))))
        for options in (self.options, self.whole):
            options += [*EXEMPT] + (["--cores", str(cores)] if cores else [])

    def __str__(self):
        return f"{self.kind} {self.hot} of {self.mib} MiB, {' '.join(option for option in self.options if option not in EXEMPT)}"


def tenants_of(rng, gpu_mib):
    """Those whose memory cannot be pushed out fit together; the others need not."""
    count = rng.choice((1, 2, 2, 2, 3))
    if count == 1:
        return [Tenant(rng, gpu_mib, rng.choice(("ratio", "ratio", "oversold", "limit")), rng.uniform(0.5, 1), None)]
    limits = rng.choice(([None] * 3, [None] * 3, [50, 30, 20], [30, 30, 30]))
    ways = rng.choice((["oversold"] * 3, ["oversold", "ratio", "oversold"], ["limit", "oversold", "ratio"]))
    parts = {"oversold": (0.5, 0.75), "ratio": (0.5, 0.75), "limit": (0.2, 0.3)}
    return [Tenant(rng, gpu_mib, way, rng.uniform(*parts[way]), cores) for way, cores in zip(ways[:count], limits)]


class Watch:
    """The most that each process had."""

    def __init__(self, build, machine):
        self.process = subprocess.Popen([os.path.join(build, "bench", "memory_watch"), machine], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def end(self):
        most, gpu = {}, (0, 0)
        for line in self.process.communicate()[0].splitlines():
            fields = line.split()
            if fields[0] == "gpu":
                gpu = int(fields[1]), int(fields[3])
            else:
                most[int(fields[1])] = int(fields[2])
        return most, gpu


def together(gpu, build, tenants, seconds, whole=False):
    """What each gets done, in percent of the time, and the sentences about bounds that were passed."""
    watch = Watch(build, gpu.machine)
    started = [gpu.start(tenant.kind, tenant.mib, tenant.hot, tenant.whole if whole else tenant.options, seconds, "write",
                         warm_up=WARM_UP_S) for tenant in tenants]
    done, troubles = [], []
    for tenant, process in zip(tenants, started):
        try:
            done += gpu.done(process)
        except (subprocess.CalledProcessError, IndexError):
            troubles.append(f"{tenant}: ended with {process.returncode}")
            done.append(0)
    most, (used, has) = watch.end()
    for tenant, process in zip(tenants, started):
        if most.get(process.pid, 0) > tenant.physical << 20 and not whole:
            troubles.append(f"{tenant}: {most[process.pid] >> 20} MiB on the GPU, {tenant.physical} are its part")
    if used > has:
        troubles.append(f"{used >> 20} of {has >> 20} MiB of the GPU are used")
    return done, troubles


def promises(gpu, build, tenants, done, alone):
    """(least or most percent, what is there, sentence) for each promise that holds for these tenants."""
    first = tenants[0]
    for tenant, part, bare in zip(tenants, done, alone):
        if tenant.cores:
            yield part - tenant.cores, f"{tenant}: {part:.1f} percent"
            if all(other.way == "oversold" for other in tenants):
                yield AT_LEAST * min(tenant.cores, bare) - part + POINTS, f"{tenant}: {part:.1f}, alone {bare:.1f} percent"
    if len(tenants) == 1 and first.way == "ratio" and first.hot <= 0.75 * first.physical:
        (whole,), _ = together(gpu, build, tenants, ALONE_S, whole=True)
        yield 100 * (AT_LEAST - done[0] / max(whole, 0.1)) + POINTS, f"{first}: {done[0]:.1f} of {whole:.1f} percent"
    if len(tenants) == 2 and all(tenant.way == "oversold" and not tenant.cores and tenant.mib <= 0.9 * tenant.physical
                                 for tenant in tenants):
        mean = max(sum(alone) / 2, 0.1)
        yield 100 * (AT_LEAST - sum(done) / mean) + POINTS, f"together {sum(done):.1f}, one alone {mean:.1f} percent"
        # Who has the GPU when the watch ends has up to a time slice more.
        yield 100 * (EVENLY - min(done) / max(*done, 0.1)) + POINTS, f"{done[0]:.1f} and {done[1]:.1f} percent"


def trial(build, folder, rng, seed):
    """[(points beyond what is promised, sentence)]: POINTS is what is allowed."""
    mib = rng.choice((1024, 1024, 2048))
    gpu = Gpu(build, folder, mib)
    tenants = tenants_of(rng, mib)
    told = f"seed {seed}, memory, GPU of {mib} MiB, " + "; ".join(map(str, tenants))
    alone = [together(gpu, build, [tenant], ALONE_S)[0][0] for tenant in tenants]
    done, troubles = together(gpu, build, tenants, WATCH_S)
    yield 0.0, told
    for trouble in troubles:
        yield WRONG, f"{told}: {trouble}"
    if not troubles:
        for error, sentence in promises(gpu, build, tenants, done, alone):
            yield error, f"{told}: {sentence}"
