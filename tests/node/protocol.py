# SPDX-License-Identifier: Apache-2.0
"""protocol: what vgpu-node and kubelet owe each other, as a table that does not care who plays kubelet:
grpcio does in make test (protocol_grpcio.py), the real kubelet in make e2e (cases/test_protocol.py).

A peer has: gpus, split (vGPUs of a GPU), gb (of a GPU); healthy(resource), the ids that kubelet would
hand out; take(resource, count), which hands some out and says what came with them; restart_kubelet(),
restart_agent(), delete_socket(resource); disturb(*words) and cut(gpu, slices), of the machine; and
within(claim), which waits a while for it.
"""

COUNTS = ["nvidia.com/vgpu", "nvidia.com/vgpu-number", "volcano.sh/vgpu-number"]
MEMORY = "gpu.das.com/mem"
PROFILE = "nvidia.com/mig-1g.5gb"


def has(peer, **wanted):
    """Waits for so many healthy ones of each resource; what is not so."""
    names = {"vgpus": COUNTS, "memory": [MEMORY], "parts": [PROFILE]}
    rows = [(name, count) for kind, count in wanted.items() for name in names[kind]]
    if peer.within(lambda: all(len(peer.healthy(name)) == count for name, count in rows)):
        return []
    return [f"{len(peer.healthy(name))} of {name}, wanted {count}" for name, count in rows]


def all_there(peer):
    return has(peer, vgpus=peer.gpus * peer.split, memory=peer.gpus * peer.gb)


def ids(peer):
    wanted = {f"vgpu-{number}" for number in range(peer.gpus * peer.split)}
    memory = peer.healthy(MEMORY)
    gpus = {name.split("::")[0] for name in memory}
    return [] if set(peer.healthy(COUNTS[0])) == wanted and len(gpus) == peer.gpus and \
        all(name.split("::")[1].isdigit() for name in memory) else [f"{sorted(memory)[:3]}"]


def memory_taken(peer):
    given = peer.take(MEMORY, 3)
    return [] if given == {} else [f"came with {given}"]


def unhealthy(peer):
    peer.disturb("lose", "0")
    return has(peer, vgpus=(peer.gpus - 1) * peer.split, memory=(peer.gpus - 1) * peer.gb)


def well(peer):
    peer.disturb("restore", "0")
    return all_there(peer)


def kubelet_restarted(peer):
    before = sorted(peer.healthy(MEMORY))
    peer.restart_kubelet()
    return all_there(peer) or ([] if sorted(peer.healthy(MEMORY)) == before else ["other ids"])


def agent_restarted(peer):
    peer.restart_agent()
    return all_there(peer)


def socket_deleted(peer):
    peer.delete_socket(MEMORY)
    return all_there(peer)


def cut(peer):
    peer.parts = peer.cut(peer.gpus - 1, [1, 1])
    missing = has(peer, vgpus=(peer.gpus - 1) * peer.split, parts=2)
    return missing or ([] if sorted(peer.healthy(PROFILE)) == sorted(peer.parts) else
                       [f"{peer.healthy(PROFILE)} are not {peer.parts}"])


def part_taken(peer):
    given = peer.take(PROFILE, 1)
    return [] if given.get("NVIDIA_VISIBLE_DEVICES") in peer.parts else [f"came with {given}"]


ROWS = [
    ("every resource is registered and listed whole", all_there),
    ("ids are those of the node's slots and of its GPUs' GB", ids),
    ("a container that takes memory gets nothing with it", memory_taken),
    ("a GPU that is lost takes its own away", unhealthy),
    ("… and back it brings them back", well),
    ("a restart of kubelet changes nothing", kubelet_restarted),
    ("a restart of vgpu-node changes nothing", agent_restarted),
    ("a socket that was deleted comes back", socket_deleted),
    ("a GPU in MIG mode is offered by its devices' UUIDs", cut),
    ("a container gets the device that kubelet chose", part_taken),
]
