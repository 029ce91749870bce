#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""node_cost BUILD: what vgpu-node costs a node of 8 GPUs and 100 containers: memory of all its processes, and
a core's time while nothing happens. One line per figure."""

import asyncio
import os
import pathlib
import ssl
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
for folder in ("tests/node", "tests/net"):
    sys.path.insert(0, str(SOURCE / folder))
from fake_cluster import FakeCluster, gpu_pod  # noqa: E402
from fake_kubelet import FakeKubelet  # noqa: E402
from metrics import free_port, get, is_up  # noqa: E402
from peer import Messages, eventually  # noqa: E402
from prometheus import Page  # noqa: E402

GPUS, CONTAINERS, IDLE_S = 8, 100, 10


def family(pid):
    """The process and all that it started."""
    pids = [pid]
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text(encoding="ascii").split():
            pids += family(int(child))
    return pids


def rss_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(pid, port):
    time.sleep(2)
    before = sum(map(cpu_s, family(pid)))
    time.sleep(IDLE_S)
    idle = sum(map(cpu_s, family(pid))) - before
    while_idle = sum(map(rss_kb, family(pid)))
    began = time.monotonic()
    for _ in range(20):
        text = get(port, "/metrics")[1]
    took = (time.monotonic() - began) / 20
    scraped = sum(map(rss_kb, family(pid)))
    return {"node_rss_mb": max(while_idle, scraped) / 1000, "node_idle_cpu_percent": idle / IDLE_S * 100,
            "node_scrape_ms": took * 1000, "node_scrape_kb": len(text) / 1000}


def start(build, folder, cluster, port):
    environment = {**os.environ, "VGPU_SIM": f"{folder}/machine", "LD_LIBRARY_PATH": f"{build}/lib/sim"}
    return subprocess.Popen(
        [f"{build}/bin/vgpu-node", f"--device-plugin-path={folder}/plugins", f"--state-dir={folder}/state",
         f"--run-dir={folder}/run", "--node-name=n1", f"--kubeconfig={folder}/config",
         f"--metrics-listen=127.0.0.1:{port}"], env=environment, stderr=subprocess.DEVNULL)


def uuids_of(build, machine):
    output = subprocess.run([f"{build}/bin/vgpu", "sim", "show", "--machine", machine], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    return [word for word in output.split() if word.startswith("GPU-")]


def pump(reader, writer):
    """One way of a connection."""
    async def run():
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()
    return run()


def serve_tls(folder, port):
    """The API server's port behind TLS, as it is in service; gives its own port."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem", "-days", "2", "-subj", "/CN=api",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    context.set_alpn_protocols(["h2"])
    own = free_port()

    async def on_client(reader, writer):
        back_reader, back_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, back_writer), pump(back_reader, writer))

    async def run():
        server = await asyncio.start_server(on_client, "127.0.0.1", own, ssl=context)
        await server.serve_forever()
    threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    return own


def main(build):
    build = os.path.abspath(build)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "plugins").mkdir()
        subprocess.run([f"{build}/bin/vgpu", "sim", "create", "--machine", f"{name}/machine", "--preset",
                        "a100-40gb", "--gpus", str(GPUS)], check=True, stdout=subprocess.DEVNULL)
        uuids = uuids_of(build, f"{name}/machine")
        cluster = FakeCluster([gpu_pod(f"pod-{i}", [("main", uuids[i % GPUS], 2048, 5)])
                               for i in range(CONTAINERS)])
        cluster.write_config(folder / "config")
        text = (folder / "config").read_text(encoding="utf-8").replace(
            f'"http://127.0.0.1:{cluster.api.port}"',
            f'"https://127.0.0.1:{serve_tls(folder, cluster.api.port)}", certificate-authority: "{name}/cert.pem"')
        (folder / "config").write_text(text, encoding="utf-8")
        kubelet = FakeKubelet(Messages(f"{build}/api/proto/descriptors.pb"), folder / "plugins")
        kubelet.start()
        port = free_port()
        process = start(build, folder, cluster, port)
        try:
            if not eventually(lambda: is_up(port) and Page(get(port, "/metrics")[1]).value(
                    "vgpu_node_shares") == CONTAINERS, 60):
                sys.exit(f"node_cost: no {CONTAINERS} shares after a minute")
            for figure, value in measure(process.pid, port).items():
                print(figure, value)
        finally:
            process.terminate()
            process.wait(20)
            kubelet.stop()


main(*sys.argv[1:])
