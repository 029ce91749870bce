# SPDX-License-Identifier: Apache-2.0
"""debian: what a Debian package has beside the files that are installed: copyright, changelog, configuration, scripts."""

import email.utils
import gzip
import os
import re
import shutil
import textwrap

import licences

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COPYRIGHT = """vgpu: GPU shares for programs and containers.

Copyright (C) 2026 the vgpu authors

Licensed under the Apache License, Version 2.0. On Debian systems its text is in
/usr/share/common-licenses/Apache-2.0.
"""
THIRD_PARTY = """
The package contains code of these libraries, which was linked into its programs. What their authors say of
copyright and licences is in /usr/share/doc/{name}/third-party:
{list}
"""
CONFIGURATION = {"vgpu-node": {"/etc/default/vgpu-node": "deploy/standalone/vgpu-node.default"}}
# Nothing starts by itself: `systemctl enable --now vgpu-node` does that (docs/tasks/docker.md). What runs is replaced with the
# package, and stopped before it goes.
SCRIPTS = {"vgpu-node": {
    "postinst": """
if [ "$1" = configure ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
        systemctl daemon-reload || true
        systemctl try-restart vgpu-node.service || true
fi
""",
    "prerm": """
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
        systemctl disable --now vgpu-node.service || true
fi
""",
    "postrm": """
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
        systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
        rm -f "$DPKG_ROOT/etc/systemd/system/multi-user.target.wants/vgpu-node.service"
        rm -rf "$DPKG_ROOT/etc/systemd/system/vgpu-node.service.d"
        for folder in /etc/vgpu /var/lib/vgpu /run/vgpu; do
                rm -rf --one-file-system "$DPKG_ROOT$folder"
        done
fi
"""}}
# A script that is run again after it was stopped half-way does the rest.
SHEBANG = "#!/bin/sh\nset -e\n"


def date(epoch):
    """As a changelog has it, in English whatever is spoken here."""
    return email.utils.formatdate(int(epoch)).replace("-0000", "+0000")


def plain(markdown):
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"\s+", " ", markdown)).strip()


def changelog(name, version, signature):
    """CHANGELOG.md in the form that Debian's tools read; the section without a version is this one's."""
    with open(os.path.join(TOP, "CHANGELOG.md"), encoding="utf-8") as file:
        sections = re.split(r"^## ", file.read(), flags=re.M)[1:]
    parts = []
    for section in sections:
        title = section.split("\n", 1)[0].strip(" []")
        number = re.match(r"\d[\w.]*", title)
        items = re.findall(r"^- (.*(?:\n  .*)*)", section, re.M)
        lines = [f"{name} ({number.group() if number else version}) unstable; urgency=medium", ""]
        for item in items:
            lines += textwrap.wrap(plain(item), 76, initial_indent="  * ", subsequent_indent="    ",
                                   break_long_words=False, break_on_hyphens=False)
        parts.append("\n".join([*lines, "", f" -- {signature}", ""]))
    return "\n".join(parts)


def write(path, data, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    os.chmod(path, mode)


def furnish(tree, name, version, signature, archives, root=""):
    """Into the tree of a package; archives are those that are linked into its programs."""
    folder = os.path.join(tree, "usr/share/doc", name)
    found = licences.texts(archives, root)
    for package, text in found.items():
        write(os.path.join(folder, "third-party", package, "copyright"), text)
    listed = "".join(f" - {package}\n" for package in sorted(found)).rstrip("\n")
    write(os.path.join(folder, "copyright"), COPYRIGHT + (THIRD_PARTY.format(name=name, list=listed) if found else ""))
    write(os.path.join(folder, "changelog.gz"),
          gzip.compress(changelog(name, version, signature).encode(), mtime=0))
    for path, source in CONFIGURATION.get(name, {}).items():
        os.makedirs(os.path.dirname(tree + path), exist_ok=True)
        shutil.copyfile(os.path.join(TOP, source), tree + path)


def control_files(control, name):
    """Beside DEBIAN/control."""
    if name in CONFIGURATION:
        write(os.path.join(control, "conffiles"), "".join(f"{path}\n" for path in CONFIGURATION[name]))
    for script, text in SCRIPTS.get(name, {}).items():
        write(os.path.join(control, script), SHEBANG + text, 0o755)
