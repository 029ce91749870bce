# SPDX-License-Identifier: Apache-2.0
"""oci: container images out of files of this machine, without a container engine.

An image is a Tree of files, one layer of them, and settings; it is for the processor that its programs are
for. Nothing of it depends on when, where or by whom it is made: the same files give the same bytes.
"""

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile

import elf

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def needed(path, but=(), root=""):
    """The libraries that a program is linked with, the loader among them; below the root, if there is one."""
    if root:
        return {library for library in elf.needed_in(root, path) if os.path.basename(library) not in but}
    listed = subprocess.run(["ldd", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                            check=False).stdout
    found = re.findall(r"^\s*(?:\S+ => )?(/\S+) \(0x", listed, re.M)
    return {library for library in found if os.path.basename(library) not in but}


class Tree:
    """The files of an image, as a layer."""

    def __init__(self):
        self.buffer = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.buffer, mode="w", format=tarfile.USTAR_FORMAT)
        self.names = set()
        self.machine = None     # a row of elf.MACHINES: what the programs are for

    def add(self, path, kind, data=b"", target="", mode=0o755):
        name = path.strip("/")
        if name in self.names:
            return
        if os.path.dirname(name):
            self.folder(os.path.dirname(name))
        self.names.add(name)
        if elf.is_elf(data):
            machine = elf.machine_of(data)
            if self.machine not in (None, machine):
                raise ValueError(f"'{path}' is for {machine[0]}, what came before it for {self.machine[0]}")
            self.machine = machine
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.size, entry.linkname = kind, mode, len(data), target
        self.tar.addfile(entry, io.BytesIO(data))

    def folder(self, path, mode=0o755):
        self.add(path, tarfile.DIRTYPE, mode=mode)

    def link(self, path, target):
        self.add(path, tarfile.SYMTYPE, target=target)

    def text(self, path, text):
        self.add(path, tarfile.REGTYPE, text.encode(), mode=0o644)

    def file(self, path, source, mode=None):
        with open(source, "rb") as file:
            self.add(path, tarfile.REGTYPE, file.read(), mode=mode or os.stat(source).st_mode & 0o777)

    def libraries(self, source, but=(), root=""):
        """What a program is linked with, where the loader looks for it."""
        for library in sorted(needed(source, but, root)):
            self.file(library.replace("/usr/lib", "/lib", 1), root + library, 0o755)

    def program(self, path, source, but=()):
        self.file(path, source)
        self.libraries(source, but)

    def platform(self):
        """What the image runs on, as OCI names it."""
        name, variant, _ = self.machine or (elf.own_architecture(), "", "")
        return {"architecture": name, "os": "linux", **({"variant": variant} if variant else {})}

    def close(self):
        self.tar.close()
        return self.buffer.getvalue()


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Blobs:
    """What images consist of, by digest: (media type, bytes)."""

    def __init__(self):
        self.blobs = {}

    def keep(self, kind, data):
        digest = digest_of(data)
        self.blobs[digest] = (kind, data)
        return {"mediaType": kind, "digest": digest, "size": len(data)}

    def keep_json(self, kind, value):
        return self.keep(kind, json.dumps(value, sort_keys=True).encode())

    def add(self, tree, settings, is_small=False):
        """Keeps an image of one layer; gives the descriptor of its manifest."""
        data = tree.close()
        kind, kept = (f"{LAYER}+gzip", gzip.compress(data, mtime=0)) if is_small else (LAYER, data)
        layer = self.keep(kind, kept)
        config = self.keep_json(CONFIG, {
            **tree.platform(), "config": {"Env": [PATH], **settings},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(data)]}})
        manifest = self.keep_json(MANIFEST, {
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]})
        return {**manifest, "platform": tree.platform()}

    def join(self, manifests):
        """Keeps one image for several processors; gives the descriptor of its index. One alone is itself."""
        if len(manifests) == 1:
            return manifests[0]
        platforms = [manifest["platform"]["architecture"] for manifest in manifests]
        if len(set(platforms)) != len(platforms):
            raise ValueError(f"two images for one processor: {', '.join(platforms)}")
        return self.keep_json(INDEX, {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests})


def blob_path(descriptor):
    return "blobs/" + descriptor["digest"].replace(":", "/")


def archive(blobs, manifest, name):
    """An image as one file, for `ctr image import`, `podman load`, `skopeo copy` and `docker load`."""
    tree = Tree()
    parts = json.loads(blobs.blobs[manifest["digest"]][1])
    if parts["mediaType"] == INDEX:     # Docker's list has no processors: the first is what it gets
        parts = json.loads(blobs.blobs[parts["manifests"][0]["digest"]][1])
    named = {**manifest, "annotations": {"io.containerd.image.name": name,
                                         "org.opencontainers.image.ref.name": name.rpartition(":")[2]}}
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [named]}
    tree.text("oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}))
    tree.text("index.json", json.dumps(index, sort_keys=True))
    # Docker's own list of what is in it.
    tree.text("manifest.json", json.dumps([{
        "Config": blob_path(parts["config"]), "RepoTags": [name],
        "Layers": [blob_path(layer) for layer in parts["layers"]]}], sort_keys=True))
    for digest, (_, data) in sorted(blobs.blobs.items()):
        tree.add(blob_path({"digest": digest}), tarfile.REGTYPE, data, mode=0o644)
    return tree.close()
