#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ways around libvgpu.so, as root in real containers: test_around.py VGPU BURN SOURCE_ROOT.

None of these can be prevented from inside. Each takes memory that its share does not have, and vgpu-node reports it
within ten seconds: from what the driver knows, not from what the program says.
"""

import os
import subprocess
import unittest

from cli_case import main
from fence import EVADE, Fence
from fixtures import OUT_OF_MEMORY

MORE, WITHIN = 300, 90      # MiB: more than the limit; within it, but not in the region
BOTH, MEMORY, STRANGER = ("memory", "stranger"), ("memory",), ("stranger",)


def evade(way, kinds=BOTH, mib=MORE):
    return 1, f"exec evade {way} {mib}", kinds


def beside(script):
    """Another process of the container holds what it may, before."""
    return 2, f"busybox sleep 60 | evade plain {WITHIN} & busybox sleep 1.5; {script} {WITHIN}", MEMORY


def bare(size, slot):
    """The program writes what a process on the simulated GPU writes: who it is, and what it holds."""
    script = ("set -- $(cat /proc/$$/stat); start=${22}; space=$(busybox readlink /proc/$$/ns/pid); space=${space#*:?}; "
              f"exec bare{size} $VGPU_SIM $NAMESPACE=${{space%?}} $START=$start $BYTES={MORE << 20} w$PID=$$ w$OWNER=$$ "
              "w$LIFE=$$ w$CONTEXTS=1 w$STATE=1")
    return 1, script, BOTH, slot


# The simulated driver finds out in /proc who its process is; NVIDIA's has it from the kernel.
CHROOT = ("busybox cp -a /lib /lib64 /bin /etc/; mkdir /etc/proc; exec busybox unshare -U -r -m sh -c '"
          "busybox mount -o rbind /proc /etc/proc; export VGPU_SIM=/vgpu/machine LD_LIBRARY_PATH=/vgpu/driver; "
          f"exec busybox chroot /etc /bin/evade plain {MORE}'")
STOPPED = (f"busybox mkfifo /tmp/in; probe </tmp/in >/tmp/out & exec 3>/tmp/in; echo alloc {WITHIN} >&3; busybox sleep 1.5; "
           f"kill -STOP $!; lie slots; lie word; exec evade plain {WITHIN}")
LIAR = "LD_PRELOAD=/bin/libliar.so exec evade plain"

# Name → (lines that it prints, script, what vgpu-node must say).
ATTEMPTS = {
    "walk": evade("walk"),
    "dlmopen": evade("dlmopen-walk"),
    "copy": evade("copy-walk"),
    "loader": evade("loader"),
    "export_table": evade("export-table", MEMORY, 1),
    "loader_changed": evade("loader-changed"),
    "audit": (1, f"EVADE_MIB={MORE} LD_AUDIT=/bin/libauditor.so exec evade plain 1", MEMORY),
    "static": (1, f"exec static_gpu {MORE}", BOTH),
    "static_within": (1, f"exec static_gpu {WITHIN}", STRANGER),
    "graphics": (1, f"exec static_gpu {MORE} graphics", BOTH),
    "mps": (1, f"exec static_gpu {MORE} mps", BOTH),
    "profiled": (1, f"LD_PRELOAD=libcuda.so.1 exec profiled {MORE}", BOTH),
    "chroot": (1, CHROOT, BOTH),
    "code": evade("code", MEMORY),
    "code_by_file": evade("code-by-file", MEMORY),
    "traced": evade("traced", MEMORY),
    "share_replace": evade("share-replace", MEMORY),
    "region_replace": evade("region-replace", MEMORY, WITHIN),
    "filter_no_share": evade("filter-no-share"),
    "filter_other_share": evade("filter-other-share", MEMORY),
    "filter_all_dead": beside("exec evade filter-all-dead"),
    "liar_access": (1, f"unset VGPU_MEMORY_LIMIT VGPU_DEVICES; LIAR=access {LIAR} {MORE}", BOTH),
    "liar_kill": beside(f"LIAR=kill {LIAR}"),
    "descriptors_give": (1, f"MEETING={os.getpid()} exec evade give 1", ()),
    "descriptors_take": (1, f"MEETING={os.getpid()} exec evade take {WITHIN}", MEMORY),
    "stopped": (1, STOPPED, MEMORY),
}
IS_X86 = os.path.exists(os.path.join(EVADE, "bare32"))
if IS_X86:
    ATTEMPTS.update(bare32=bare("32", 62), bare64=bare("64", 63))


class Around(Fence):
    attempts = ATTEMPTS
    programs = ("evade", "lie", "profiled", "libauditor.so", "libliar.so")
    static_programs = ("static_gpu", *(("bare32", "bare64") if IS_X86 else ()))

    @classmethod
    def environment(cls, slot=None):
        """Of a program that writes to the machine itself: where what is."""
        if slot is None:
            return []
        layout = subprocess.run([os.path.join(EVADE, "static_gpu"), "--layout", str(slot)], check=True, text=True,
                                capture_output=True, env={"VGPU_SIM": cls.fixtures.machine}).stdout
        return [pair[:pair.index("=")].upper() + pair[pair.index("="):] for pair in layout.split()]

    def test_the_drivers_own_table_of_symbols(self):
        self.reported("walk")

    def test_a_link_namespace_of_its_own(self):
        self.reported("dlmopen")

    def test_a_copy_of_the_driver(self):
        self.reported("copy")

    def test_an_elf_loader_of_its_own(self):
        self.reported("loader")

    def test_the_drivers_private_tables(self):
        """What they take is charged when a program next asks for memory, and reported if it does not."""
        self.reported("export_table", "0", OUT_OF_MEMORY)

    def test_a_changed_copy_of_the_dynamic_loader(self):
        self.reported("loader_changed")

    def test_an_audit_library(self):
        self.reported("audit")

    def test_a_static_binary(self):
        self.reported("static")

    def test_a_static_binary_within_the_limit(self):
        self.reported("static_within")

    def test_memory_of_vulkan_and_opengl(self):
        self.reported("graphics")

    def test_a_client_of_mps(self):
        self.reported("mps")

    @unittest.skipUnless(IS_X86, "of other processors")
    def test_a_program_of_32_bits(self):
        self.reported("bare32")

    @unittest.skipUnless(IS_X86, "of other processors")
    def test_a_program_of_another_c_library(self):
        self.reported("bare64")

    def test_a_program_for_gprof_that_preloads_the_driver(self):
        self.reported("profiled")

    def test_a_root_of_its_own(self):
        if "unshare: " in self.tried["chroot"].said():
            self.skipTest("containers have no user namespaces here")
        self.reported("chroot")

    def test_code_that_is_changed_in_memory(self):
        self.reported("code")

    def test_code_that_is_changed_through_proc(self):
        self.reported("code_by_file")

    def test_code_that_a_tracer_changes(self):
        self.reported("traced")

    def test_another_share_over_the_mapping(self):
        self.reported("share_replace")

    def test_a_private_copy_of_the_region(self):
        self.reported("region_replace")

    def test_a_filter_that_hides_the_share(self):
        self.reported("filter_no_share")

    def test_a_filter_that_opens_another_share(self):
        self.reported("filter_other_share")

    def test_a_filter_that_makes_others_seem_dead(self):
        self.reported("filter_all_dead")

    def test_a_preload_that_hides_the_share(self):
        self.reported("liar_access")

    def test_a_preload_that_makes_others_seem_dead(self):
        self.reported("liar_kill")

    def test_the_region_of_another_container_by_its_descriptor(self):
        self.reported("descriptors_take")

    def test_a_region_that_is_emptied_while_its_processes_are_stopped(self):
        self.reported("stopped")

    def test_others_have_what_is_theirs(self):
        self.still_works()


if __name__ == "__main__":
    main("__main__")
