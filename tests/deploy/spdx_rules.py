# SPDX-License-Identifier: Apache-2.0
"""spdx_rules: what SPDX 2.3 asks of a list of components, as far as a reader's tools depend on it."""

import hashlib
import re

NEEDED = {"document": ("spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo", "packages",
                       "files", "relationships"),
          "package": ("SPDXID", "name", "versionInfo", "supplier", "downloadLocation", "licenseConcluded", "licenseDeclared",
                      "copyrightText"),
          "file": ("SPDXID", "fileName", "checksums", "licenseConcluded", "licenseInfoInFiles", "copyrightText")}
IDENTIFIER = re.compile(r"SPDXRef-[A-Za-z0-9.-]+")
LICENCE = re.compile(r"NOASSERTION|NONE|LicenseRef-[A-Za-z0-9.-]+|[A-Za-z0-9.+-]*\d[A-Za-z0-9.+-]*")
SUMS = {"SHA1": 40, "SHA256": 64}
RELATIONS = {"DESCRIBES", "CONTAINS", "DEPENDS_ON", "STATIC_LINK", "DYNAMIC_LINK"}
PURL = re.compile(r"pkg:deb/[a-z]+/[a-z0-9.+-]+@[^@?+ ]+\?arch=[a-z0-9]+&distro=[a-z]+-[\d.]+")


def missing(kind, value):
    return [f"{value.get('SPDXID', kind)}: no {name}" for name in NEEDED[kind] if value.get(name) in (None, "", [])]


def head(document):
    """Of the document itself."""
    told = missing("document", document)
    made = document.get("creationInfo", {})
    for name, pattern, value in (
            ("spdxVersion", r"SPDX-2\.3", document.get("spdxVersion")),
            ("dataLicense", r"CC0-1\.0", document.get("dataLicense")),
            ("SPDXID", "SPDXRef-DOCUMENT", document.get("SPDXID")),
            ("documentNamespace", r"[a-z][a-z0-9+.-]*:[^#\s]+", document.get("documentNamespace")),
            ("created", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", made.get("created"))):
        if not re.fullmatch(pattern, value or ""):
            told.append(f"{name} is '{value}'")
    creators = made.get("creators", [])
    if not creators or not all(re.match(r"(Tool|Organization|Person): \S", creator) for creator in creators):
        told.append(f"creators are {creators}")
    return told


def identifiers(document):
    seen, told = {"SPDXRef-DOCUMENT"}, []
    for element in document["packages"] + document["files"]:
        name = element.get("SPDXID", "")
        if not IDENTIFIER.fullmatch(name):
            told.append(f"'{name}' is no identifier")
        if name in seen:
            told.append(f"{name} is there twice")
        seen.add(name)
    for row in document["relationships"]:
        told += [f"{row['relationshipType']} names {row[end]}, which is not there"
                 for end in ("spdxElementId", "relatedSpdxElement") if row[end] not in seen]
        if row["relationshipType"] not in RELATIONS:
            told.append(f"unknown relationship {row['relationshipType']}")
    return told


def checksums(element, wanted):
    found = {row["algorithm"]: row["checksumValue"] for row in element.get("checksums", [])}
    return [f"{element['SPDXID']}: no {kind}" for kind in wanted
            if not re.fullmatch(f"[0-9a-f]{{{SUMS[kind]}}}", found.get(kind, ""))]


def packages(document):
    told = []
    sums = {file["SPDXID"]: row["checksumValue"] for file in document["files"] for row in file.get("checksums", [])
            if row["algorithm"] == "SHA1"}
    for package in document["packages"]:
        name = package.get("SPDXID")
        told += missing("package", package)
        if not re.match(r"(Organization|Person): \S", package.get("supplier", "")):
            told.append(f"{name}: the supplier is '{package.get('supplier')}'")
        told += [f"{name}: '{row['referenceLocator']}' is no package URL" for row in package.get("externalRefs", [])
                 if row["referenceType"] == "purl" and not PURL.fullmatch(row["referenceLocator"])]
        code = package.get("packageVerificationCode", {}).get("packageVerificationCodeValue")
        if not package.get("filesAnalyzed", True):
            told += [f"{name}: {field} of files that were not looked at"
                     for field in ("packageVerificationCode", "licenseInfoFromFiles") if field in package]
            continue
        told += checksums(package, ("SHA256",))
        inside = {row["relatedSpdxElement"] for row in document["relationships"]
                  if row["spdxElementId"] == name and row["relationshipType"] == "CONTAINS"}
        listed = "".join(sorted(sums[file] for file in inside if file in sums))
        if code != hashlib.sha1(listed.encode()).hexdigest():
            told.append(f"{name}: its verification code is not that of its files")
    return told


def files(document):
    told = []
    for file in document["files"]:
        told += missing("file", file) + checksums(file, ("SHA1", "SHA256"))
        if not file.get("fileName", "").startswith("./"):
            told.append(f"{file.get('SPDXID')}: '{file.get('fileName')}' does not begin with './'")
    return told


def licences(document):
    """Every licence has the form of one, and those of no list have their text."""
    known = {row["licenseId"] for row in document.get("hasExtractedLicensingInfos", []) if row.get("extractedText")}
    told = []
    for element in document["packages"] + document["files"]:
        named = [element.get("licenseConcluded"), element.get("licenseDeclared"), *element.get("licenseInfoInFiles", []),
                 *element.get("licenseInfoFromFiles", [])]
        for name in filter(None, named):
            if not LICENCE.fullmatch(name):
                told.append(f"{element.get('SPDXID')}: '{name}' is no licence")
            elif name.startswith("LicenseRef-") and name not in known:
                told.append(f"{element.get('SPDXID')}: {name} has no text")
    return told


def described(document):
    return [] if any(row["spdxElementId"] == "SPDXRef-DOCUMENT" and row["relationshipType"] == "DESCRIBES"
                     for row in document["relationships"]) else ["the document describes nothing"]


def complaints(document):
    """What is wrong with a document; empty: nothing."""
    wrong = head(document)
    return wrong or [line for rule in (identifiers, packages, files, licences, described) for line in rule(document)]
