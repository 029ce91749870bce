# SPDX-License-Identifier: Apache-2.0
"""registry: a read-only OCI registry on loopback, with the images that the tests name.

An image is a row of IMAGES: files of this machine and of the build. What a program is linked with comes
along, so that an image needs nothing else; a shell and the usual commands are in every one but the bare ones.
The project's own image is the one that `make image` makes. Each is made when it is asked for.
"""

import functools
import http.server
import os
import re
import subprocess
import threading
import urllib.parse
from dataclasses import dataclass, field

from paths import BUILD, DATA, DEBIAN, HERE, KUBERNETES, TOP, tool


own = tool("image")
oci = own.oci

PORT = 5000
WORK = os.path.join(DATA, "registry")


@dataclass
class Image:
    """What is in an image: destination and source of each file, and how it is started."""
    files: dict = field(default_factory=dict)
    folder: str = "/"
    entry: tuple = ()
    is_bare: bool = False


OWN = f"localhost/vgpu:{own.version()}"
IMAGES = {
    OWN: None,
    "registry.k8s.io/pause:3.10": Image({"/pause": f"{WORK}/pause"}, entry=("/pause",), is_bare=True),
    f"registry.k8s.io/kube-scheduler:v{tool('manifests').kubernetes_version()}":
        Image({"/usr/local/bin/kube-scheduler": f"{KUBERNETES}/kube-scheduler"}, is_bare=True),
    "docker.io/library/busybox:latest": Image(),
    # The images that the project's requirements name.
    "quay.io/jitesoft/ubuntu:24.04": Image({"/usr/bin/look": f"{WORK}/look"}),
    "docker.io/chrstnhntschl/gpu_burn:latest": Image({"/app/gpu_burn": f"{BUILD}/bin/vgpu-burn",
                                                      "/usr/bin/look": f"{WORK}/look"}, "/app"),
    "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0-ubi8":
        Image({"/cuda-samples/sample": f"{WORK}/vectoradd"}, entry=("/cuda-samples/sample",)),
}
PROGRAMS = {
    "pause": ["-static"],
    "vectoradd": [f"-I{TOP}/api", f"-L{BUILD}/lib/sim", "-lcuda", "-lm"],
    "look": [f"-I{TOP}/api", f"-L{BUILD}/lib/sim", "-lcuda", "-ldl"],
}
# Of the C library, what a driver may load; the driver itself is the node's business.
LIBRARIES = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1")
DRIVER = ("libcuda.so.1", "libnvidia-ml.so.1", "libvgpu.so")


def compile_programs():
    os.makedirs(WORK, exist_ok=True)
    for name, options in PROGRAMS.items():
        subprocess.run(["gcc", "-O2", "-o", f"{WORK}/{name}", f"{HERE}/images/{name}.c", *options], check=True)


@functools.lru_cache(None)
def library_path(name):
    known = subprocess.run(["ldconfig", "-p"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(rf"^\s*{re.escape(name)} \(libc6,x86-64.*=> (\S+)", known, re.M).group(1)


def furnish(tree):
    """A small Linux: busybox, bash and the C library."""
    busybox = f"{DEBIAN}/bin/busybox"
    for path in ("/lib", "/lib64", "/usr/bin", "/usr/local", "/root", "/proc", "/sys", "/dev", "/var/run"):
        tree.folder(path)
    tree.folder("/tmp", 0o1777)
    tree.text("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n")
    tree.text("/etc/group", "root:x:0:\nnogroup:x:65534:\n")
    tree.program("/bin/bash", "/bin/bash", DRIVER)
    tree.file("/bin/busybox", busybox)
    for name in LIBRARIES:
        path = library_path(name)
        tree.file(path.replace("/usr/lib", "/lib", 1), path)
    applets = subprocess.run([busybox, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    for applet in applets.split():
        tree.link(f"/bin/{applet}", "/bin/busybox")


def tree_of(image):
    tree = oci.Tree()
    for path, source in image.files.items():
        tree.program(path, source, DRIVER)
    if not image.is_bare:
        furnish(tree)
    return tree


class Store(oci.Blobs):
    """Blobs by digest, manifests by the image's name."""

    def __init__(self):
        super().__init__()
        self.manifests = {}
        self.lock = threading.Lock()

    def image(self, name):
        """The digest of an image's manifest; None: there is no such image."""
        with self.lock:
            if name in IMAGES and name not in self.manifests:
                self.manifests[name] = self.make(name)["digest"]
        return self.manifests.get(name)

    def make(self, name):
        image = IMAGES[name]
        if image is None:
            return own.make(BUILD, self)
        settings = {"WorkingDir": image.folder, "Cmd": ["/bin/sh"]}
        if image.entry:
            settings.update(Entrypoint=list(image.entry), Cmd=[])
        return self.add(tree_of(image), settings)

    def find(self, registry, path):
        """What a path of the registry's API names: (digest, media type, bytes), or None."""
        match = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/([^/]+)", path)
        if not match:
            return None
        name, _, reference = match.groups()
        digest = reference if ":" in reference else self.image(f"{registry}/{name}:{reference}")
        return (digest, *self.blobs[digest]) if digest in self.blobs else None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store = None

    def answer(self, code, kind, data, **headers):
        self.send_response(code)
        for key, value in {"Content-Type": kind, "Content-Length": str(len(data)), **headers}.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/v2/":
            return self.answer(200, "application/json", b"{}")
        # containerd says which registry the image's name meant.
        registry = urllib.parse.parse_qs(url.query).get("ns", [""])[0]
        found = self.store.find(registry, url.path)
        if not found:
            return self.answer(404, "application/json", b'{"errors": [{"code": "NAME_UNKNOWN"}]}')
        digest, kind, data = found
        return self.answer(200, kind, data, Docker_Content_Digest=digest)

    do_HEAD = do_GET


def main():
    compile_programs()
    Handler.store = Store()
    http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()


if __name__ == "__main__":
    main()
