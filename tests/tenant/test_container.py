#!/usr/bin/env python3
"""A tenant who is root in its container cannot raise its limit: test_container.py VGPU BURN SOURCE_ROOT.

The container is a real one: mount and pid namespaces, a root of its own, the capabilities that container
runtimes give. What cannot be prevented from inside is in docs/memory.md.
"""

from box import LIMIT_MIB, OUT_OF_MEMORY, BoxCase
from cli_case import main


GIVEN = ("/etc/ld.so.preload", "/etc/vgpu/share", "/opt/vgpu/libvgpu.so")


class Container(BoxCase):
    def holds(self, box, line="/opt/probe"):
        """A program that is started so can have the limit, and not a granule more."""
        probe = box.probe(line)
        self.assertEqual(probe.started, "0", probe.said())
        self.assertEqual(probe.ask("info").split()[1], str(LIMIT_MIB))
        self.assertEqual(probe.alloc(LIMIT_MIB + 2), OUT_OF_MEMORY)
        self.assertEqual(probe.alloc(LIMIT_MIB), "0")
        self.assertEqual(probe.alloc(2), OUT_OF_MEMORY)
        self.assertEqual(box.card_mib(), LIMIT_MIB)
        probe.close()

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

    def test_eight_cache_paths_are_one_account(self):
        box = self.box()
        probes = [box.probe(f"CUDA_DEVICE_MEMORY_SHARED_CACHE=/tmp/{i}.cache VGPU_REGION=/tmp/{i} /opt/probe")
                  for i in range(8)]
        answers = [probe.alloc(20) for probe in probes]
        self.assertEqual((answers.count("0"), answers.count(OUT_OF_MEMORY)), (5, 3))
        self.assertEqual(box.card_mib(), LIMIT_MIB)

    def test_other_preloads(self):
        box = self.box()
        self.holds(box, "LD_PRELOAD=libm.so.6 /opt/probe")
        self.holds(box, "LD_PRELOAD=libm.so.6:/opt/vgpu/libvgpu.so /opt/probe")
        self.holds(box, "LD_PRELOAD=/opt/vgpu/libvgpu.so:libm.so.6 /opt/probe")
        self.holds(box, "LD_PRELOAD= /opt/probe")

    def test_a_child_without_a_preload_or_an_environment(self):
        box = self.box()
        self.holds(box, "sh -c 'unset LD_PRELOAD; /opt/probe'")
        self.holds(box, "env -i VGPU_SIM=/dev/gpu sh -c /opt/probe")
        self.holds(box, "setsid env -i VGPU_SIM=/dev/gpu /opt/probe")

    def test_another_user_inside(self):
        box = self.box()
        self.holds(box, "setpriv --reuid=1000 --clear-groups /opt/probe")

    def test_mounts_over_what_the_node_gave(self):
        box = self.box()
        # mount(8) says "not a directory" of a file that it was not permitted to mount over.
        reasons = ("permission denied", "not permitted", "must be superuser", "not a directory")
        for place in GIVEN:
            self.refused(box, f"mount --bind /dev/null {place}", *reasons)
            self.refused(box, f"umount {place}", *reasons)
            self.refused(box, f"mount -o remount,bind,rw {place}", *reasons)
        self.refused(box, "mount -t tmpfs none /etc", *reasons)
        self.holds(box)

    def test_files_that_the_node_gave(self):
        box = self.box()
        for place in GIVEN:
            self.refused(box, f"sh -c ': >{place}'", "Read-only file system")
            self.refused(box, f"truncate -s 0 {place}", "Read-only file system")
            self.refused(box, f"dd if=/dev/zero of={place} bs=8 count=1 conv=notrunc",
                         "Read-only file system")
            self.refused(box, f"rm -f {place}", "busy", "Read-only file system")
            self.refused(box, f"mv -T {place} /tmp/away", "busy", "Read-only file system")
            self.refused(box, f"ln -sf /dev/null {place}", "busy", "Read-only file system",
                         "File exists")
        for folder in ("/etc", "/etc/vgpu"):
            self.refused(box, f"mv -T {folder} {folder}.away", "busy")
        self.refused(box, "rm -rf /etc/vgpu", "busy", "Read-only file system")
        self.holds(box)

    def test_without_a_share_that_can_be_read_there_is_no_gpu(self):
        box = self.box(share=False)
        box.ask("mkdir /etc/vgpu; echo nonsense >/etc/vgpu/share")
        probe = box.probe()
        self.assertNotEqual(probe.started, "0")
        self.assertIn("the program gets no GPU", probe.said())



if __name__ == "__main__":
    main("__main__")
