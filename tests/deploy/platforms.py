#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What images and packages say of the processor they are for. platforms.py SOURCE_ROOT BUILD

Without a build for another processor: a program is a head that says so.
"""

import io
import json
import os
import struct
import subprocess
import sys
import tarfile
import tempfile

SOURCE, BUILD = sys.argv[1:3]
sys.path[:0] = [os.path.join(SOURCE, "tests", "abi"), os.path.join(SOURCE, "tools")]
import elf
import oci
from tap import Tap

AMD64, ARM64, UNKNOWN = 62, 183, 243


def program(machine, names=(), loader=None):
    """The bytes of a program that names libraries and a loader: a head, segments, and what they point at."""
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    texts = strings + (loader.encode() + b"\0" if loader else b"")
    begin, count = 64 + 3 * 56, len(names) + 2
    dynamic = begin + len(texts) + -len(texts) % 8
    entries, at = b"", 1
    for name in names:
        entries += struct.pack("<QQ", 1, at)
        at += len(name) + 1
    entries += struct.pack("<QQ", 5, begin) + bytes(16)
    whole = dynamic + count * 16
    parts = [(1, 0, whole), (2, dynamic, count * 16), (3 if loader else 4, begin + len(strings), len(texts) - len(strings))]
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0)
    head += b"".join(struct.pack("<IIQQQQQQ", kind, 4, offset, offset, offset, size, size, 8) for kind, offset, size in parts)
    return head + texts + bytes(-len(texts) % 8) + entries


def tree_of(*machines):
    tree = oci.Tree()
    for number, machine in enumerate(machines):
        tree.add(f"/bin/p{number}", tarfile.REGTYPE, program(machine))
    return tree


def read(archive):
    """By the archive's own index: the platform of each image and of its configuration, and Docker's list."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        def blob(descriptor):
            return json.loads(tar.extractfile("blobs/" + descriptor["digest"].replace(":", "/")).read())
        index = json.load(tar.extractfile("index.json"))
        named = index["manifests"][0]
        manifests = blob(named)["manifests"] if named["mediaType"] == oci.INDEX else [named]
        seen = []
        for manifest in manifests:
            config = blob(blob(manifest)["config"])
            seen.append((manifest["platform"], {key: config[key] for key in ("architecture", "os", "variant")
                                                if key in config}))
        docker = json.load(tar.extractfile("manifest.json"))
        first = json.loads(tar.extractfile(docker[0]["Config"]).read())
        return named["annotations"]["io.containerd.image.name"], seen, len(docker), first["architecture"]


def refused(act):
    try:
        act()
    except ValueError as error:
        return "" if str(error) else "no word why"
    return "it was taken"


def images(tap):
    amd64 = {"architecture": "amd64", "os": "linux"}
    arm64 = {"architecture": "arm64", "os": "linux", "variant": "v8"}
    for machine, platform in ((AMD64, amd64), (ARM64, arm64)):
        blobs = oci.Blobs()
        seen = read(oci.archive(blobs, blobs.add(tree_of(machine), {}), "a/b:1"))
        tap.check(f"an image of programs for {platform['architecture']} says so",
                  "" if seen == ("a/b:1", [(platform, platform)], 1, platform["architecture"]) else str(seen))
    blobs = oci.Blobs()
    both = blobs.join([blobs.add(tree_of(AMD64), {}, True), blobs.add(tree_of(ARM64), {}, True)])
    seen = read(oci.archive(blobs, both, "a/b:1"))
    tap.check("one image for two processors has an index of both, and Docker's list the first",
              "" if seen == ("a/b:1", [(amd64, amd64), (arm64, arm64)], 1, "amd64") else str(seen))
    tap.check("programs for two processors are no one image", refused(lambda: tree_of(AMD64, ARM64)))
    tap.check("two images for one processor are no index", refused(
        lambda: oci.Blobs().join([oci.Blobs().add(tree_of(ARM64), {}), oci.Blobs().add(tree_of(ARM64), {})])))
    tap.check("a program for a processor that nobody knows is refused", refused(lambda: tree_of(UNKNOWN)))


def libraries(tap):
    """A program's libraries come from the sysroot, and theirs too."""
    with tempfile.TemporaryDirectory() as root:
        files = {"/prog": program(ARM64, ["libone.so.1"], "/lib/ld-linux-aarch64.so.1"),
                 "/lib/ld-linux-aarch64.so.1": program(ARM64),
                 "/lib/aarch64-linux-gnu/libone.so.1": program(ARM64, ["libtwo.so.2", "ld-linux-aarch64.so.1"]),
                 "/usr/lib/aarch64-linux-gnu/libtwo.so.2": program(ARM64),
                 "/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1": program(ARM64)}
        for path, data in files.items():
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            with open(root + path, "wb") as file:
                file.write(data)
        found = oci.needed(root + "/prog", root=root)
        wanted = set(files) - {"/prog"}
        tap.check("a program's libraries are found in the sysroot, and theirs", "" if found == wanted else str(found))
        found = elf.needed_in(root, root + "/prog", is_whole=False)
        wanted = {"/lib/ld-linux-aarch64.so.1", "/lib/aarch64-linux-gnu/libone.so.1"}
        tap.check("those that it names itself are distinguished", "" if found == wanted else str(found))
        os.remove(root + "/usr/lib/aarch64-linux-gnu/libtwo.so.2")
        tap.check("a missing library is reported", refused(lambda: oci.needed(root + "/prog", root=root)))


def real(tap):
    """What this build's own programs say, and what readelf says of them."""
    path = os.path.join(BUILD, "bin", "vgpu")
    with open(path, "rb") as file:
        names, loader = elf.named(file.read())
    told = subprocess.run(["readelf", "-ldW", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    wrong = [name for name in [*names, loader] if f"[{name}]" not in told and f": {name}]" not in told]
    tap.check("a real program's libraries and loader are read as readelf reads them",
              wrong + ([] if told.count("(NEEDED)") == len(names) else [f"{names}\n{told}"]))


def main():
    tap = Tap()
    images(tap)
    libraries(tap)
    real(tap)
    tap.done()


if __name__ == "__main__":
    main()
