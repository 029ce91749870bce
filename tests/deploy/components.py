# SPDX-License-Identifier: Apache-2.0
"""components: the SBOM of a build's packages and image, held against SPDX's rules and against dpkg."""

import copy
import glob
import hashlib
import os
import subprocess
import tempfile

import licences
import sbom
import spdx_rules


def made(paths, build):
    return sbom.document("vgpu", "0.1.0", "Apache-2.0", "1767225600", paths, [build])


def sums_wrong(document, paths):
    """Files of the release whose checksum in the list is not theirs."""
    listed = {package["packageFileName"]: package for package in document["packages"] if "packageFileName" in package}
    told = []
    for path in paths:
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        if {"algorithm": "SHA256", "checksumValue": digest} not in listed.get(os.path.basename(path), {}).get("checksums", ()):
            told.append(os.path.basename(path))
    return told


def linked(document, kind):
    """{name of a program: names of the packages that it is linked with in this way}"""
    names = {element["SPDXID"]: element.get("name") or os.path.basename(element["fileName"])
             for element in document["packages"] + document["files"]}
    found = {}
    for row in document["relationships"]:
        if row["relationshipType"] == kind:
            found.setdefault(names[row["spdxElementId"]], set()).add(names[row["relatedSpdxElement"]])
    return found


def links_missing(document, build):
    """Archives that are linked into programs and the list does not have; likewise the C library of each program."""
    static, dynamic = linked(document, "STATIC_LINK"), linked(document, "DYNAMIC_LINK")
    told = [f"{program}: {path}" for program, paths in licences.archives(build).items() if program in static
            for path in paths if licences.package_of(path) not in static[program]]
    told += [f"{program}: not linked with libc6" for program in ("vgpu", "vgpu-node", "libvgpu.so")
             if "libc6" not in dynamic.get(program, ())]
    return told + ([] if "vgpu-runtime" in static else ["nothing is linked into vgpu-runtime"])


def versions_wrong(document):
    """Packages of Debian with another version than dpkg has, or without a licence's text."""
    texts = {row["licenseId"]: row["extractedText"] for row in document["hasExtractedLicensingInfos"]}
    told = []
    for package in document["packages"]:
        if package["SPDXID"].startswith("SPDXRef-debian-"):
            version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package["name"]], stdout=subprocess.PIPE,
                                     text=True, check=False).stdout
            with open(f"/usr/share/doc/{package['name']}/copyright", encoding="utf-8", errors="replace") as file:
                if package["versionInfo"] != version or texts[package["licenseDeclared"]] != file.read():
                    told.append(package["name"])
    return told


def defects(document):
    """(what it is called, a document with it), of each kind that the rules must find."""
    def planted(change):
        bad = copy.deepcopy(document)
        change(bad)
        return bad
    debian = next(i for i, package in enumerate(document["packages"]) if not package["filesAnalyzed"])
    yield "is '", planted(lambda bad: bad.update(spdxVersion="SPDX-2.1"))
    yield "no downloadLocation", planted(lambda bad: bad["packages"][debian].pop("downloadLocation"))
    yield "no SHA1", planted(lambda bad: bad["files"][0]["checksums"].pop(0))
    yield "verification code", planted(lambda bad: bad["files"][0]["checksums"][0].update(checksumValue="0" * 40))
    yield "there twice", planted(lambda bad: bad["files"].append(bad["files"][0]))
    yield "which is not there", planted(lambda bad: bad["packages"].pop(debian))
    yield "has no text", planted(lambda bad: bad["hasExtractedLicensingInfos"].pop())
    yield "is no licence", planted(lambda bad: bad["packages"][0].update(licenseDeclared="free for all"))
    yield "describes nothing", planted(lambda bad: bad.update(relationships=[
        row for row in bad["relationships"] if row["relationshipType"] != "DESCRIBES"]))


def unnoticed(document):
    return [f"nobody notices: {words}" for words, bad in defects(document)
            if not any(words in line for line in spdx_rules.complaints(bad))]


def other_versions(document):
    """What is said of two builds with other versions of a package; and nothing where they have the same."""
    other = copy.deepcopy(document)
    package = next(package for package in other["packages"] if not package["filesAnalyzed"])
    was, package["versionInfo"] = package["versionInfo"], "0-0"
    said = sbom.version_differences(document, other) + sbom.version_differences(document, document)
    return [] if said == [f"{package['name']} is {was} in the first build, 0-0 in the second"] else [f"it says {said}"]


def check(tap, build):
    """Cases about the packages and the image that are in the build folder."""
    paths = sorted(glob.glob(os.path.join(build, "vgpu*.deb"))) + [os.path.join(build, "vgpu-image.tar")]
    document = made(paths, build)
    tap.check("the list of components keeps the rules of SPDX", spdx_rules.complaints(document))
    tap.check("and rules that are broken are noticed", unnoticed(document))
    tap.check("it has the checksum of each package and of the image", sums_wrong(document, paths))
    tap.check("it has what each program is linked with", links_missing(document, build))
    tap.check("with the versions and licences that dpkg has", versions_wrong(document))
    tap.check("and is the same every time", [] if made(paths, build) == document else ["it differs"])
    tap.check("a package that has another version in the second build is named", other_versions(document))
