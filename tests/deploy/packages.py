#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a build is handed out as: the container image and the Debian packages. packages.py SOURCE_ROOT BUILD

They are made twice, for the same bytes; then unpacked or installed where nothing else is, and started there.
"""

import glob
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, os.path.join(sys.argv[1], "tests", "abi"))
sys.path.insert(0, os.path.join(sys.argv[1], "tools"))
import components
import elf
import licences
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


def paths_inside():
    """Programs and libraries of the build that name the folder of their sources, for debuggers or otherwise."""
    told = []
    for path in glob.glob(os.path.join(BUILD, "bin/*")) + glob.glob(os.path.join(BUILD, "lib/**/*.so*"), recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                data = file.read()
            if elf.is_elf(data) and os.path.realpath(SOURCE).encode() + b"/" in data:
                told.append(path)
    return told


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
        path = next((f"{part}/{words[0]}" for part in ("/usr/bin", "/usr/sbin")
                     if os.path.lexists(f"{folder}{part}/{words[0]}")), "")
        done = run("chroot", "--userspec=65532:65532", folder, path, *words[1:])
        if done.returncode != 0 or not done.stdout:
            complaints.append(f"{words[0]}: {done.stdout}")
    return complaints


def unit_hides(root):
    """Folders of users' shares that the service could not open or write to."""
    with open(os.path.join(SOURCE, "lib/contract/run_folders.h"), encoding="utf-8") as file:
        folders = re.search(r'RUN_FOLDERS_DEFAULT\s+"([^"]+)"', file.read()).group(1).split(":")
    settings = {}
    with open(f"{root}/usr/lib/systemd/system/vgpu-node.service", encoding="utf-8") as file:
        for name, _, value in (line.strip().partition("=") for line in file if not line.startswith("#")):
            settings.setdefault(name, []).extend(value.replace("-/", "/").split())
    hidden = list(settings.get("InaccessiblePaths", []))
    hidden += ["/home", "/root", "/run/user"] if settings.get("ProtectHome", ["no"]) != ["no"] else []
    hidden += ["/tmp"] if settings.get("PrivateTmp", ["no"]) != ["no"] else []
    return [f"the service cannot write to {folder}" for folder in folders
            if folder in hidden or folder not in settings.get("ReadWritePaths", [])]


def call_sets():
    """systemd's names for sets of system calls, with the calls of each."""
    found, name = {}, None
    for line in run("systemd-analyze", "--no-pager", "syscall-filter").stdout.splitlines():
        line = re.sub(r"\x1b\[[0-9;]*m", "", line)
        if line.startswith("@"):
            name = line.strip()
            found[name] = []
        elif name and line.startswith("    ") and not line.strip().startswith("#"):
            found[name].append(line.strip())

    def calls_of(word):
        return set().union(*map(calls_of, found[word])) if word in found else {word}
    return calls_of


def unit_refuses(path):
    """System calls that vgpu-node allows itself and the service does not; those by which it gives up the others, too."""
    calls_of, allowed = call_sets(), set()
    with open(path, encoding="utf-8") as file:
        for words in re.findall(r"^SystemCallFilter=(.*)", file.read(), re.M):
            calls = set().union(*map(calls_of, words.lstrip("~").split()))
            allowed = allowed - calls if words.startswith("~") else allowed | calls
    wanted = {"capget", "capset", "prctl", "seccomp"}
    for source in ("lib/net/daemon_calls.c", "src/node/node_calls.c"):
        with open(os.path.join(SOURCE, source), encoding="utf-8") as file:
            wanted.update(re.findall(r"\bCALL(?:_IF)?\((\w+)", file.read()))
    return [f"the service refuses {call}()" for call in sorted(wanted - allowed)]


EXPOSURE_MOST = 35      # tenths; without any setting it is 96


def unit_complaints(root):
    """What systemd does not understand of the service, what the service could not do, and what it could."""
    path = f"{root}/usr/lib/systemd/system/vgpu-node.service"
    hides = unit_hides(root)
    if hides or not shutil.which("systemd-analyze"):
        return hides
    told = run("systemd-analyze", f"--root={root}", "verify", "/usr/lib/systemd/system/vgpu-node.service").stdout
    exposed = run("systemd-analyze", "security", "--no-pager", "--offline=true", f"--threshold={EXPOSURE_MOST}", path)
    return ([line for line in told.splitlines() if "ignoring" in line or "not executable" in line] +
            (exposed.stdout.splitlines()[-1:] if exposed.returncode else []) + unit_refuses(path))


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


def unpacked(pattern, into):
    for path in glob.glob(os.path.join(BUILD, pattern)):
        subprocess.run(["dpkg-deb", "-x", path, into], check=True)


def pages_missing(root):
    """Files that manual pages name below /usr/share, and that no package has; links between pages that lead nowhere."""
    told = []
    for path in glob.glob(os.path.join(SOURCE, "docs/man/*")):
        with open(path, encoding="utf-8") as file:
            named = re.findall(r"/usr/share/[\w./-]*\w", file.read().replace("\\-", "-"))
        told += [f"{os.path.basename(path)}: {name}" for name in named if not os.path.exists(root + name)]
    pages = glob.glob(f"{root}/usr/share/doc/vgpu/**/*.md", recursive=True)
    for path in map(os.path.realpath, pages):   # a page may have a second name
        with open(path, encoding="utf-8") as file:
            # Sources stay in the tree.
            links = re.findall(r"\]\((?!(?:\.\./)*(?:api|tests)/)([\w./-]+)[)#]", file.read())
        told += [f"{os.path.basename(path)}: {link}" for link in links
                 if not os.path.exists(os.path.join(os.path.dirname(path), link))]
    return told + sorted(name for name in glob.glob("docs/**/*.md", root_dir=SOURCE, recursive=True) + glob.glob("sim/docs/*.md", root_dir=SOURCE)
                         if not os.path.exists(f"{root}/usr/share/doc/vgpu/{name}"))


def papers_missing(root):
    """What Debian's policy and its users look for."""
    wanted = ["usr/share/bash-completion/completions/vgpu.bash", "usr/share/zsh/vendor-completions/_vgpu",
              "usr/share/fish/vendor_completions.d/vgpu.fish", "etc/default/vgpu-node",
              "usr/share/doc/vgpu-node/examples/runtime.conf", "usr/share/doc/vgpu-node/examples/daemon.json"]
    told = [path for path in wanted if not os.path.getsize(os.path.join(root, path))]
    for name in ("vgpu", "vgpu-node"):
        with open(f"{root}/usr/share/doc/{name}/copyright", encoding="utf-8") as file:
            if "Apache License" not in file.read():
                told.append(f"{name}: its copyright names no licence")
        with gzip.open(f"{root}/usr/share/doc/{name}/changelog.gz", "rt", encoding="utf-8") as file:
            text = file.read()
        if not re.match(rf"{name} \(\S+\) unstable; urgency=medium\n\n  \* .*\n -- .* <.*>  \w+, .* \+0000\n", text, re.S):
            told.append(f"{name}: {text[:200]}")
    return told


def licences_missing(root):
    """Archives that are linked into programs whose authors' words are not in the package."""
    found = {os.path.basename(os.path.dirname(path)) for path in glob.glob(f"{root}/usr/share/doc/*/third-party/*/copyright")}
    linked = set().union(*licences.archives(BUILD).values())
    return sorted(path for path in linked if licences.package_of(path) not in found) if linked else "nothing is linked"


def image_licences_missing(folder):
    """Libraries of the image that nothing in it says the licence of."""
    paths = [path for path in glob.glob(f"{folder}/lib/**/*.so*", recursive=True)
             if not os.path.getsize(os.path.join(folder, "usr/share/doc", licences.package_of(path[len(folder):]) or "?",
                                                 "copyright"))]
    return paths if glob.glob(f"{folder}/usr/share/doc/libc6/copyright") else ["libc6 has none"]


def files_below(root, but=("/var/lib/dpkg", "/var/log")):
    return {os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names
            if not folder[len(root):].startswith(but)}


def life_of_packages(root):
    """Installed, used, upgraded, removed, purged."""
    for folder in ("var/lib/dpkg/updates", "var/lib/dpkg/info", "etc"):
        os.makedirs(os.path.join(root, folder))
    for name in ("status", "available"):
        open(os.path.join(root, "var/lib/dpkg", name), "w", encoding="ascii").close()
    before = files_below(root)

    def dpkg(*words):
        done = run("dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", "--force-confold",
                   "--log=/dev/null", *words)
        if done.returncode != 0:
            raise ValueError(done.stdout)

    def later(path):
        with tempfile.TemporaryDirectory() as work:
            subprocess.run(["dpkg-deb", "-R", path, f"{work}/tree"], check=True)
            for part, old in (("DEBIAN/control", "Version: "), ("etc/default/vgpu-node", "#OPTIONS")):
                if os.path.exists(f"{work}/tree/{part}"):
                    with open(f"{work}/tree/{part}", "r+", encoding="utf-8") as file:
                        text = file.read().replace(old, f"{old}9." if old == "Version: " else f"# new\n{old}")
                        text = re.sub(r"vgpu \(= ", "vgpu (= 9.", text)
                        file.seek(0)
                        file.write(text)
            subprocess.run(["dpkg-deb", "--root-owner-group", "-b", f"{work}/tree", f"{root}/{os.path.basename(path)}"],
                           check=True, stdout=subprocess.DEVNULL)
        return f"{root}/{os.path.basename(path)}"
    packages = glob.glob(os.path.join(BUILD, "vgpu*.deb"))
    dpkg("--install", *packages)
    used = ("etc/vgpu/runtime.conf", "etc/default/vgpu-node", "var/lib/vgpu/shares/pod/share", "run/vgpu/node.sock",
            "etc/systemd/system/multi-user.target.wants/vgpu-node.service")
    for path in used:
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="ascii") as file:
            file.write("# mine\n")
    newer = [later(path) for path in packages]
    dpkg("--install", *newer)
    for path in newer:
        os.unlink(path)
    told = []
    with open(os.path.join(root, "etc/default/vgpu-node"), encoding="ascii") as file:
        if file.read() != "# mine\n":
            told.append("the upgrade has changed the user's configuration")
    dpkg("--remove", "vgpu-node", "vgpu")
    told += [f"after remove: {path}" for path in files_below(root) if "/usr/" in path]
    told += [f"remove takes {path}" for path in used[:2] if not os.path.exists(os.path.join(root, path))]
    dpkg("--purge", "vgpu-node", "vgpu")
    told += [f"after purge: {path}" for path in files_below(root) - before]
    return told + [f"after purge: {folder}" for folder in ("etc/vgpu", "var/lib/vgpu", "run/vgpu", "usr/share/doc/vgpu")
                   if os.path.exists(os.path.join(root, folder))]


def comes_and_goes(root):
    """`make uninstall` removes what `make install` brought, and only that."""
    run("meson", "install", "-C", BUILD, "--destdir", root, "--no-rebuild", "--quiet")
    files = sorted(files_below(root))
    prefix = os.path.dirname(os.path.dirname(next(path for path in files if path.endswith("/bin/vgpu"))))[len(root):]
    mine = [f"{root}{prefix}/{path}" for path in ("bin/mine", "share/doc/vgpu/mine")]
    for path in mine:
        open(path, "w", encoding="ascii").close()
    done = run(os.path.join(SOURCE, "tools/uninstall"), BUILD, prefix, env={**os.environ, "DESTDIR": root})
    left = sorted(files_below(root))
    empty = [folder for folder, folders, names in os.walk(root) if not folders and not names]
    told = ([] if done.returncode == 0 else [done.stdout]) + [path for path in left if path not in mine] + empty + [
        f"{path} is gone" for path in mine if path not in left]
    run("meson", "install", "-C", BUILD, "--destdir", f"{root}/alone", "--no-rebuild", "--quiet")
    run(os.path.join(SOURCE, "tools/uninstall"), BUILD, prefix, env={**os.environ, "DESTDIR": f"{root}/alone"})
    return told + os.listdir(f"{root}/alone")


def format_tells(folder):
    """Without its tool, and without a way to install it, `make format` says which."""
    for name in ("sh", "dirname", "git", "id", "sed", "grep", "sort", "tail"):
        os.symlink(shutil.which(name), os.path.join(folder, name))
    done = run(os.path.join(SOURCE, "tools/format"), env={"PATH": folder}, cwd=SOURCE)
    return "" if done.returncode == 1 and "there is no clang-format" in done.stdout else f"{done.returncode}: {done.stdout}"


def with_folder(check, *words):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        return check(*words, folder)


def main():
    tap = Tap()
    tap.check("the image is the same every time", made_twice("image", "vgpu-image.tar"))
    has_dpkg = bool(shutil.which("dpkg-deb"))
    if has_dpkg:
        tap.check("the packages are the same every time", made_twice("deb", "vgpu*.deb"))
        components.check(tap, BUILD)
    tap.check("programs do not say in which folder they were built", paths_inside())
    if IS_ROOT:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            tap.check("everything in the image starts, as nobody, with what is in it", image_starts(folder))
            if has_dpkg:
                tap.check("the image has the licence of every library in it", image_licences_missing(folder))
    if IS_ROOT and has_dpkg:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            tap.check("installed packages work, and go without a trace", packages_work(folder))
        tap.check("an upgrade keeps what the user wrote, a purge keeps nothing", with_folder(life_of_packages))
    if has_dpkg:
        with tempfile.TemporaryDirectory() as folder:
            unpacked("vgpu*.deb", folder)
            tap.check("the packages have the pages that manual pages name, with their links", pages_missing(folder))
            tap.check("and copyright, changelog, completion and examples", papers_missing(folder))
            tap.check("and the licences of what is linked into programs", licences_missing(folder))
    tap.check("make uninstall removes what make install brought, and nothing else", with_folder(comes_and_goes))
    tap.check("make format says which tool it needs", with_folder(format_tells))
    tap.done()


if __name__ == "__main__":
    main()
