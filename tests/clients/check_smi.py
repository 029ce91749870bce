# SPDX-License-Identifier: Apache-2.0
"""check_smi: nvidia-smi's views, alone and with a second process at work."""

import re
import xml.etree.ElementTree as ElementTree

from harness import Failed, check

GPU = "NVIDIA A100-SXM4-40GB"
UUID = r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
TOTAL_MIB = 40960
HELD_MIB = 1024


def uuids(clients):
    return re.findall(UUID, clients.smi("-L").text)


@check("nvidia-smi -L lists the two GPUs with their UUIDs")
def list_gpus(clients):
    result = clients.smi("-L").expect(rf"^GPU 0: {GPU} \(UUID: {UUID}\)$",
                                      rf"^GPU 1: {GPU} \(UUID: {UUID}\)$")
    if len(result.text.splitlines()) != 2 or len(set(uuids(clients))) != 2:
        raise Failed(f"not two GPUs\n{result.shown()}")


@check("nvidia-smi shows its table, with no process when there is none")
def table(clients):
    clients.smi().expect(r"NVIDIA-SMI 535\.\d+\.\d+ +Driver Version: [\d.]+ +CUDA Version: 1[23]\.\d",
                         r"\|   0  NVIDIA A100-SXM4-40GB", r"\|   1  NVIDIA A100-SXM4-40GB",
                         rf"MiB / {TOTAL_MIB}MiB", r"No running processes found")


@check("nvidia-smi shows a second process, its memory and that the GPU is busy")
def table_busy(clients):
    with clients.holder(HELD_MIB) as pid:
        result = clients.smi().expect(rf"\|    0   N/A  N/A +{pid} +C +\S*hold +\d+MiB \|")
    held = int(result.find(rf" {pid} +C +\S+ +(\d+)MiB"))
    if not HELD_MIB < held < HELD_MIB + 1024:
        raise Failed(f"the process holds {held} MiB, not {HELD_MIB} and a context\n{result.shown()}")
    used = [int(n) for n in re.findall(rf"(\d+)MiB / {TOTAL_MIB}MiB", result.text)]
    if used[0] < held or used[1] > held:
        raise Failed(f"memory in use: {used} MiB\n{result.shown()}")
    busy = [int(n) for n in re.findall(r"(\d+)% +Default", result.text)]
    if busy[0] < 1 or busy[1] != 0:
        raise Failed(f"utilisation: {busy}\n{result.shown()}")


@check("nvidia-smi forgets a process that has ended")
def table_after(clients):
    with clients.holder(HELD_MIB):
        pass
    clients.smi().expect(r"No running processes found")


@check("nvidia-smi -q prints every section")
def query_all(clients):
    with clients.holder(HELD_MIB) as pid:
        clients.smi("-q").expect(
            r"^Attached GPUs +: 2$", rf"Product Name +: {GPU}$", r"Product Architecture +: Ampere",
            rf"GPU UUID +: {UUID}$", r"FB Memory Usage$", rf"Total +: {TOTAL_MIB} MiB",
            r"BAR1 Memory Usage$", r"Compute Mode +: Default", r"Utilization$", r"Temperature$",
            r"GPU Power Readings$", r"Clocks$", r"Max Clocks$", r"ECC Mode$", r"MIG Mode$",
            rf"Process ID +: {pid}$", r"Type +: C$", r"Used GPU Memory +: \d+ MiB")


@check("nvidia-smi -q -x prints XML that agrees with -L")
def query_xml(clients):
    with clients.holder(HELD_MIB) as pid:
        result = clients.smi("-q", "-x").expect()
    root = ElementTree.fromstring(result.text)
    gpus = root.findall("gpu")
    if [g.findtext("uuid") for g in gpus] != uuids(clients):
        raise Failed(f"other UUIDs\n{result.shown()}")
    if gpus[0].findtext("fb_memory_usage/total") != f"{TOTAL_MIB} MiB":
        raise Failed(f"total memory {gpus[0].findtext('fb_memory_usage/total')}\n{result.shown()}")
    pids = [p.findtext("pid") for p in gpus[0].iter("process_info")]
    if pids != [str(pid)] or list(gpus[1].iter("process_info")):
        raise Failed(f"processes {pids}\n{result.shown()}")


@check("nvidia-smi --query-gpu gives the figures of each GPU")
def query_gpu(clients):
    fields = ("index,name,uuid,pci.bus_id,driver_version,memory.total,memory.used,memory.free,"
              "utilization.gpu,utilization.memory,temperature.gpu,power.draw,power.limit,clocks.sm,"
              "clocks.mem,compute_mode,pstate,ecc.mode.current,mig.mode.current,pcie.link.gen.current,"
              "pcie.link.width.current,compute_cap")
    with clients.holder(HELD_MIB):
        result = clients.smi(f"--query-gpu={fields}", "--format=csv,noheader,nounits").expect()
    rows = [line.split(", ") for line in result.text.splitlines()]
    if len(rows) != 2 or any(len(row) != len(fields.split(",")) for row in rows):
        raise Failed(f"not two full rows\n{result.shown()}")
    for index, row in enumerate(rows):
        total, used, free = (int(n) for n in row[5:8])
        if row[0] != str(index) or row[1] != GPU or total != TOTAL_MIB or used + free > total:
            raise Failed(f"GPU {index}: {row}")
        if row[21] != "8.0" or "Error" in result.text:
            raise Failed(f"compute capability {row[21]}\n{result.shown()}")
    if int(rows[0][6]) < HELD_MIB or int(rows[1][6]) >= HELD_MIB:
        raise Failed(f"memory in use: {rows[0][6]} and {rows[1][6]} MiB")
    if int(rows[0][8]) < 1:
        raise Failed(f"GPU 0 is not busy\n{result.shown()}")


@check("nvidia-smi --query-compute-apps names the process and its memory")
def query_apps(clients):
    with clients.holder(HELD_MIB) as pid:
        result = clients.smi("--query-compute-apps=gpu_uuid,pid,process_name,used_memory",
                             "--format=csv,noheader,nounits")
    result.expect(rf"^{uuids(clients)[0]}, {pid}, \S*/hold, \d+$")
    used = int(result.find(r"(\d+)$"))
    if not HELD_MIB < used < HELD_MIB + 1024:
        raise Failed(result.shown())


@check("nvidia-smi pmon -c 1 lists the process")
def pmon(clients):
    with clients.holder(HELD_MIB) as pid:
        clients.smi("pmon", "-c", "1").expect(r"^# gpu +pid +type +sm +mem",
                                              rf"^ +0 +{pid} +C .* hold *$", r"^ +1 +- +- ")


@check("nvidia-smi pmon -s m shows the memory of the process")
def pmon_memory(clients):
    with clients.holder(HELD_MIB) as pid:
        result = clients.smi("pmon", "-c", "1", "-s", "m").expect(rf"^ +0 +{pid} +C +\d+")
    if int(result.find(rf"^ +0 +{pid} +C +(\d+)")) < HELD_MIB:
        raise Failed(result.shown())


@check("nvidia-smi dmon -c 1 shows both GPUs")
def dmon(clients):
    with clients.holder(HELD_MIB):
        result = clients.smi("dmon", "-c", "1").expect(r"^# gpu +pwr", r"^ +0 +\d+ +\d+", r"^ +1 +\d+ +\d+")
    if int(result.find(r"^ +0 +\d+ +\d+ +\S+ +(\d+)")) < 1:
        raise Failed(f"GPU 0 is not busy\n{result.shown()}")


@check("nvidia-smi topo -m shows the links between the GPUs")
def topo(clients):
    clients.smi("topo", "-m").expect(r"GPU0\s+GPU1\s+CPU Affinity\s+NUMA Affinity",
                                     r"^GPU0\s+X\s+NV12\s+\S+\s+\S+", r"^GPU1\s+NV12\s+X\s")


@check("nvidia-smi -i 1 selects one GPU, and a GPU that is not there is refused")
def select(clients):
    clients.smi("-i", "1", "--query-gpu=index", "--format=csv,noheader").expect(r"\A1\Z|\A1\n\Z")
    clients.smi("-i", "9", "-q").expect(r"not found|No devices|Invalid", status=None)


@check("nvidia-smi nvlink --status and -q -d MEMORY work")
def sections(clients):
    clients.smi("nvlink", "--status").expect(r"GPU 0: NVIDIA A100", r"Link 0: [\d.]+ GB/s")
    clients.smi("-q", "-d", "MEMORY,UTILIZATION,PERFORMANCE,CLOCK,POWER,TEMPERATURE,COMPUTE,PIDS,ECC").expect(
        r"FB Memory Usage")
