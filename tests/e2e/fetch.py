# SPDX-License-Identifier: Apache-2.0
"""fetch: fills the cache with the programs of the cluster; what is there already is left alone.

Debian packages are unpacked, never installed, from the mirror that this machine itself uses; apt gets
lists and folders of its own. Everything else is compiled by Go from the modules beside this file.
"""

import contextlib
import fcntl
import glob
import json
import os
import re
import shutil
import subprocess
import time

import yaml

from paths import CACHE, DEBIAN, HELM, HERE, KUBERNETES, PACKAGES, SMI, TOP, VOLCANO, Trouble, cached

GO_PACKAGES = (
    ("trixie-backports", "golang-1.26-go"),
    ("trixie-backports", "golang-1.26-src"),
)
GO_NEEDED = (1, 26)


@contextlib.contextmanager
def step(what):
    """A line of progress with the time the step took."""
    print(f"e2e: {what} ...", flush=True)
    started = time.monotonic()
    yield
    print(f"e2e: {what}: {time.monotonic() - started:.0f} s", flush=True)


@contextlib.contextmanager
def locked():
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, "lock"), "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"e2e: another run is filling {CACHE}; waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def command(*words, cwd=None, log=None, **variables):
    """Runs a command; its words stay in the log, and the end of them are the trouble if it fails."""
    done = subprocess.run(words, cwd=cwd, env={**os.environ, **variables}, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if log:
        with open(os.path.join(CACHE, log), "a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(words)}\n{done.stdout}")
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise Trouble(f"this failed: {' '.join(words)}\n{tail}")
    return done.stdout


def mirror():
    """The Debian mirror of this machine's own apt."""
    with open("/etc/os-release", encoding="utf-8") as file:
        codename = re.search(r"^VERSION_CODENAME=(\w+)", file.read(), re.M)
    targets = command("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
                      "Created-By: Packages")
    for line in targets.splitlines():
        uri, release, component = line.split()
        if codename and release == codename.group(1) and component == "main":
            return uri
    raise Trouble("this machine's apt has no Debian mirror to take packages from")


def apt_config(suites):
    apt = os.path.join(CACHE, "apt")
    for folder in ("lists/partial", "archives/partial"):
        os.makedirs(os.path.join(apt, folder), exist_ok=True)
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    signed = f"[signed-by={keyring}] " if os.path.exists(keyring) else ""
    uri = mirror()
    with open(os.path.join(apt, "sources.list"), "w", encoding="utf-8") as file:
        file.writelines(f"deb {signed}{uri} {suite} main\n" for suite in suites)
    options = {"Dir::Etc::sourcelist": f"{apt}/sources.list", "Dir::Etc::sourceparts": "-",
               "Dir::State": apt, "Dir::State::status": "/dev/null", "Dir::Cache": apt,
               "Acquire::Languages": "none", "Acquire::Retries": "3", "APT::Sandbox::User": "root"}
    path = os.path.join(apt, "apt.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f'{key} "{value}";\n' for key, value in options.items())
    return path


@contextlib.contextmanager
def filling(folder):
    """A folder that appears in the cache when the block has filled it, and not before."""
    partial = os.path.join(CACHE, "partial")
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(partial)
    yield partial
    os.rename(partial, folder)


def debian_fetch(packages, into):
    """Unpacks packages into a folder of the cache."""
    if os.path.isdir(into):
        return
    with step("Debian packages " + ", ".join(name for _, name in packages)), filling(into) as partial:
        config = apt_config(dict.fromkeys(suite for suite, _ in packages))
        archives = os.path.join(partial, "archives")
        os.makedirs(archives)
        command("apt-get", "-qq", "update", log="apt.log", APT_CONFIG=config)
        command("apt-get", "-qq", "download", *(f"{name}/{suite}" for suite, name in packages),
                cwd=archives, log="apt.log", APT_CONFIG=config)
        for name in sorted(os.listdir(archives)):
            command("dpkg", "-x", os.path.join(archives, name), partial)
        shutil.rmtree(archives)


def go_find():
    """The Go compiler: the machine's own if it is new enough, else Debian's, unpacked."""
    own = shutil.which("go")
    if own:
        version = re.search(r"go(\d+)\.(\d+)", command(own, "version"))
        if version and tuple(map(int, version.groups())) >= GO_NEEDED:
            return own
    root = cached("go", repr(GO_PACKAGES).encode())
    debian_fetch(GO_PACKAGES, root)
    return os.path.join(root, "usr/lib/go-1.26/bin/go")


def linker_flags(text):
    """Clients parse the version that a server says it is: that of the module's Kubernetes, if it has one."""
    version = re.search(r"k8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)", text)
    if not version:
        return "-s -w"
    major, minor, patch = version.groups()
    name = "k8s.io/component-base/version.git"
    return f"-s -w -X {name}Version=v{major}.{minor}.{patch} -X {name}Major={major} -X {name}Minor={minor}"


def go_build(go, into, manifest=None, make_manifest=None):
    """Builds the tools of a module, and the list of objects that belong to them, if any, into the cache."""
    if os.path.isdir(into):
        return
    module = os.path.basename(into).partition("-")[0]
    folder = os.path.join(HERE, module)
    with open(os.path.join(folder, "go.mod"), encoding="utf-8") as file:
        text = file.read()
    tools = [os.path.basename(path) for path in re.findall(r"^(?:tool )?\s*(\S+/cmd/\S+)$", text, re.M)]

    def run(*words):
        return command("nice", "-n", "5", go, *words, cwd=folder, log="go.log", GOTOOLCHAIN="local",
                       CGO_ENABLED="0", GOFLAGS="-mod=readonly -trimpath -buildvcs=false")
    with step(f"module {module}: download"):
        run("mod", "download")
    with step(f"module {module}: compile {', '.join(tools)}"), filling(into) as partial:
        run("build", "-o", partial + "/", "-ldflags", linker_flags(text), "tool")
        for name, own in (("scheduler", module), ("controller-manager", f"{module}-controllers")):
            if name in tools:           # there are several in this cluster
                os.rename(os.path.join(partial, name), os.path.join(partial, own))
        if manifest:
            with open(os.path.join(partial, manifest), "w", encoding="utf-8") as file:
                json.dump(make_manifest(run, partial), file)


def documents(text):
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [document for document in yaml.load_all(text, loader) if document]


def kueue_objects(go, partial):
    """Kueue's own installation, without what runs it: the harness does."""
    source = go("list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue").strip()
    rendered = command(os.path.join(partial, "kubectl"), "kustomize", os.path.join(source, "config/default"))
    return [entry for entry in documents(rendered) if entry["kind"] not in ("Deployment", "APIService")]


def volcano_objects(go, _partial):
    """The kinds of objects that Volcano's scheduler reads."""
    source = go("list", "-m", "-f", "{{.Dir}}", "volcano.sh/volcano").strip()
    found = []
    for path in sorted(glob.glob(os.path.join(source, "config/crd/volcano/bases", "*.yaml"))):
        with open(path, encoding="utf-8") as file:
            found += documents(file.read())
    return found


def fetch():
    """Everything that the cluster is made of."""
    with locked():
        debian_fetch(PACKAGES, DEBIAN)
        if not os.path.exists(SMI):
            command(os.path.join(TOP, "tests", "clients", "fetch"), "nvidia-smi")
        if all(map(os.path.isdir, (KUBERNETES, VOLCANO, HELM))):
            return
        go = go_find()
        go_build(go, KUBERNETES, "kueue.json", kueue_objects)
        go_build(go, VOLCANO, "volcano.json", volcano_objects)
        go_build(go, HELM)
