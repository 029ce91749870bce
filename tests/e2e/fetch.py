"""fetch: fills the cache with the programs of the cluster; what is there already is left alone.

Debian packages are unpacked, never installed, from the mirror that this machine itself uses; apt gets
lists and folders of its own. Everything else is compiled by Go from the modules beside this file.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import time

import yaml

from places import BIN, CACHE, DEBIAN, HERE, Trouble

# containerd and etcd of bookworm are too old; runc of trixie wants a newer C library.
PACKAGES = (
    ("bookworm", "runc"),
    ("bookworm", "busybox-static"),
    ("bookworm", "containernetworking-plugins"),
    ("trixie", "containerd"),
    ("trixie", "etcd-server"),
)
GO_PACKAGES = (
    ("trixie-backports", "golang-1.26-go"),
    ("trixie-backports", "golang-1.26-src"),
)
GO_NEEDED = (1, 26)
MODULES = ("kubernetes", "volcano")


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
    codename = re.search(r"^VERSION_CODENAME=(\w+)", open("/etc/os-release", encoding="utf-8").read(), re.M)
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


def has_stamp(folder, name, key):
    """Whether a folder already holds what was last put there under this name and key."""
    try:
        with open(os.path.join(folder, f".{name}"), encoding="utf-8") as file:
            return file.read() == key
    except FileNotFoundError:
        return False


def stamp(folder, name, key):
    with open(os.path.join(folder, f".{name}"), "w", encoding="utf-8") as file:
        file.write(key)


def debian_fetch(packages, into):
    """Unpacks packages below a folder, all of them or none."""
    if has_stamp(into, "packages", repr(packages)):
        return
    with step("Debian packages " + ", ".join(name for _, name in packages)):
        config = apt_config(dict.fromkeys(suite for suite, _ in packages))
        partial = os.path.join(CACHE, "partial")
        shutil.rmtree(partial, ignore_errors=True)
        os.makedirs(partial)
        command("apt-get", "-qq", "update", log="apt.log", APT_CONFIG=config)
        command("apt-get", "-qq", "download", *(f"{name}/{suite}" for suite, name in packages),
                cwd=partial, log="apt.log", APT_CONFIG=config)
        for name in sorted(os.listdir(partial)):
            command("dpkg", "-x", os.path.join(partial, name), into)
        shutil.rmtree(partial)
        stamp(into, "packages", repr(packages))


def go_find():
    """The Go compiler: the machine's own if it is new enough, else Debian's, unpacked."""
    own = shutil.which("go")
    if own:
        version = re.search(r"go(\d+)\.(\d+)", command(own, "version"))
        if version and tuple(map(int, version.groups())) >= GO_NEEDED:
            return own
    root = os.path.join(CACHE, "go")
    debian_fetch(GO_PACKAGES, root)
    return os.path.join(root, "usr/lib/go-1.26/bin/go")


def linker_flags(text):
    """Clients parse the version that a server says it is: that of the module's Kubernetes."""
    major, minor, patch = re.search(r"k8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)", text).groups()
    name = "k8s.io/component-base/version.git"
    return f"-s -w -X {name}Version=v{major}.{minor}.{patch} -X {name}Major={major} -X {name}Minor={minor}"


def go_build(go, module):
    """Builds the tools of one module into the cache, unless they are there."""
    folder = os.path.join(HERE, module)
    contents = b"".join(open(os.path.join(folder, name), "rb").read() for name in ("go.mod", "go.sum"))
    key = hashlib.sha256(contents + command(go, "version").encode()).hexdigest()
    if has_stamp(BIN, module, key):
        return
    text = contents.decode()
    tools = re.findall(r"^(?:tool )?\s*(\S+/cmd/\S+)$", text, re.M)
    variables = {"GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false"}
    partial = os.path.join(CACHE, "partial")
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(partial)
    with step(f"module {module}: download"):
        command(go, "mod", "download", cwd=folder, log="go.log", **variables)
    with step(f"module {module}: compile {', '.join(map(os.path.basename, tools))}"):
        command("nice", "-n", "5", go, "build", "-o", partial + "/", "-ldflags", linker_flags(text), "tool",
                cwd=folder, log="go.log", **variables)
    os.makedirs(BIN, exist_ok=True)
    for tool in map(os.path.basename, tools):
        name = module if tool == "scheduler" else tool
        os.replace(os.path.join(partial, tool), os.path.join(BIN, name))
    for name, function in MANIFESTS.get(module, {}).items():
        with open(os.path.join(CACHE, name), "w", encoding="utf-8") as file:
            json.dump(function(go, folder, variables), file)
    stamp(BIN, module, key)


def module_folder(go, folder, variables, path):
    return command(go, "list", "-m", "-f", "{{.Dir}}", path, cwd=folder, **variables).strip()


def documents(text):
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [document for document in yaml.load_all(text, loader) if document]


def kueue_objects(go, folder, variables):
    """Kueue's own installation, without what runs it: the harness does."""
    source = module_folder(go, folder, variables, "sigs.k8s.io/kueue")
    rendered = command(os.path.join(BIN, "kubectl"), "kustomize", os.path.join(source, "config/default"))
    return [entry for entry in documents(rendered) if entry["kind"] not in ("Deployment", "APIService")]


def volcano_objects(go, folder, variables):
    source = module_folder(go, folder, variables, "volcano.sh/volcano")
    bases = os.path.join(source, "config/crd/volcano/bases")
    return [entry for name in sorted(os.listdir(bases))
            for entry in documents(open(os.path.join(bases, name), encoding="utf-8").read())]


MANIFESTS = {
    "kubernetes": {"kueue.json": kueue_objects},
    "volcano": {"volcano.json": volcano_objects},
}


def fetch():
    """Everything that the cluster is made of."""
    with locked():
        debian_fetch(PACKAGES, DEBIAN)
        go = go_find()
        for module in MODULES:
            go_build(go, module)
