# SPDX-License-Identifier: Apache-2.0
"""roots: bare root folders of distributions, made by debootstrap and kept in the cache.

A root is what debootstrap's variant minbase gives, with make and git: what README asks of a reader's machine.
Once there it never changes; its folder is named after what it is made from.
"""

import contextlib
import dataclasses
import fcntl
import glob
import hashlib
import os
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

import cache                    # beside this file

PACKAGES = "make,git"
SCRIPTS = "/usr/share/debootstrap/scripts"
# Ends all that it started when it ends or is killed, and its mounts go with it.
NAMESPACES = ["setpriv", "--pdeathsig", "KILL",
              "unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
# Debian has no package of Ubuntu's keys. This one is fetched from Ubuntu's archive and must be this one.
UBUNTU_KEYS = ("pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb",
               "36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8",
               "usr/share/keyrings/ubuntu-archive-keyring.gpg")


class Trouble(Exception):
    """Why a root cannot be made here; its text is the whole message."""


@dataclasses.dataclass(frozen=True)
class Root:
    """A distribution: its name, its release's code name, the parts of the archive, debootstrap's script."""
    name: str
    suite: str
    components: str
    script: str


ROOTS = {root.name: root for root in (
    Root("debian-12", "bookworm", "main", "bookworm"),
    Root("debian-13", "trixie", "main", "trixie"),
    # Older releases of debootstrap do not know this one by name; all of Ubuntu's share a script.
    Root("ubuntu-24.04", "noble", "main,universe", "gutsy"),
)}


def cache_path():
    return cache.cache_path("fresh")


def output(*command):
    """What a command prints; nothing where it fails or is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


@contextlib.contextmanager
def locked(path, flags=fcntl.LOCK_EX):
    with open(path, "w", encoding="ascii") as file:
        fcntl.flock(file, flags)
        yield


def host_mirror(root):
    """The archive from which this machine has its own packages, if it is of the same distribution."""
    about = dict(line.split("=", 1) for line in output("cat", "/etc/os-release").splitlines() if "=" in line)
    if about.get("ID", "").strip('"') != root.name.partition("-")[0]:
        return ""
    for line in output("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
                       "Created-By: Packages").splitlines():
        uri, release, component = line.split()
        if release == about.get("VERSION_CODENAME") and component == "main":
            return uri
    return ""


def script_mirror(script, suite):
    """The archive that a script of debootstrap takes by itself; the script is asked for nothing else."""
    return output("sh", "-c", 'ARCH=$(dpkg --print-architecture) SUITE=$1; default_mirror() { echo "$1"; }; '
                  'mirror_style() { exit 0; }; . "$0"', script, suite)


def proxies():
    """apt's proxy, as the variables that debootstrap and Python know."""
    found = {}
    for scheme in ("http", "https"):
        proxy = os.environ.get(f"{scheme}_proxy") or output("sh", "-c", f"""
            eval "$(apt-config shell proxy Acquire::{scheme}::Proxy)"; echo "$proxy" """)
        if proxy and proxy != "DIRECT":
            found[f"{scheme}_proxy"] = proxy
    return found


def apt_configuration():
    """How this machine's apt reaches its archive: proxies, and whether it is a snapshot's old date."""
    lines = output("apt-config", "dump", "Acquire").splitlines()
    wanted = ("Acquire::http::Proxy", "Acquire::https::Proxy", "Acquire::Check-Valid-Until")
    return "".join(f"{line}\n" for line in lines if line.split(" ")[0] in wanted)


def ubuntu_keys(mirror, folder):
    """Ubuntu's keys out of its archive, compared with what is known of them here."""
    path, digest, inside = UBUNTU_KEYS
    handler = urllib.request.ProxyHandler({name.partition("_")[0]: proxy for name, proxy in proxies().items()})
    try:
        with urllib.request.build_opener(handler).open(f"{mirror.rstrip('/')}/{path}", timeout=60) as answer:
            contents = answer.read()
    except (OSError, urllib.error.URLError) as error:
        raise Trouble(f"Ubuntu's archive cannot be reached: {error}") from error
    if hashlib.sha256(contents).hexdigest() != digest:
        raise Trouble("Ubuntu's archive has other keys than are known here")
    package = os.path.join(folder, "keyring.deb")
    with open(package, "wb") as file:
        file.write(contents)
    subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    return os.path.join(folder, inside)


def debootstrap(root, target, log):
    path = "/usr/local/sbin:/usr/sbin:/sbin:" + os.environ["PATH"]
    if not shutil.which("debootstrap", path=path):
        raise Trouble("there is no debootstrap; `tools/setup fresh` installs it")
    script = os.path.join(SCRIPTS, root.suite)
    if not os.path.exists(script):
        script = os.path.join(SCRIPTS, root.script)
    mirror = host_mirror(root)
    with tempfile.TemporaryDirectory() as folder:
        options = ["--variant=minbase", f"--include={PACKAGES}", f"--components={root.components}"]
        if root.name.startswith("ubuntu"):
            mirror = mirror or script_mirror(script, root.suite)
            options.append(f"--keyring={ubuntu_keys(mirror, folder)}")
        with open(log, "w", encoding="utf-8") as file:
            done = subprocess.run(
                [*NAMESPACES, "--mount-proc", "debootstrap", *options, root.suite, target, mirror, script],
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, check=False,
                env={**os.environ, **proxies(), "PATH": path})
    if done.returncode:
        with open(log, encoding="utf-8", errors="replace") as file:
            last = (file.read().strip().splitlines() or ["no word"])[-1]
        raise Trouble(f"debootstrap fails: {last} ({log})")
    for package in glob.glob(os.path.join(target, "var/cache/apt/archives/*.deb")):
        os.remove(package)


def obstacle():
    """Why no root can be made or entered here; None: nothing is in the way."""
    if os.geteuid() != 0:
        return "this needs root, or sudo without a password"
    try:
        tried = subprocess.run([*NAMESPACES, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True,
                               check=False)
    except OSError as error:
        return f"no namespaces: {error}"
    return f"no namespaces: {tried.stderr.strip()}" if tried.returncode else None


def root_folder(name):
    key = hashlib.sha256(repr((ROOTS[name], PACKAGES)).encode()).hexdigest()[:8]
    return os.path.join(cache_path(), f"{name}-{key}", name)


def root_path(name):
    """The folder of a root, made if it is not there. Trouble: it cannot be."""
    path = root_folder(name)
    if os.path.exists(path):
        return path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with locked(path + ".lock"):
        if not os.path.exists(path):
            for half in glob.glob(path + ".half-*"):
                shutil.rmtree(half)             # its maker was killed: it had the lock
            half = f"{path}.half-{os.getpid()}"
            try:
                debootstrap(ROOTS[name], half, path + ".log")
            except Trouble:                     # archives have bad moments
                shutil.rmtree(half, ignore_errors=True)
                debootstrap(ROOTS[name], half, path + ".log")
            os.rename(half, path)
    return path
