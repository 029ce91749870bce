#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Root sees and changes the shares of all users: test_users.py VGPU VGPU_BURN SOURCE_ROOT."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from cli_case import BURN, ENVIRONMENT, VGPU, Case, main, vgpu, wait_until

MIB = 1 << 20
ALICE, BOB = 54321, 54322


def is_reached(uid):
    """Can that user run what was built here?"""
    return subprocess.run(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", VGPU, "run",
                           "--sim=t4-16gb", "--", "true"], capture_output=True, check=False, cwd="/").returncode == 0


@unittest.skipUnless(os.geteuid() == 0 and is_reached(ALICE), "needs root, and a build that every user can run")
class Users(Case):
    def setUp(self):
        super().setUp()
        # As /run/user: a folder for each user, which that user owns.
        self.users = tempfile.mkdtemp(prefix="vgpu-users-")
        self.addCleanup(subprocess.run, ["rm", "-rf", self.users], check=False)
        os.chmod(self.users, 0o755)
        self.environment = {**ENVIRONMENT, "XDG_RUNTIME_DIR": self.runtime, "VGPU_RUN_FOLDERS": self.users}

    def run_as(self, uid, *words):
        home = os.path.join(self.users, str(uid))
        if not os.path.isdir(home):
            os.mkdir(home, 0o700)
            os.chown(home, uid, uid)
        process = subprocess.Popen(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", VGPU, "run", *words,
                                    "--", BURN, "600"], env={**ENVIRONMENT, "XDG_RUNTIME_DIR": home}, cwd="/",
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertIn("GPU 0", process.stdout.readline())
        return process

    def vgpu(self, *words):
        return vgpu(*words, environment=self.environment)

    def listed(self, *words):
        done = self.vgpu("ps", "--json", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def shares(self, *words):
        return {(share["user"], share["name"]): share for share in self.listed(*words)["shares"]
                if share["user"] in (str(ALICE), str(BOB))}

    def test_root_sees_the_shares_of_all_users(self):
        program = self.run_as(ALICE, "--sim=a100-40gb", "--memory", "1g", "--name", "train")
        self.run_as(BOB, "--sim=t4-16gb", "--memory", "2g", "--name", "eval")
        self.assertTrue(wait_until(lambda: self.shares() and self.shares()[(str(ALICE), "train")]["processes"]))
        shares = self.shares()
        self.assertEqual(set(shares), {(str(ALICE), "train"), (str(BOB), "eval")})
        share = shares[(str(ALICE), "train")]
        self.assertEqual(share["gpus"][0]["limit_bytes"], 1024 * MIB)
        self.assertEqual(share["processes"][0]["pid"], program.pid)
        self.assertGreater(share["gpus"][0]["held_bytes"], 0)
        names = {gpu["uuid"]: gpu["name"] for gpu in self.listed()["gpus"]}
        self.assertEqual(names[share["gpus"][0]["uuid"]], "NVIDIA A100-SXM4-40GB")
        self.assertEqual(list(self.shares("--user", str(BOB))), [(str(BOB), "eval")])
        text = self.vgpu("ps", "--columns", "user,share,model").stdout.splitlines()
        self.assertIn(f"{ALICE}\ttrain\tA100-SXM4-40GB", text)
        sample = json.loads(self.vgpu("top", "--once", "--json", "--interval", "0.1").stdout)
        self.assertIn((str(BOB), "eval"), {(share["user"], share["name"]) for share in sample["shares"]})

    def test_a_program_without_a_share_is_named_with_its_user(self):
        program = self.run_as(ALICE, "--sim=a100-40gb")

        def found():
            return [one for one in self.listed()["strangers"] if one["pid"] == program.pid]
        self.assertTrue(wait_until(found))
        (stranger,) = found()
        self.assertEqual((stranger["user"], stranger["is_other_user"]), (str(ALICE), False))
        self.assertTrue(stranger["program"].startswith("vgpu-burn"), stranger)
        self.assertGreater(stranger["used_bytes"], 0)

    def test_root_changes_a_share_of_another_user(self):
        self.run_as(ALICE, "--sim=t4-16gb", "--memory", "1g", "--name", "train")
        self.assertTrue(wait_until(self.shares))
        done = self.vgpu("set", "train", "--memory", "3g", "--cores", "20")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("of 3GiB", done.stdout)
        gpu = self.shares()[(str(ALICE), "train")]["gpus"][0]
        self.assertEqual((gpu["limit_bytes"], gpu["cores_percent"]), (3072 * MIB, 20))
        done = self.vgpu("set", "train", "--memory", "1t")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"warning: --memory 1TiB is more than GPU 0 has, [\d.]+[GM]iB: it limits nothing")

    def test_a_name_that_two_users_have_is_refused_with_both(self):
        self.run_as(ALICE, "--sim=t4-16gb", "--memory", "1g", "--name", "train")
        self.run_as(BOB, "--sim=t4-16gb", "--memory", "1g", "--name", "train")
        self.assertTrue(wait_until(lambda: len(self.shares()) == 2))
        self.refuses(self.vgpu("set", "train", "--memory", "2g"), 1, str(ALICE), str(BOB), "USER/train")
        self.assertEqual(self.vgpu("set", f"{BOB}/train", "--memory", "2g").returncode, 0)
        self.assertEqual(self.vgpu("set", "train", "--user", str(ALICE), "--memory", "3g").returncode, 0)
        limits = {user: share["gpus"][0]["limit_bytes"] // MIB for (user, _), share in self.shares().items()}
        self.assertEqual(limits, {str(ALICE): 3072, str(BOB): 2048})
        self.refuses(self.vgpu("set", f"{BOB}/other", "--memory", "2g"), 1, f"user '{BOB}' has no share 'other'")

    def test_a_user_sees_its_own_shares_alone(self):
        self.run_as(ALICE, "--sim=t4-16gb", "--memory", "1g", "--name", "train")
        self.run_as(BOB, "--sim=t4-16gb", "--memory", "1g", "--name", "eval")
        self.assertTrue(wait_until(lambda: len(self.shares()) == 2))
        told = subprocess.run(["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", VGPU, "ps", "--json"],
                              env={**self.environment, "XDG_RUNTIME_DIR": f"{self.users}/{ALICE}"}, cwd="/",
                              capture_output=True, text=True, check=True).stdout
        self.assertEqual([share["name"] for share in json.loads(told)["shares"]], ["train"])
        done = subprocess.run(["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", VGPU, "set",
                               f"{BOB}/eval", "--memory", "2g"], env=self.environment, cwd="/", capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("only root", done.stderr)

    def test_a_user_reads_that_only_root_sees_others(self):
        home = f"{self.users}/{ALICE}"
        os.mkdir(home, 0o700)
        os.chown(home, ALICE, ALICE)
        for words in (("ps", "--user", "root"), ("ps", "--json", "--user", "0"),
                      ("top", "--once", "--interval", "0.1", "--user", "root")):
            done = subprocess.run(["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", VGPU, *words],
                                  env={**self.environment, "XDG_RUNTIME_DIR": home}, cwd="/", capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stderr),
                             (1, "vgpu: only root sees the shares of other users, such as 'root'\n"))

    def test_a_users_files_do_no_harm(self):
        self.run_as(ALICE, "--sim=t4-16gb", "--memory", "1g", "--name", "train")
        self.assertTrue(wait_until(self.shares))
        folder = f"{self.users}/{ALICE}/vgpu/train"
        for file in ("region", "grant"):
            os.truncate(f"{folder}/{file}", 4096)
        self.assertIn(self.vgpu("ps").returncode, (0, 1))
        self.assertEqual(self.vgpu("top", "--once", "--interval", "0.1").stderr.count("Bus"), 0)
        for machine in filter(lambda name: name.endswith(".machine"), os.listdir(f"{self.users}/{ALICE}")):
            os.truncate(f"{self.users}/{ALICE}/{machine}", 8192)
        self.assertIn(self.vgpu("ps").returncode, (0, 1))

    def end(self, program, folder):
        program.kill()
        program.wait()
        self.assertTrue(wait_until(lambda: not os.path.exists(folder)))

    def test_a_folder_in_roots_name_that_a_user_made_is_none_of_roots(self):
        program = self.run_as(ALICE, "--sim=t4-16gb", "--memory", "1g", "--name", "train")
        self.assertTrue(wait_until(self.shares))
        train = f"{self.users}/{ALICE}/vgpu/train"
        evil = f"{self.runtime}/vgpu/train"
        os.makedirs(evil)
        shutil.copy(f"{train}/share", evil)
        for path in (f"{self.runtime}/vgpu", evil, f"{evil}/share"):
            os.chown(path, ALICE, ALICE)
        self.assertEqual([share["user"] for share in self.listed()["shares"] if share["name"] == "train"], [str(ALICE)])
        done = self.vgpu("set", "train", "--memory", "3g")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.shares()[(str(ALICE), "train")]["gpus"][0]["limit_bytes"], 3072 * MIB)
        # What the share names there is not opened either.
        self.end(program, train)
        os.makedirs(train)
        with open(f"{train}/region", "wb"):
            pass
        for words in (("ps",), ("top", "--once", "--interval", "0.1"), ("doctor",), ("set", "train", "--memory", "2g"),
                      ("completion", "shares")):
            done = self.vgpu(*words)
            self.assertIn(done.returncode, (0, 1))
            self.assertNotIn("train\n", done.stdout)
        self.assertEqual(os.path.getsize(f"{train}/region"), 0)

    def test_the_doctor_leaves_the_regions_of_others_as_they_are(self):
        region = f"{self.folder}/region"
        with open(region, "wb"):
            pass
        os.chown(region, ALICE, ALICE)
        self.environment["VGPU_REGION"] = region
        self.assertIn("every variable has a valid value", self.vgpu("doctor").stdout)
        self.assertEqual(os.path.getsize(region), 0)
        os.truncate(region, 4096)
        self.assertIn("not a region", self.vgpu("doctor").stdout)
        self.assertEqual(os.path.getsize(region), 4096)

    def test_a_users_runtime_folder_that_root_kept_is_that_users(self):
        self.run_as(ALICE, "--sim=t4-16gb", "--memory", "1g", "--name", "train")
        self.assertTrue(wait_until(self.shares))
        self.environment["XDG_RUNTIME_DIR"] = f"{self.users}/{ALICE}"
        self.assertEqual([share["user"] for share in self.listed()["shares"] if share["name"] == "train"], [str(ALICE)])
        self.assertEqual(self.vgpu("set", "train", "--memory", "3g").returncode, 0)
        self.assertEqual(self.shares()[(str(ALICE), "train")]["gpus"][0]["limit_bytes"], 3072 * MIB)
        # Root's own go where no user can replace them.
        done = self.vgpu("run", "--sim=t4-16gb", "--", "sh", "-c", "echo $VGPU_SIM")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(done.stdout.startswith(self.users), done.stdout)

    def test_a_machine_of_another_user_is_read_and_never_written(self):
        path = f"{self.runtime}/lab"
        self.assertEqual(self.vgpu("sim", "create", "--machine", path, "--preset", "t4-16gb").returncode, 0)
        with open(path, "r+b") as machine:
            machine.seek(16)
            machine.write(b"\xff" * 8192)
        os.chown(path, ALICE, ALICE)
        with open(path, "rb") as machine:
            before = machine.read(1 << 20)
        for words in (("sim", "list"), ("sim", "list", "--json"), ("sim", "show", path), ("sim", "show", "--json", path),
                      ("sim", "create", "--if-missing", "--machine", path)):
            done = self.vgpu(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        for words in (("sim", "stat", path), ("sim", "inject", "--machine", path, "lose", "0")):
            self.refuses(self.vgpu(*words), 1, "another user")
        with open(path, "rb") as machine:
            self.assertEqual(machine.read(1 << 20), before)
        self.environment["VGPU_SIM"] = path
        for words in (("sim", "list"), ("doctor",), ("ps",)):
            self.assertIn(self.vgpu(*words).returncode, (0, 1), words)
        self.assertEqual(self.vgpu("sim", "destroy", path).returncode, 0)


if __name__ == "__main__":
    main("__main__")
