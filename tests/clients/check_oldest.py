# SPDX-License-Identifier: Apache-2.0
"""check_oldest: libvgpu.so, as it was built here, in a root file system with an old C library.

The simulated driver is built again for that C library, from the same sources, as the real driver would
be there in a form that loads.
"""

import os
import shutil
import subprocess

from harness import CACHE, MIB, TOP, Failed, check

ROOT = os.path.join(CACHE, "bullseye")
LIBRARIES = [os.path.join(ROOT, folder, "x86_64-linux-gnu") for folder in ("usr/lib", "lib")]
TARGETS = ("sim/cuda/libcuda.so.1", "sim/nvml/libnvidia-ml.so.1", "tests/attack/probe",
           "tests/preload/libordered_plugin.so", "tests/preload/ordered-pie-lazy",
           "tests/preload/ordered-pie-now", "tests/preload/ordered-fixed-lazy",
           "tests/preload/ordered-fixed-now")
INSIDE = """
set -e
for mounted in opt mnt proc dev etc; do mkdir -p "$1/$mounted"; done
: >"$1/etc/ld.so.preload"
mount --bind "$2" "$1/opt"
mount --bind "$3" "$1/mnt"
mount --bind "$3/preload" "$1/etc/ld.so.preload"
mount --rbind /proc "$1/proc"
mount --rbind /dev "$1/dev"
root=$1
shift 3
exec env -i LD_LIBRARY_PATH=/opt VGPU_SIM=/mnt/machine VGPU_REGION=/mnt/region VGPU_MEMORY_LIMIT=100m VGPU_LOG=warn \\
    /usr/sbin/chroot "$root" "$@"
"""


def links_stay_inside():
    """Packages link to /lib…, which from outside is this machine's."""
    for folder, folders, files in os.walk(ROOT):
        for name in folders + files:
            path = os.path.join(folder, name)
            if os.path.islink(path) and os.readlink(path).startswith("/"):
                target = ROOT + os.readlink(path)
                os.remove(path)
                os.symlink(os.path.relpath(target, folder), path)


def built(clients):
    """The folder with the driver and the probe for the old C library, and our own library."""
    folder, mounted = os.path.join(clients.work, "oldest"), os.path.join(clients.work, "oldest-opt")
    if os.path.exists(mounted):
        return mounted
    links_stay_inside()
    compiler = " ".join(["gcc", f"--sysroot={ROOT}", f"-B{LIBRARIES[0]}",
                         *(f"-L{path}" for path in LIBRARIES)])
    for command in (["meson", "setup", "-Doptimization=1", "-Dwerror=false", folder, TOP],
                    ["ninja", "-C", folder, *TARGETS]):
        done = subprocess.run(command, env={**os.environ, "CC": compiler}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise Failed(f"{' '.join(command)}\n{done.stdout[-3000:]}")
    os.mkdir(mounted)
    for target in TARGETS:
        shutil.copy(os.path.join(folder, target), mounted)
    shutil.copy(os.path.join(clients.build, "lib", "libvgpu.so"), mounted)
    shutil.copy(os.path.join(TOP, "tests", "cli", "guest.py"), mounted)
    return mounted


def run_inside(clients, *command, stdin):
    """Runs a command in the old root, as root there, with the library in its /etc/ld.so.preload."""
    opt, state = built(clients), os.path.join(clients.work, "oldest-state")
    shutil.rmtree(state, ignore_errors=True)
    os.mkdir(state)
    clients.create("oldest-state/machine", "t4-16gb", 1, "--context-memory", "0")
    with open(os.path.join(state, "preload"), "w", encoding="utf-8") as file:
        file.write("/opt/libvgpu.so\n")
    namespace = ["unshare", "--mount", "--propagation", "private"]
    if os.getuid():
        namespace += ["--map-root-user"]
    return clients.run(*namespace, "sh", "-c", INSIDE, "sh", ROOT, opt, state, *command, stdin=stdin)


@check("libvgpu.so limits a program in a root file system with glibc 2.31")
def old_program(clients):
    run_inside(clients, "/lib/x86_64-linux-gnu/libc.so.6", stdin="").expect(r"GLIBC 2\.31")
    run_inside(clients, "/opt/probe", stdin="info\nalloc 102\nalloc 100\nalloc 2\ninfo\n").expect(
        r"\A0\n100 100\n2\n0\n2\n0 100\n\Z")


@check("libvgpu.so limits a linked program there, whatever is preloaded before it")
def old_order(clients):
    for first in ("libcuda.so.1", "libnvidia-ml.so.1:libcuda.so.1", "libc.so.6", "libdl.so.2:libcuda.so.1"):
        for program in TARGETS[-4:]:
            run_inside(clients, "/lib64/ld-linux-x86-64.so.2", "--preload", first,
                       f"/opt/{os.path.basename(program)}", "/opt/libordered_plugin.so",
                       stdin="").expect(r"\A\n\Z")


@check("libvgpu.so limits that system's own Python, which looks the driver up")
def old_python(clients):
    run_inside(clients, "/usr/bin/python3.9", "/opt/guest.py",
               stdin=f"alloc {102 * MIB}\nalloc {100 * MIB}\ninfo\n").expect(
        rf"^ready 0\n2\n0\n0 {100 * MIB}\n\Z")
