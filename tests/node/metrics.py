# SPDX-License-Identifier: Apache-2.0
"""metrics BIN LIB DESCRIPTORS LOAD measured|sanitized: metrics and readiness of vgpu-node over HTTP."""

import http.client
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "net"))
from fake_cluster import FakeCluster, gpu_pod  # noqa: E402
from fake_kubelet import FakeKubelet  # noqa: E402
from peer import Messages, Tap, differs, eventually  # noqa: E402
from prometheus import Page  # noqa: E402


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def get(port, path, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.getheader("content-type")
    finally:
        connection.close()


def is_up(port):
    try:
        return get(port, "/healthz")[0] == 200
    except OSError:
        return False


def rss_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


def checker(tap):
    """The checker itself: it must find what is wrong."""
    good = '# HELP a_bytes x\n# TYPE a_bytes gauge\na_bytes{b="c\\"\\\\\\n",d="é"} 1\n'
    bad = [good[:-1], good + 'a_bytes{b="c\\"\\\\\\n",d="é"} 2\n', "a_bytes 1\n",
           good + "# TYPE a_bytes gauge\n", good.replace("gauge", "counter"),
           good.replace("gauge", "meter"), good.replace(',d="é"', ",d=é"), good.replace(" 1\n", " x\n"),
           good.replace(',d="é"', ',b="1"'), good.replace('"é"}', '"é",}'), good + "\n",
           good.replace("a_bytes", "a_ratio").replace(" 1\n", " 7\n")]
    tap.check("the checker takes what is right", Page(good).wrong)
    tap.check("… and finds what is not", [text for text in bad if not Page(text).wrong])


def before_kubelet(tap, port):
    status, text, _ = get(port, "/readyz")
    tap.check("not ready without kubelet, and it says for whom", [] if status == 503 and
              b"nvidia.com/vgpu: kubelet does not listen\n" in text else [f"{status} {text}"])
    status, text, _ = get(port, "/healthz")
    tap.check("… but alive", [] if status == 200 and text.startswith(b"ok\n") else [str(text)])


def pages(tap, port, kubelet):
    tap.check("ready when kubelet listens",
              [] if eventually(lambda: get(port, "/readyz")[0] == 200, 20) else
              [str(get(port, "/readyz"))])
    status, text, kind = get(port, "/metrics")
    page = Page(text)
    tap.check("the metrics are as Prometheus reads them", page.wrong + differs(
        (status, kind), (200, "text/plain; version=0.0.4; charset=utf-8")))
    tap.check("a page of the documentation has each", page.unlisted())
    devices = [labels for name, labels, _ in page.samples if name == "vgpu_device_memory_total_bytes"]
    tap.check("each device is there, by UUID and index", differs(
        ([d["device_index"] for d in devices], len({d["device_uuid"] for d in devices})),
        (["0"], 1)))
    tap.check("… its memory, health and slots", differs(
        [page.value(f"vgpu_device_{name}", device_index="0")
         for name in ("memory_total_bytes", "healthy", "slots")], [40960 << 20, 1, 10]))
    tap.check("… every line of it has the labels that join", [
        f"{name} {labels}" for name, labels, _ in page.named("vgpu_device_")
        if not {"node", "device_uuid", "device_index"} <= set(labels)])
    tap.check("the node says what it is and how it stands with kubelet", differs(
        (len(page.named("vgpu_node_build_info")),
         page.value("vgpu_node_resource_registered", resource="gpu.das.com/mem"),
         page.value("vgpu_node_resource_capacity", resource="gpu.das.com/mem"),
         page.value("vgpu_node_kubelet_registrations_total", resource="nvidia.com/vgpu")),
        (1, 1, 40, kubelet.registered / 4)))
    tap.check("other paths and methods are refused with a sentence", differs(
        (get(port, "/")[:2], get(port, "/metrics", "POST")[0], get(port, "/metrics", "HEAD")[:2]),
        ((404, b"there is /metrics, /healthz and /readyz\n"), 405, (200, b""))))


def use(tap, load, environment, port):
    """A program at work shows in the driver's own figures."""
    working = subprocess.Popen([load, "async_1ms", "10"], env=environment, stdout=subprocess.DEVNULL)

    def seen():
        page = Page(get(port, "/metrics")[1])
        return page.value("vgpu_device_memory_used_bytes") > 100 << 20 and \
            page.value("vgpu_device_utilization_ratio") > 0.5
    tap.check("a program at work shows in the device's memory and utilisation",
              [] if eventually(seen, 10) else [str(get(port, "/metrics")[1])])
    tap.check("… and as outside: it has no share",
              [] if eventually(lambda: (Page(get(port, "/metrics")[1]).value("vgpu_device_outside_ratio") or 0) > 0.5, 10)
              else [str(get(port, "/metrics")[1])])
    working.kill()
    working.wait()


def flat(tap, process, port, memory):
    for _ in range(50):
        get(port, "/metrics")
    before = rss_kb(process.pid)
    for _ in range(1000):
        get(port, "/metrics")
    after = rss_kb(process.pid)
    print(f"# VmRSS {before} kB, after 1000 more scrapes {after} kB")
    if memory == "measured":
        tap.check("memory is flat under scraping",
                  [] if after <= before + 200 else [f"{before} kB, then {after} kB"])


def containers(tap, bin_dir, environment, folder):
    """Shares of pods with odd names, whose regions their containers cut short and overwrite."""
    machine = environment["VGPU_SIM"]
    shown = subprocess.run([f"{bin_dir}/vgpu", "sim", "show", "--machine", machine], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    uuid = next(word for word in shown.split() if word.startswith("GPU-"))
    names = ["plain", 'quo"ted', "back\\slash", "n\newline", "gr\u00fc\u00df\u20ac"]
    cluster = FakeCluster([gpu_pod(name, [("main", uuid, 1024, 20)], namespace=f"ns-{name}") for name in names])
    cluster.pods[1]["metadata"]["annotations"]["note"] = "a\0b"
    for number in range(300):
        cluster.pods.append(gpu_pod(f"spoilt-{number}", []))
        cluster.pods[-1]["metadata"].setdefault("annotations", {})["note"] = "a\0b"
    cluster.write_config(folder / "config")
    port = free_port()
    process = subprocess.Popen(
        [f"{bin_dir}/vgpu-node", f"--device-plugin-path={folder}/plugins", f"--state-dir={folder}/state",
         f"--run-dir={folder}/run", "--node-name=n1", f"--kubeconfig={folder}/config",
         f"--metrics-listen=127.0.0.1:{port}"], env=environment, stderr=open(folder / "said", "wb"))

    def told(name):
        page = Page(get(port, "/metrics")[1])
        return page, [(labels, value) for sample, labels, value in page.samples if sample == name]
    eventually(lambda: is_up(port) and len(told("vgpu_container_memory_limit_bytes")[1]) == len(names), 20)
    page, limits = told("vgpu_container_memory_limit_bytes")
    tap.check("those of containers, too", page.unlisted())
    tap.check("names of pods are printed as they are, whatever is in them", page.wrong + differs(
        sorted((labels["namespace"], labels["pod"], value) for labels, value in limits),
        sorted((f"ns-{name}", name, 1024 << 20) for name in names)))
    tap.check("… with the labels that join devices to containers", differs(
        {(labels["node"], labels["device_uuid"], labels["device_index"]) for labels, _ in limits},
        {("n1", uuid, "0")}))
    tap.check("… and the limit of compute as a ratio", differs(
        {value for _, value in told("vgpu_container_cores_limit_ratio")[1]}, {0.2}))
    tap.check("the API server is heard of, for the Node and for its pods", differs(
        sorted((labels["watch"], value < 30) for labels, value in told("vgpu_node_watch_age_seconds")[1]),
        [("node", True), ("pods", True)]))
    tap.check("each that could not be read as it is is counted", differs(
        sorted((labels["watch"], value) for labels, value in told("vgpu_node_api_bad_objects_total")[1]),
        [("node", 0), ("pods", 301)]))
    tap.check("… and ten of them are named in the log", differs(
        sum("cannot be read" in line for line in (folder / "said").read_text(encoding="utf-8").splitlines()), 10))
    tap.check("… and what is allotted of the GPU", differs(
        [told(f"vgpu_device_{name}")[1][0][1] for name in ("shares", "memory_allocated_bytes", "cores_allocated")],
        [5, 5 << 30, 1]))
    regions = sorted((folder / "state" / "shares").glob("*/main/region"))
    os.truncate(regions[0], 0)
    os.truncate(regions[1], 200)
    for number, region in enumerate(regions[2:]):
        with open(region, "r+b") as file:
            file.seek(16)
            file.write(os.urandom(100000) if number else b"\xff" * 100000)
    time.sleep(2.5)
    page, limits = told("vgpu_container_memory_limit_bytes")
    tap.check("regions that were cut short or overwritten cost their own figures and nothing else",
              page.wrong + differs((len(limits), process.poll()), (len(names), None)))
    process.terminate()
    tap.check("… and it ends in order", differs(process.wait(20), 0))


def main(bin_dir, lib_dir, descriptors, load, memory):
    tap = Tap()
    checker(tap)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = {**os.environ, "VGPU_SIM": f"{name}/machine", "LD_LIBRARY_PATH": lib_dir}
        subprocess.run([load, "machine", f"{name}/machine"], check=True)
        (folder / "plugins").mkdir()
        kubelet = FakeKubelet(Messages(descriptors), folder / "plugins")
        port = free_port()
        taken = socket.socket()
        taken.bind(("127.0.0.1", port))
        taken.listen()
        process = subprocess.Popen(
            [f"{bin_dir}/vgpu-node", f"--device-plugin-path={name}/plugins",
             f"--state-dir={name}/state", f"--run-dir={name}/run", f"--metrics-listen=127.0.0.1:{port}"],
            env=environment, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        taken.close()
        tap.check("an address that was taken is tried again",
                  [] if eventually(lambda: is_up(port), 10) else ["nobody answers"])
        before_kubelet(tap, port)
        kubelet.start()
        pages(tap, port, kubelet)
        use(tap, load, environment, port)
        flat(tap, process, port, memory)
        process.terminate()
        tap.check("it ends in order", differs(process.wait(20), 0))
        containers(tap, bin_dir, environment, folder)
        kubelet.stop()
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
