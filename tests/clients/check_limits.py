"""check_limits: real clients under `vgpu run --memory`: they see the limit, run, and are refused at it."""

import os

from harness import CACHE, DEBIAN, MIB, Failed, check

SMI = os.path.join(DEBIAN, "lib", "nvidia", "current", "nvidia-smi")
LIMIT_MIB = 2048


def limited(clients, *command, memory=f"{LIMIT_MIB}Mi", **options):
    """Runs a client under a limit on the machine that all clients share."""
    return clients.run(os.path.join(clients.build, "bin", "vgpu"), "run", "--memory", memory, "--",
                       *command, **options)


def sample(name):
    return os.path.join(CACHE, "built", "s", name, name)


@check("nvidia-smi under a limit shows cards of that size, and no neighbour")
def smi_limited(clients):
    with clients.holder(1024):
        result = limited(clients, SMI).expect(rf" 0MiB / +{LIMIT_MIB}MiB", r"No running processes found")
        if result.text.count(f"{LIMIT_MIB}MiB") != 2 or "40960MiB" in result.text:
            raise Failed(f"not two cards of {LIMIT_MIB} MiB\n{result.shown()}")
        limited(clients, SMI, "--query-gpu=memory.total,memory.used,memory.free", "--format=csv,noheader",
                memory="1.5g").expect(r"\A(1536 MiB, 0 MiB, 1536 MiB\n){2}\Z")


@check("nvidia-smi under a limit shows the processes of its own share")
def smi_own(clients):
    script = (f"coproc {sample('hold')} {512 * MIB}; read -u ${{COPROC[0]}} line; {SMI}; "
              "echo pid=$COPROC_PID; kill $COPROC_PID; wait")
    result = limited(clients, "bash", "-c", script)
    pid = result.find(r"^pid=(\d+)$")
    held = int(result.find(rf" {pid} +C +\S*hold +(\d+)MiB "))
    if not 512 < held < LIMIT_MIB:
        raise Failed(f"it holds {held} MiB\n{result.shown()}")


@check("deviceQuery under a limit finds cards of that size")
def query_limited(clients):
    limited(clients, sample("deviceQuery")).expect(
        rf"Total amount of global memory: +{LIMIT_MIB} MBytes", r"Result = PASS")


@check("CUDA samples run under a limit")
def samples_limited(clients):
    for name in ("vectorAdd", "vectorAddMMAP", "streamOrderedAllocationIPC", "graphMemoryNodes"):
        limited(clients, sample(name), cwd=os.path.dirname(sample(name))).expect(status=0)


@check("a client that wants more than its limit is told that memory is out")
def refused(clients):
    result = limited(clients, sample("hold"), str(3072 * MIB), stdin="")
    if result.status == 0 or "holding" in result.text:
        raise Failed(f"it was not refused\n{result.shown()}")
    result.expect(r"(?i)out.of.memory", status=None)
