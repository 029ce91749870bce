#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What root in a container tries and does not get: test_held.py VGPU BURN SOURCE_ROOT.

The container is runc's, behind vgpu-runtime, beside a vgpu-node. Each line of a script's output is one attempt: "2" is
the driver's own "out of memory", "barred" says what kept the attempt from being made.
"""

from cli_case import main
from fence import Fence
from fixtures import OUT_OF_MEMORY

MORE = 102


def each(command, words, after=""):
    """A line for each word: the command with it."""
    words = words.split()
    return len(words), f"for word in {' '.join(words)}; do {command.format('$word')} </dev/null{after}; done", ()


def lines(*commands):
    """A line for each command: whether it could do what it tried."""
    return len(commands), "; ".join(f"({command}) >/dev/null 2>&1 && echo done || echo refused" for command in commands), ()


VARIABLES = ("LD_BIND_NOW=1 LD_BIND_NOT=1 LD_DYNAMIC_WEAK=1 LD_PROFILE=libvgpu.so LD_VERBOSE=1 LD_WARN=1 LD_PREFER_MAP_32BIT_EXEC=1 "
             "LD_ORIGIN_PATH=/tmp LD_HWCAP_MASK=0 LD_USE_LOAD_BIAS=0 LD_LIBRARY_PATH=/tmp:/etc/vgpu/driver LD_POINTER_GUARD=0 "
             "MALLOC_CHECK_=3 CUDA_INJECTION64_PATH=/bin/libliar.so NVIDIA_VISIBLE_DEVICES=all CUDA_VISIBLE_DEVICES= "
             "CUDA_MPS_PIPE_DIRECTORY=/tmp VGPU_COMPAT=0 VGPU_REGISTRY=/tmp/socket")
REGION = "/etc/vgpu/region"


class Held(Fence):
    programs = ("evade", "libliar.so")
    attempts = {
        "look_ups": each(f"evade {{}} {MORE}", "plain dlmopen copy global dlvsym static-runtime getproc"),
        "mappings": each(f"evade {{}} {MORE}", "share-protect share-by-file written io-uring userfaultfd"),
        "settings": (1, "exec evade settings 1", ()),
        "children": each(f"evade {{}} {MORE}", "lent forked"),
        "rights": each(f"evade {{}} {MORE}", "set-user capable"),
        "hidden": (2, "busybox sleep 60 | evade hidden 60 & busybox sleep 1.5; exec evade plain 60", ()),
        "liar_pid": (2, "busybox sleep 60 | evade plain 60 & busybox sleep 1.5; "
                        "LIAR=pid LD_PRELOAD=/bin/libliar.so exec evade plain 60", ()),
        "variables": each("env {} evade plain 102", VARIABLES),
        "cache": (1, "rm -f /etc/ld.so.cache; echo /tmp >/etc/ld.so.conf; exec evade plain 102", ()),
        "devices": lines("busybox mknod /tmp/gpu c 195 1 && cat /tmp/gpu", "busybox mknod /tmp/control c 195 255 && cat /tmp/control",
                         "busybox mknod /tmp/disk b 8 0 && dd if=/tmp/disk of=/dev/null count=1",
                         "busybox mknod /tmp/memory c 1 1 && dd if=/tmp/memory of=/dev/null count=1"),
        "kernel": lines("echo '|/tmp/x' >/proc/sys/kernel/core_pattern", "echo 1 >/proc/sys/fs/lease-break-time",
                        "echo b >/proc/sysrq-trigger", "mount -t binfmt_misc none /tmp", "mount -t cgroup2 none /tmp",
                        "mount -t proc none /tmp", "mount -t fuse none /etc/vgpu -o fd=3,rootmode=40000,user_id=0,group_id=0",
                        "mount -t overlay none /etc -o lowerdir=/bin,upperdir=/tmp,workdir=/tmp",
                        "mkdir /sys/fs/cgroup/mine; test -e /sys/fs/cgroup/mine/cgroup.procs", "mkdir /sys/fs/cgroup/pids/mine",
                        "test -e /sys/fs/cgroup/cgroup.procs && echo 1 >/sys/fs/cgroup/cgroup.freeze",
                        "echo FROZEN >/sys/fs/cgroup/freezer/freezer.state",
                        "echo $$ >/sys/fs/cgroup/pids/cgroup.procs"),
        "objects": lines(f"rm -f {REGION}", f"mv {REGION} /tmp/region", f"busybox ln {REGION} /tmp/region",
                         f"busybox mkfifo {REGION}", f"busybox mknod {REGION} c 1 5", f"busybox ln -sf /dev/zero {REGION}",
                         "mkdir /etc/vgpu/new", "busybox mkfifo /etc/vgpu/registry/other", "rm -f /etc/vgpu/registry/socket",
                         "busybox ln -s /tmp /etc/vgpu/link", f"busybox chattr +i {REGION}", "echo >/etc/vgpu/grant",
                         "echo >>/etc/vgpu/share", "busybox touch /etc/vgpu/share"),
        "mode": (1, f"busybox chmod 0 {REGION}; busybox chown 1234:1234 {REGION}; exec evade plain 102", ()),
        "no_proc": (0, "exec evade plain 102", ()),
        "host_pids": (1, "exec evade plain 102", ()),
        "host_ipc": (1, "exec evade plain 102", ()),
    }

    @classmethod
    def change(cls, name):
        def no_proc(config, _):
            config["mounts"] = [mount for mount in config["mounts"] if mount["destination"] != "/proc"]
            for paths in ("maskedPaths", "readonlyPaths"):
                config["linux"][paths] = []

        def without(kind):
            def change(config, _):
                spaces = config["linux"]["namespaces"]
                config["linux"]["namespaces"] = [space for space in spaces if space["type"] != kind]
            return change
        return {"no_proc": no_proc, "host_pids": without("pid"), "host_ipc": without("ipc")}.get(name)

    def refused(self, name, *more):
        """Every line is a refusal: the driver's, by the limit, or the kernel's."""
        for line in self.attempt(name).lines:
            self.assertTrue(line in (OUT_OF_MEMORY, "refused", *more) or line.startswith("barred: "), self.tried[name].said())

    def test_every_look_up_of_a_function(self):
        self.assertEqual(self.attempt("look_ups").lines, [OUT_OF_MEMORY] * 7)

    def test_writing_to_the_mapped_share(self):
        self.refused("mappings")
        self.assertEqual([line.split(":")[0] for line in self.tried["mappings"].lines[:4]], ["barred"] * 4)

    def test_settings_of_the_gpu_that_all_would_meet(self):
        self.refused("settings")

    def test_children_that_share_memory_or_come_after_cuinit(self):
        self.refused("children", "3")       # the driver's "not initialized"

    def test_programs_with_rights_of_their_file(self):
        self.assertEqual(self.attempt("rights").lines, [OUT_OF_MEMORY] * 2, self.tried["rights"].said())

    def test_a_process_that_hides_from_others(self):
        self.assertEqual(self.attempt("hidden").lines, ["0", OUT_OF_MEMORY])

    def test_a_name_that_commands_the_terminal(self):
        self.attempt("hidden")
        shown = self.vgpu("ps").stdout + self.vgpu("top", "--once", "--interval", "0.1").stdout
        self.assertIn(self.tried["hidden"].name, shown)
        self.assertNotIn("\033", shown)

    def test_a_process_that_lies_about_its_pid(self):
        self.assertEqual(self.attempt("liar_pid").lines, ["0", OUT_OF_MEMORY])

    def test_variables_of_the_dynamic_loader_and_the_driver(self):
        self.refused("variables", "100", "800", "101")      # no device: CUDA_VISIBLE_DEVICES hides all

    def test_the_loaders_own_files(self):
        self.refused("cache")

    def test_device_nodes_of_its_own(self):
        self.refused("devices")

    def test_settings_of_the_kernel_and_mounts_of_every_kind(self):
        self.refused("kernel")

    def test_other_kinds_of_file_instead_of_what_the_node_gave(self):
        self.refused("objects")

    def test_a_region_that_others_may_not_open(self):
        self.refused("mode", "800")
        self.assertIn(self.tried["mode"].name, self.shares())

    def test_a_container_without_proc(self):
        """runc starts none. What a program does that leaves /proc later: test_container.py."""
        tried = self.tried["no_proc"]
        self.assertNotEqual(tried.container.process.wait(20), 0, tried.said())
        self.assertEqual(tried.lines, [], tried.said())

    def test_a_container_in_the_hosts_namespaces_of_pids_or_ipc(self):
        for name in ("host_pids", "host_ipc"):
            self.assertEqual(self.attempt(name).lines, [OUT_OF_MEMORY], self.tried[name].said())

    def test_nothing_of_it_is_reported_of_others(self):
        self.still_works()


if __name__ == "__main__":
    main("__main__")
