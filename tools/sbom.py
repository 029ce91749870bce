# SPDX-License-Identifier: Apache-2.0
"""sbom: the list of all components of a release, in the form of SPDX 2.3 (JSON).

Our packages, image and sources with the checksums of their files, and the Debian packages that our programs are linked with
or that are copied into the image. All of it is read: from the files, from build.ninja, from dpkg's database and from the
copyright files of packages. The same release gives the same bytes.
"""

import dataclasses
import datetime
import hashlib
import json
import os
import re
import subprocess
import uuid

import artifacts
import debian
import elf
import licences

NOT_KNOWN = "NOASSERTION"
OWN_LIBRARIES = "usr/lib/vgpu/"
LICENCE_LINE = re.compile(rb"SPDX-License-Identifier: ([\w.+-]+)")
# Fields of dpkg's database, in the order of Component.
FIELDS = ("Package", "Version", "Architecture", "source:Package", "source:Version", "Homepage")


class Trouble(Exception):
    """Why there can be no list; its text is the whole message."""


@dataclasses.dataclass(frozen=True)
class Component:
    """A Debian package that goes out with ours in part, or that ours needs."""
    name: str
    version: str
    architecture: str
    source: str
    source_version: str
    homepage: str
    copyright: str


def identifier(*words):
    return "SPDXRef-" + "-".join(re.sub(r"[^A-Za-z0-9.-]", "-", word) for word in words)


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def distribution():
    """(its name, the name of its id, its id and version) of this machine, whose packages these are."""
    with open("/etc/os-release", encoding="utf-8") as file:
        about = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    name, short, version = (about.get(key, "").strip('"') for key in ("NAME", "ID", "VERSION_ID"))
    return name, short, f"{short}-{version}"


class Build:
    """Where a build's libraries came from."""

    def __init__(self, folder):
        self.root = elf.sysroot_of(folder)
        self.architecture = elf.architecture_of(os.path.join(folder, "bin/vgpu"))
        self.linked_in = licences.archives(folder)
        self.known = {}

    def component(self, path):
        """The package that a library came with."""
        name = licences.package_of(path, self.root)
        if not name:
            raise Trouble(f"no package has '{path}', which goes out with a program")
        if name not in self.known:
            self.known[name] = self.read_component(name)
        return self.known[name]

    def read_component(self, name):
        admin = [f"--admindir={self.root}/var/lib/dpkg"] if self.root else []
        wanted = "\t".join(f"${{{field}}}" for field in FIELDS)
        for words in (f"{name}:{self.architecture}", name):
            done = subprocess.run(["dpkg-query", *admin, "-W", "-f", wanted, words], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, check=False)
            if done.returncode == 0:
                break
        else:
            raise Trouble(f"dpkg does not know '{name}'")
        with open(f"{self.root}/usr/share/doc/{name}/copyright", encoding="utf-8", errors="replace") as file:
            return Component(*done.stdout.split("\t"), file.read())

    def static(self, member):
        """Packages of the archives that are linked into a program."""
        return {self.component(path) for path in self.linked_in.get(os.path.basename(member.name), ())}

    def dynamic(self, member, ours):
        """Packages of the libraries that a program names."""
        names, loader = elf.named(member.data)
        wanted = {*names, *([loader] if loader else [])} - ours
        return {self.component(elf.library_in(self.root, member.data, name)) for name in wanted}


class Document:
    """The list, while it grows."""

    def __init__(self, name, version, licence, builds):
        self.name, self.version, self.licence = name, version, licence
        self.builds = {build.architecture: build for build in builds}
        self.packages, self.files, self.texts, self.relations = [], [], {}, []

    def copyright(self):
        return re.search(r"^Copyright .*", debian.COPYRIGHT, re.M).group()

    def add_component(self, component):
        """A Debian package, once; gives its identifier."""
        key = identifier("debian", component.name, component.architecture)
        licence = key.replace("SPDXRef-", "LicenseRef-", 1)
        if licence in self.texts:
            return key
        supplier, short, release = distribution()
        named = sorted(set(re.findall(r"^License: *(\S.*?) *$", component.copyright, re.M)))
        self.texts[licence] = {"licenseId": licence, "extractedText": component.copyright,
                               "name": f"The copyright file of Debian's package {component.name}"}
        self.packages.append({
            "SPDXID": key, "name": component.name, "versionInfo": component.version,
            "supplier": f"Organization: {supplier}", "downloadLocation": NOT_KNOWN, "filesAnalyzed": False,
            "licenseConcluded": NOT_KNOWN, "licenseDeclared": licence, "copyrightText": NOT_KNOWN,
            "sourceInfo": f"built from the source package {component.source} {component.source_version}",
            **({"homepage": component.homepage} if component.homepage else {}),
            **({"licenseComments": f"Licences that the copyright file names: {'; '.join(named)}"} if named else {}),
            "externalRefs": [{
                "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                "referenceLocator": f"pkg:deb/{short}/{component.name}@{component.version.replace('+', '%2B')}"
                                    f"?arch={component.architecture}&distro={release}"}]})
        return key

    def add_file(self, owner, member, licence):
        """A file of one of our packages; gives its identifier."""
        key = identifier("file", hashlib.sha256(f"{owner}/{member.name}".encode()).hexdigest()[:20])
        found = LICENCE_LINE.search(member.data[:1024])
        self.files.append({
            "SPDXID": key, "fileName": f"./{member.name}",
            **({"fileTypes": ["BINARY"]} if elf.is_elf(member.data) else {}),
            "checksums": [{"algorithm": kind, "checksumValue": hashlib.new(kind, member.data).hexdigest()}
                          for kind in ("SHA1", "SHA256")],
            "licenseConcluded": NOT_KNOWN,
            "licenseInfoInFiles": [found.group(1).decode() if found else licence],
            "copyrightText": NOT_KNOWN})
        self.relations.append(relation(owner, "CONTAINS", key))
        return key

    def add_links(self, owner, key, member, build, ours):
        for kind, components in (("STATIC_LINK", build.static(member)), ("DYNAMIC_LINK", build.dynamic(member, ours))):
            for component in sorted(components, key=dataclasses.astuple):
                self.relations += [relation(key, kind, self.add_component(component)),
                                   relation(owner, "DEPENDS_ON", self.add_component(component))]

    def add_binary(self, owner, member, build, is_image, ours):
        """A program or library: ours with what it is linked with, another's with the package that it came with."""
        path = member.name.removeprefix(f"{build.architecture}/") if is_image else member.name
        if is_image and ".so" in path and not path.startswith(OWN_LIBRARIES):
            component = self.add_component(build.component(f"/{path}"))
            self.add_file(owner, member, component.replace("SPDXRef-", "LicenseRef-", 1))
            self.relations.append(relation(owner, "CONTAINS", component))
            return
        self.add_links(owner, self.add_file(owner, member, NOT_KNOWN), member, build, ours)

    def add_artifact(self, path):
        """One file of the release, with all that is in it."""
        name = os.path.basename(path)
        key = identifier("release", name)
        members = [member for member in artifacts.members(path) if member.is_file]
        ours = {os.path.basename(member.name) for member in members if OWN_LIBRARIES in member.name}
        is_image = name.endswith(".tar")
        for member in members:
            if elf.is_elf(member.data) and not name.endswith(".gz"):
                self.add_binary(key, member, self.builds[elf.machine_of(member.data)[0]], is_image, ours)
            else:
                self.add_file(key, member, NOT_KNOWN)
        sums = sorted(hashlib.sha1(member.data).hexdigest() for member in members)
        self.packages.append({
            "SPDXID": key, "name": re.sub(rf"[-_]{re.escape(self.version)}.*|\.tar.*", "", name),
            "versionInfo": self.version, "packageFileName": name, "downloadLocation": NOT_KNOWN, "filesAnalyzed": True,
            "supplier": f"Organization: {self.copyright().split(' ', 3)[3]}",
            "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest()},
            "checksums": [{"algorithm": kind.upper(), "checksumValue": artifacts.digest(path, kind)}
                          for kind in ("sha1", "sha256")],
            "licenseConcluded": NOT_KNOWN, "licenseDeclared": self.licence, "licenseInfoFromFiles": self.licences_of(key),
            "copyrightText": self.copyright()})
        self.relations.append(relation("SPDXRef-DOCUMENT", "DESCRIBES", key))

    def licences_of(self, owner):
        inside = {row["relatedSpdxElement"] for row in self.relations
                  if row["spdxElementId"] == owner and row["relationshipType"] == "CONTAINS"}
        return sorted({name for file in self.files if file["SPDXID"] in inside for name in file["licenseInfoInFiles"]})

    def finish(self, epoch):
        """The document; its name space follows from what is in it."""
        once = {tuple(row.values()): row for row in self.relations}
        content = {"packages": self.packages, "files": self.files, "relationships": list(once.values()),
                   **({"hasExtractedLicensingInfos": list(self.texts.values())} if self.texts else {})}
        digest = hashlib.sha256(json.dumps([epoch, content]).encode()).digest()
        created = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
        return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
                "name": f"{self.name}-{self.version}",
                "documentNamespace": uuid.UUID(bytes=digest[:16], version=5).urn,
                "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                                 "creators": [f"Tool: {self.name}-tools-sbom-{self.version}"]},
                **content}


def document(name, version, licence, epoch, paths, builds):
    """The list of these files of a release; builds are the folders that they were made from."""
    made = Document(name, version, licence, [Build(folder) for folder in builds])
    for path in sorted(paths):
        made.add_artifact(path)
    return made.finish(epoch)


def version_differences(one, other):
    """Sentences about the packages of Debian that two documents have in other versions: the usual cause of other bytes."""
    ones, others = ({package["SPDXID"]: package for package in document["packages"] if not package["filesAnalyzed"]}
                    for document in (one, other))
    return [f"{ones[key]['name']} is {ones[key]['versionInfo']} in the first build, {others[key]['versionInfo']} in the second"
            for key in sorted(ones.keys() & others.keys()) if ones[key]["versionInfo"] != others[key]["versionInfo"]]
