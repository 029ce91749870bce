# SPDX-License-Identifier: Apache-2.0
"""artifacts: what is inside the files of a release: Debian packages, archives of sources, container images.

A Member is one entry of such a file. Two builds are equal if their files are; where they are not, differences() names the
members that differ.
"""

import dataclasses
import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile

import oci


@dataclasses.dataclass(frozen=True)
class Member:
    """One entry; name is relative, without a slash in front. Packages and images have one name space for each part."""
    name: str
    kind: bytes
    mode: int
    owner: tuple
    mtime: int
    target: str
    data: bytes

    @property
    def is_file(self):
        return self.kind in (tarfile.REGTYPE, tarfile.AREGTYPE)


def tar_members(data, prefix=""):
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for entry in tar:
            name = entry.name.removeprefix("./").strip("/")
            yield Member(prefix + name, entry.type, entry.mode, (entry.uid, entry.gid, entry.uname, entry.gname),
                         entry.mtime, entry.linkname, tar.extractfile(entry).read() if entry.isreg() else b"")


def deb_part(path, part):
    return subprocess.run(["dpkg-deb", f"--{part}-tarfile", path], stdout=subprocess.PIPE, check=True).stdout


def image_members(data):
    """Files of all layers, each below the name of its processor."""
    blobs = {member.name: member.data for member in tar_members(data)}

    def blob(descriptor):
        return blobs[oci.blob_path(descriptor)]
    waiting = json.loads(blobs["index.json"])["manifests"]
    while waiting:
        descriptor = waiting.pop(0)
        manifest = json.loads(blob(descriptor))
        if manifest["mediaType"] == oci.INDEX:
            waiting += manifest["manifests"]
            continue
        processor = json.loads(blob(manifest["config"]))["architecture"]
        for layer in manifest["layers"]:
            yield from tar_members(blob(layer), f"{processor}/")


def members(path):
    """All members of a package, image or archive; of any other file none. A package's control files are not among them."""
    if path.endswith(".deb"):
        return list(tar_members(deb_part(path, "fsys")))
    if not path.endswith((".tar", ".tar.gz")):
        return []
    with open(path, "rb") as file:
        data = file.read()
    data = gzip.decompress(data) if path.endswith(".gz") else data
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        is_image = "oci-layout" in tar.getnames()
    return list(image_members(data) if is_image else tar_members(data))


def first_difference(one, other):
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def member_difference(one, other):
    """Why two members of one name differ; empty: they do not."""
    if one.data != other.data:
        return f"differs from byte {first_difference(one.data, other.data)} on"
    fields = [field.name for field in dataclasses.fields(Member) if getattr(one, field.name) != getattr(other, field.name)]
    return f"differs in its {', '.join(fields)}" if fields else ""


def named_difference(ones, others, where):
    """Differences between two dictionaries, by name."""
    for name in sorted(ones.keys() | others.keys()):
        if name not in ones or name not in others:
            yield f"{where}{name}: only in the {'first' if name in ones else 'second'} build"
        else:
            difference = member_difference(ones[name], others[name])
            if difference:
                yield f"{where}{name}: {difference}"


def contents(path):
    """Members by name, those of a package's control file below DEBIAN."""
    found = members(path)
    if path.endswith(".deb"):
        found += tar_members(deb_part(path, "ctrl"), "DEBIAN/")
    return {member.name: member for member in found}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def digest(path, kind="sha256"):
    return hashlib.new(kind, read(path)).hexdigest()


def file_difference(one, other):
    """Sentences about two files that should be equal."""
    data = read(one), read(other)
    if data[0] == data[1]:
        return []
    name = os.path.basename(one)
    inside = list(named_difference(contents(one), contents(other), f"{name}: "))
    return inside or [f"{name}: differs from byte {first_difference(*data)} on"]


def differences(first, second):
    """Sentences about the files of two folders that should be equal."""
    ones, others = set(os.listdir(first)), set(os.listdir(second))
    told = [f"{name}: only in the {'first' if name in ones else 'second'} build" for name in sorted(ones ^ others)]
    for name in sorted(ones & others):
        told += file_difference(os.path.join(first, name), os.path.join(second, name))
    return told
