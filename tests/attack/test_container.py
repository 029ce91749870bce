#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tenant who is root in its container cannot raise its limit: test_container.py VGPU BURN SOURCE_ROOT.

The container is a real one: mount and pid namespaces, a root of its own, the capabilities that container
runtimes give. What cannot be prevented from inside is in docs/concepts/security-model.md.
"""

import os
import subprocess
import sys
import tempfile
import time

from box import LIMIT_MIB, NOT_PERMITTED, OUT_OF_MEMORY, BoxCase, namespaces
from cli_case import main, wait_until


# mount(8) says "not a directory" of a file that it was not permitted to mount over.
REASONS = ("permission denied", "not permitted", "must be superuser", "not a directory")
MOUNTED = ("/etc/ld.so.preload", "/etc/vgpu/share", "/opt/vgpu/libvgpu.so")


class Container(BoxCase):
    def holds(self, box, line="/opt/probe"):
        """A program that is started so can have the limit, and not a granule more."""
        probe = box.probe(line)
        self.assertEqual(probe.started, "0", probe.said())
        self.assertEqual(probe.ask("info").split()[1], str(LIMIT_MIB))
        self.assertEqual(probe.alloc(LIMIT_MIB + 2), OUT_OF_MEMORY)
        self.assertEqual(probe.alloc(LIMIT_MIB), "0")
        self.assertEqual(probe.alloc(2), OUT_OF_MEMORY)
        self.assertEqual(box.gpu_mib(), LIMIT_MIB)
        probe.close()
        self.assertTrue(wait_until(lambda: box.gpu_mib() == 0))
        time.sleep(0.05)        # for as long the dead may count

    def refused(self, box, line, *reasons):
        """The tenant's attempt fails for one of the reasons, and the limit is as it was."""
        answer = box.ask(line)
        self.assertFalse(answer.endswith("status=0"), answer)
        self.assertTrue(any(reason in answer for reason in reasons), answer)

    def test_the_limit_holds(self):
        box = self.box()
        self.assertIn("uid=0", box.ask("id"))
        self.holds(box)

    def test_its_environment(self):
        box = self.box()
        raised = " ".join(f"{name}=9g" for name in (
            "VGPU_MEMORY_LIMIT", "VGPU_MEMORY_LIMIT_0", "CUDA_MEM_LIMIT", "CUDA_MEM_LIMIT_0",
            "CUDA_DEVICE_MEMORY_LIMIT", "CUDA_DEVICE_MEMORY_LIMIT_0"))
        self.holds(box, f"{raised} VGPU_CONTEXT_MEMORY=exempt CUDA_OVERSUBSCRIBE=true /opt/probe")

    def test_a_share_of_its_own_making(self):
        box = self.box()
        box.ask("cp /etc/vgpu/share /tmp/share")
        self.holds(box, "VGPU_SHARE=/tmp/share VGPU_SHARE_PATH=/tmp/share /opt/probe")
        self.holds(box, "VGPU_SHARE= /opt/probe")

    def test_eight_cache_paths_are_one_region(self):
        box = self.box()
        probes = [box.probe(f"CUDA_DEVICE_MEMORY_SHARED_CACHE=/tmp/{i}.cache VGPU_REGION=/tmp/{i} /opt/probe")
                  for i in range(8)]
        answers = [probe.alloc(20) for probe in probes]
        self.assertEqual((answers.count("0"), answers.count(OUT_OF_MEMORY)), (5, 3))
        self.assertEqual(box.gpu_mib(), LIMIT_MIB)

    def test_other_preloads(self):
        box = self.box()
        self.holds(box, "LD_PRELOAD=libm.so.6 /opt/probe")
        self.holds(box, "LD_PRELOAD=libm.so.6:/opt/vgpu/libvgpu.so /opt/probe")
        self.holds(box, "LD_PRELOAD=/opt/vgpu/libvgpu.so:libm.so.6 /opt/probe")
        self.holds(box, "LD_PRELOAD= /opt/probe")
        for first in ("libcuda.so.1", "/opt/driver/libcuda.so.1", "libnvidia-ml.so.1:libcuda.so.1", "libc.so.6"):
            self.holds(box, f"LD_PRELOAD={first} /opt/probe")
        self.holds(box, "/lib64/ld-linux-x86-64.so.2 --preload libcuda.so.1 /opt/probe")

    def test_loaders_of_its_own(self):
        box = self.box()
        box.ask("cp /lib64/ld-linux-*.so.* /tmp/loader; cp /opt/probe /tmp/probe")
        for line in ("/tmp/loader /tmp/probe", "/tmp/loader --library-path /opt/driver /opt/probe",
                     "/tmp/loader --argv0 /opt/probe /tmp/probe",
                     "LD_BIND_NOW=1 /tmp/probe", "LD_BIND_NOT=1 /tmp/probe", "GLIBC_TUNABLES=glibc.rtld.nns=1 /tmp/probe"):
            self.holds(box, line)

    def test_a_program_that_has_no_file(self):
        box = self.box()
        line = ("import os; f = os.memfd_create(\"p\", 0); os.write(f, open(\"/opt/probe\", \"rb\").read()); "
                "os.execve(f, [\"probe\"], os.environ)")
        self.holds(box, f"/usr/bin/python3 -c '{line}'")

    def test_namespaces_of_its_own(self):
        """Most container runtimes refuse them; where not, who sees other pids or times gets no GPU beside others."""
        ways = {"--user --map-root-user": True, "--user --map-root-user --mount --ipc --uts": True,
                "--user --map-root-user --pid --fork": False, "--user --map-root-user --pid --fork --mount-proc": False,
                "--user --map-root-user --time --boottime 100000 --monotonic 100000": False}
        for way, is_same in ways.items():
            box = self.box()
            if not box.ask(f"unshare {way} true").endswith("status=0"):
                continue
            first = box.probe()
            self.assertEqual((first.started, first.alloc(60)), ("0", "0"))
            probe = box.probe(f"unshare {way} /opt/probe")
            self.assertEqual(probe.started == "0", is_same, probe.said())
            if is_same:
                self.assertEqual(probe.alloc(60), OUT_OF_MEMORY)
            else:
                self.assertIn("in use in other pid or time namespaces", probe.said())
            self.assertEqual(first.alloc(40), "0", first.said())
            self.assertEqual(box.gpu_mib(), LIMIT_MIB)

    def test_a_container_that_is_started_again(self):
        """Its processes are in another pid namespace, and those of before are gone."""
        box = self.box()
        way = "unshare --user --map-root-user --pid --fork --mount-proc"
        if not box.ask(f"{way} true").endswith("status=0"):
            return
        for line in ("/opt/probe", f"{way} /opt/probe", f"{way} /opt/probe"):
            probe = box.probe(line)
            self.assertEqual(probe.started, "0", probe.said())
            self.assertTrue(wait_until(lambda: probe.alloc(LIMIT_MIB) == "0"), probe.said())    # for as long the dead may count
            probe.close()
            self.assertTrue(wait_until(lambda: box.gpu_mib() == 0))
            time.sleep(0.5)     # the driver lists it for a moment, and the next must not be taken for it

    def test_a_process_that_may_have_little(self):
        """It is refused, or held: never a signal, and never without a limit."""
        box = self.box()
        first = box.probe()
        self.assertEqual(first.started, "0")
        for limit in ("-f 1", "-n 5", "-n 8", "-s 64", "-l 0", "-c 0", "-u 1", "-i 0"):
            probe = box.probe(f"sh -c 'ulimit {limit} || exit 0; /opt/probe || echo ended $?'")
            if probe.started == "0":
                self.assertEqual(probe.alloc(LIMIT_MIB + 2), OUT_OF_MEMORY)
            else:
                self.assertNotRegex(probe.started, r"ended 1[2-9]\d", limit)
        self.assertEqual(first.alloc(LIMIT_MIB), "0")

    def test_a_region_that_may_not_be_made(self):
        """`ulimit -f` before there is a region: a sentence, and no SIGXFSZ."""
        box = self.box()
        probe = box.probe("sh -c 'ulimit -f 1; exec /opt/probe'")
        self.assertNotIn(probe.started, ("0", ""))
        self.assertIn("File too large", probe.said())
        self.holds(box)
        self.holds(box, "sh -c 'ulimit -f 1; exec /opt/probe'")

    def test_a_region_that_is_made_longer_or_shorter(self):
        for size in ("1G", "4096"):
            box = self.box()
            probe = box.probe()
            self.assertEqual((probe.started, probe.alloc(20)), ("0", "0"))
            box.ask(f"truncate -s {size} /etc/vgpu/region")
            later = box.probe()
            self.assertNotIn(later.started, ("0", ""))
            self.assertIn("is not a region file", later.said())
            self.assertLessEqual(box.gpu_mib(), LIMIT_MIB)

    def test_a_lease_on_what_the_node_gave(self):
        """Whoever opens the file meanwhile does not wait; the lease is the container's own trouble."""
        box = self.box()
        holder = ("import fcntl, os, signal, time; signal.signal(signal.SIGIO, signal.SIG_IGN); "
                  "f = os.open(\"/etc/vgpu/region\", os.O_RDWR); fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK); "
                  "open(\"/tmp/held\", \"w\"); time.sleep(20)")
        box.ask(f"/usr/bin/python3 -c '{holder}' >/dev/null 2>&1 & while ! test -e /tmp/held; do sleep 0.1; done")
        began = time.monotonic()
        probe = box.probe()
        self.assertLess(time.monotonic() - began, 10)
        self.assertNotEqual(probe.started, "")
        if probe.started != "0":
            self.assertIn("Resource temporarily unavailable", probe.said())

    def test_a_child_without_a_preload_or_an_environment(self):
        box = self.box()
        self.holds(box, "sh -c 'unset LD_PRELOAD; /opt/probe'")
        self.holds(box, "env -i VGPU_SIM=/dev/gpu sh -c /opt/probe")
        self.holds(box, "setsid env -i VGPU_SIM=/dev/gpu /opt/probe")

    def test_another_user_inside(self):
        box = self.box()
        if os.getuid() == 0:    # otherwise there is one user inside
            self.holds(box, "setpriv --reuid=1000 --clear-groups /opt/probe")

    def test_mounts_over_what_the_node_gave(self):
        box = self.box()
        for path in MOUNTED:
            self.refused(box, f"mount --bind /dev/null {path}", *REASONS)
            self.refused(box, f"umount {path}", *REASONS)
            self.refused(box, f"mount -o remount,bind,rw {path}", *REASONS)
        self.refused(box, "mount -t tmpfs none /etc", *REASONS)
        self.holds(box)

    def test_files_that_the_node_gave(self):
        box = self.box()
        for path in MOUNTED:
            for line in (f"sh -c ': >{path}'", f"truncate -s 0 {path}",
                         f"dd if=/dev/zero of={path} bs=8 count=1 conv=notrunc"):
                self.refused(box, line, "Read-only file system", "Permission denied")
            self.refused(box, f"rm -f {path}", "busy", "Read-only file system")
            self.refused(box, f"mv -T {path} /tmp/away", "busy", "Read-only file system")
            self.refused(box, f"ln -sf /dev/null {path}", "busy", "Read-only file system",
                         "File exists")
        for folder in ("/etc", "/etc/vgpu"):
            self.refused(box, f"mv -T {folder} {folder}.away", "busy")
        self.refused(box, "rm -rf /etc/vgpu", "busy", "Read-only file system")
        self.holds(box)

    def test_a_region_cannot_be_taken_away(self):
        box = self.box()
        self.refused(box, "rm -f /etc/vgpu/region", "busy", "Read-only file system")
        self.refused(box, "mv -T /etc/vgpu/region /tmp/away", "busy", "Read-only file system")
        self.refused(box, "umount /etc/vgpu/region", *REASONS)
        self.holds(box)

    def noticed(self, box, probe):
        """Within a second (on a host that has no time for it, some more) there is no more memory."""
        time.sleep(1)
        self.assertTrue(wait_until(lambda: probe.alloc(2) == OUT_OF_MEMORY
                                   and "no more memory" in probe.said()))
        self.assertLessEqual(box.gpu_mib(), LIMIT_MIB)

    def test_a_region_that_is_written_by_hand(self):
        box = self.box()
        probe = box.probe()
        self.assertEqual((probe.started, probe.alloc(60)), ("0", "0"))
        box.ask("dd if=/dev/zero of=/etc/vgpu/region bs=4096 seek=0 count=16 conv=notrunc")
        self.noticed(box, probe)
        later = box.probe()
        self.assertEqual(later.started, NOT_PERMITTED)
        self.assertIn("is not a region file", later.said())

    def test_a_region_in_a_folder_that_is_deleted(self):
        box = self.box(region="/run/vgpu/region")
        probe = box.probe()
        self.assertEqual((probe.started, probe.alloc(60)), ("0", "0"))
        box.ask("rm /run/vgpu/region")
        self.noticed(box, probe)

    def goes_on(self, box, probe):
        """For longer than a region is between two checks, it and another have what is theirs."""
        for _ in range(4):
            time.sleep(0.4)
            self.assertEqual(probe.alloc(2), "0", probe.said())
        other = box.probe()
        self.assertEqual((other.started, other.alloc(20), other.alloc(100)), ("0", "0", OUT_OF_MEMORY))
        self.assertNotIn("no more memory", probe.said() + other.said())

    def test_a_program_that_takes_another_root(self):
        box = self.box()
        probe = box.probe()
        self.assertEqual((probe.started, probe.alloc(20), probe.ask("root /tmp")), ("0", "0", "0"))
        self.goes_on(box, probe)

    def test_a_program_that_takes_other_mounts(self):
        box = self.box()
        probe = box.probe()
        self.assertEqual((probe.started, probe.alloc(20)), ("0", "0"))
        probe.ask("mounts")     # a container without user namespaces cannot
        self.goes_on(box, probe)

    def test_without_a_share_that_can_be_read_there_is_no_gpu(self):
        box = self.box(share=False)
        box.ask("mkdir /etc/vgpu; echo nonsense >/etc/vgpu/share")
        probe = box.probe()
        self.assertNotEqual(probe.started, "0")
        self.assertIn("the program gets no GPU", probe.said())


OVERLAY = """mount -t tmpfs none "$1" && cd "$1" && mkdir lower upper work folder &&
mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none folder || exit 77
shift; TMPDIR=$PWD/folder exec "$@" """


class OnOverlay(BoxCase):
    """A container's own root file system is one: its mappings do not keep the lock of a file."""

    def test_a_region_that_is_in_use_stays_locked(self):
        with tempfile.TemporaryDirectory(prefix="vgpu-overlay-") as folder:
            cases = ("Container.test_a_region_that_is_written_by_hand", "Container.test_namespaces_of_its_own")
            done = subprocess.run([*namespaces(), "sh", "-c", OVERLAY, "sh", folder, sys.executable, __file__,
                                   *sys.argv[1:4], *cases], capture_output=True, text=True, check=False)
        if done.returncode == 77:
            self.skipTest("no overlay can be mounted here")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    main("__main__")
