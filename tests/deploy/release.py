#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/release in a small tree of its own: what it hands out, refuses, and notices. release.py SOURCE_ROOT

The tree has our tools and a Makefile that packs one text; it takes the place of ours, which takes minutes to build.
"""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(sys.argv[1], "tests", "abi"))
import spdx_rules
from tap import Tap

SOURCE = sys.argv[1]
FILES = {
    ".gitignore": "/build*/\n__pycache__/\n",
    "meson.build": "project('vgpu', 'c',\n  version : '1.2.3', license : 'Apache-2.0')\n",
    "text": "the same everywhere\n",
    "Makefile": """
deb: text
	mkdir -p $(BUILD)/bin && cp /bin/true $(BUILD)/bin/vgpu && : >$(BUILD)/build.ninja
	for name in vgpu vgpu-node; do \\
	mkdir -p $(BUILD)/$$name/DEBIAN && cp text $(BUILD)/$$name/text && \\
	printf 'Package: %s\\nVersion: 1.2.3\\nArchitecture: $(ARCHES)\\nMaintainer: none <none@localhost>\\nDescription: none\\n' \\
	$$name >$(BUILD)/$$name/DEBIAN/control && dpkg-deb --root-owner-group -b $(BUILD)/$$name \\
	$(BUILD)/$${name}_1.2.3_$(ARCHES).deb || exit 1; done
image:
	python3 image.py >$(BUILD)/vgpu-image.tar
""",
    "image.py": """
import sys
sys.path.insert(0, "tools")
sys.dont_write_bytecode = True
import oci
tree, blobs = oci.Tree(), oci.Blobs()
tree.file("/etc/text", "text", 0o644)
sys.stdout.buffer.write(oci.archive(blobs, blobs.add(tree, {}, True), "localhost/none:1"))
"""}


def run(folder, *words):
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_DATE": "1767225600 +0000",
                   "GIT_COMMITTER_DATE": "1767225600 +0000"}
    return subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env=environment)


def git(folder, *words):
    done = run(folder, "git", "-c", "user.name=nobody", "-c", "user.email=nobody@localhost", *words)
    if done.returncode:
        raise ValueError(done.stdout)


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def tree(folder, **changes):
    """A clone to release from; changes replace files, by name without what follows the dot."""
    os.makedirs(os.path.join(folder, "tools"))
    for name in ("release", "artifacts.py", "sbom.py", "oci.py", "elf.py", "debian.py", "licences.py", "roots.py", "cache.py"):
        shutil.copy(os.path.join(SOURCE, "tools", name), os.path.join(folder, "tools"))
    for name, text in FILES.items():
        write(folder, name, changes.get(name.split(".")[0], text))
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "all")
    return folder


def release(folder):
    return run(folder, "tools/release", "build")


def hands_out(folder):
    done = release(tree(folder))
    if done.returncode:
        return done.stdout
    names = sorted(os.listdir(os.path.join(folder, "build/release")))
    architecture = run(folder, "dpkg", "--print-architecture").stdout.strip()
    wanted = sorted(["SHA256SUMS", "vgpu-1.2.3.spdx.json", "vgpu-1.2.3.tar.gz", "vgpu-image-1.2.3.tar",
                     f"vgpu-node_1.2.3_{architecture}.deb", f"vgpu_1.2.3_{architecture}.deb"])
    told = [] if names == wanted else [f"it is {names}"]
    done = run(os.path.join(folder, "build/release"), "sha256sum", "--strict", "-c", "SHA256SUMS")
    if done.returncode or done.stdout.count(": OK") != len(wanted) - 1:
        told.append(done.stdout)
    with open(os.path.join(folder, "build/release/vgpu-1.2.3.spdx.json"), encoding="utf-8") as file:
        return told + spdx_rules.complaints(json.load(file))


def archive_is_head(folder):
    """The members of the source archive are the files of the commit, owned by nobody in particular."""
    import tarfile
    with tarfile.open(os.path.join(folder, "build/release/vgpu-1.2.3.tar.gz")) as archive:
        entries = [entry for entry in archive if entry.isfile()]
    listed = run(folder, "git", "ls-files").stdout.split()
    told = [] if [entry.name.removeprefix("vgpu-1.2.3/") for entry in entries] == sorted(listed) else ["other files"]
    return told + [entry.name for entry in entries
                   if (entry.uid, entry.gid, entry.mtime) != (0, 0, 1767225600) or entry.mode not in (0o644, 0o755)]


def refused(done, folder, *sentences):
    """A release that must fail, with these words, and leave no checksums."""
    told = [f"'{words}' is not in: {done.stdout}" for words in sentences if words not in done.stdout]
    left = glob.glob(os.path.join(folder, "build/release/SHA256SUMS"))
    return told + left + (["it succeeds"] if done.returncode == 0 else [])


def dirty(folder):
    write(tree(folder), "text", "changed\n")
    done = release(folder)
    return refused(done, folder, "the tree has changes that are not committed") + (
        [done.stdout] if done.stdout.count("\n") != 1 else [])


def unknown_file(folder):
    write(tree(folder), "more", "not committed\n")
    return refused(release(folder), folder, "the tree has changes that are not committed")


def path_in_package(folder):
    """A package that has the folder of its build in it."""
    makefile = FILES["Makefile"].replace("cp text $(BUILD)/$$name/text", "pwd >$(BUILD)/$$name/text")
    done = release(tree(folder, Makefile=makefile))
    told = refused(done, folder, ".deb: text: differs from byte ", "two builds of one commit differ")
    return told + ([] if os.path.exists(os.path.join(folder, "build/release-second")) else ["the second build is gone"])


def path_in_image(folder):
    image = FILES["image.py"].replace('tree.file(', 'tree.text("/where", __import__("os").getcwd())\ntree.file(')
    return refused(release(tree(folder, image=image)), folder, "vgpu-image-1.2.3.tar: ", "/where: differs from byte ")


def mode_in_package(folder):
    """Equal files with other modes."""
    makefile = FILES["Makefile"].replace("cp text $(BUILD)/$$name/text",
                                         "install -m $$(pwd | grep -q another && echo 644 || echo 755) text $(BUILD)/$$name/text")
    return refused(release(tree(folder, Makefile=makefile)), folder, "text: differs in its mode")


def failing_build(folder):
    makefile = FILES["Makefile"].replace("image:\n", "image:\n\t@echo no image today; exit 1\n")
    return refused(release(tree(folder, Makefile=makefile)), folder, "| no image today", "fails; ")


def with_folder(check):
    with tempfile.TemporaryDirectory() as folder:
        return check(os.path.join(folder, "tree"))


def main():
    if not shutil.which("dpkg-deb") or not shutil.which("git"):
        print("1..0 # SKIP no dpkg-deb or no git")
        return
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.join(folder, "tree")
        tap.check("a release has packages, image, sources, components and checksums", hands_out(folder))
        tap.check("its sources are the files of the commit, with the commit's time", archive_is_head(folder))
    tap.check("a tree with changes is refused, in one sentence", with_folder(dirty))
    tap.check("and so is one with a file that is not committed", with_folder(unknown_file))
    tap.check("a build's folder in a package is named, and no checksums are left", with_folder(path_in_package))
    tap.check("and so is one in the image", with_folder(path_in_image))
    tap.check("a file with another mode is named", with_folder(mode_in_package))
    tap.check("a build that fails shows its last lines", with_folder(failing_build))
    tap.done()


if __name__ == "__main__":
    main()
