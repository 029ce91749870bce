#!/usr/bin/env python3
"""What a build is handed out as: the container image and the Debian packages. packages.py SOURCE_ROOT BUILD

They are made twice, for the same bytes; then unpacked or installed where nothing else is, and started there.
"""

import glob
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(sys.argv[1], "tests", "abi"))
from tap import Tap

SOURCE, BUILD = sys.argv[1:3]
IS_ROOT = os.geteuid() == 0


def run(*words, **options):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)


def digests(pattern):
    found = {}
    for path in glob.glob(os.path.join(BUILD, pattern)):
        with open(path, "rb") as file:
            found[os.path.basename(path)] = hashlib.sha256(file.read()).hexdigest()
    return found


def made_twice(tool, pattern):
    """The complaints about a tool whose files must not depend on when it runs."""
    seen = []
    for _ in range(2):
        done = run(os.path.join(SOURCE, "tools", tool), BUILD)
        if done.returncode != 0:
            return done.stdout
        seen.append(digests(pattern))
    return "" if seen[0] and seen[0] == seen[1] else f"{seen[0]}\n{seen[1]}"


def image_read():
    """The image's settings and its layer, by way of its own index."""
    with tarfile.open(os.path.join(BUILD, "vgpu-image.tar")) as archive:
        def blob(descriptor):
            return archive.extractfile("blobs/" + descriptor["digest"].replace(":", "/")).read()
        index = json.load(archive.extractfile("index.json"))
        manifest = json.loads(blob(index["manifests"][0]))
        return json.loads(blob(manifest["config"]))["config"], blob(manifest["layers"][0])


def image_starts(folder):
    """Everything in the image starts with what is in the image."""
    settings, layer = image_read()
    with tarfile.open(fileobj=io.BytesIO(layer)) as files:
        files.extractall(folder, filter="fully_trusted") if hasattr(tarfile, "data_filter") else files.extractall(folder)
    complaints = [] if settings["User"] == "65532:65532" else [f"it runs as {settings['User']}"]
    for words in (("vgpu", "sim", "list"), ("vgpu-webhook", "--version"), ("vgpu-scheduler", "--version"),
                  ("vgpu-node", "--help"), ("deviceplugin", "--help"), ("vgpu-runtime", "--help"),
                  ("vgpu-burn", "--help")):
        path = next((f"{place}/{words[0]}" for place in ("/usr/bin", "/usr/sbin")
                     if os.path.lexists(f"{folder}{place}/{words[0]}")), "")
        done = run("chroot", "--userspec=65532:65532", folder, path, *words[1:])
        if done.returncode != 0 or not done.stdout:
            complaints.append(f"{words[0]}: {done.stdout}")
    return complaints


def unit_complaints(root):
    """What systemd does not understand of the service."""
    if not shutil.which("systemd-analyze"):
        return []
    told = run("systemd-analyze", f"--root={root}", "verify", "/usr/lib/systemd/system/vgpu-node.service").stdout
    return [line for line in told.splitlines() if "ignoring" in line or "not executable" in line]


def packages_work(root):
    """Installed below a root of their own, a program is held to its limit there; removed, nothing is left."""
    for folder in ("updates", "info"):
        os.makedirs(os.path.join(root, "var/lib/dpkg", folder))
    for name in ("status", "available"):
        open(os.path.join(root, "var/lib/dpkg", name), "w", encoding="ascii").close()
    dpkg = ("dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", "--log=/dev/null")
    done = run(*dpkg, "--install", *glob.glob(os.path.join(BUILD, "vgpu*.deb")))
    if done.returncode != 0:
        return done.stdout
    environment = {**os.environ, "PATH": f"{root}/usr/bin:{os.environ['PATH']}"}
    done = run(f"{root}/usr/bin/vgpu", "run", "--sim=a100-40gb", "--memory", "1g", "--", "vgpu-burn", "-m", "4000",
               "1", env=environment)
    if "CUDA_ERROR_OUT_OF_MEMORY" not in done.stdout:
        return f"4000 MiB within 1 GiB: {done.stdout}"
    done = run(f"{root}/usr/sbin/vgpu-runtime", "install", "--to", f"{root}/opt")
    if done.returncode != 0:
        return done.stdout
    shutil.rmtree(f"{root}/opt")
    unit = unit_complaints(root)
    if unit:
        return unit
    done = run(*dpkg, "--purge", "vgpu-node", "vgpu")
    left = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names
            if not folder.startswith(f"{root}/var")]
    return done.stdout if done.returncode != 0 else left


def main():
    tap = Tap()
    tap.check("the image is the same every time", made_twice("image", "vgpu-image.tar"))
    has_dpkg = bool(shutil.which("dpkg-deb"))
    if has_dpkg:
        tap.check("the packages are the same every time", made_twice("deb", "vgpu*.deb"))
    if IS_ROOT:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            tap.check("everything in the image starts, as nobody, with what is in it", image_starts(folder))
    if IS_ROOT and has_dpkg:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            tap.check("installed packages work, and go without a trace", packages_work(folder))
    tap.done()


if __name__ == "__main__":
    main()
