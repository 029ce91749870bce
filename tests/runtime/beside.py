# SPDX-License-Identifier: Apache-2.0
"""beside: vgpu-node --standalone beside vgpu-runtime, and containers that are talked to."""

import json
import os
import pathlib
import socket
import subprocess

from cli_case import VGPU
from fixtures import DRIVER, RUNTIME, FixturesCase
from peer import eventually

NODE = os.path.join(os.path.dirname(VGPU), "vgpu-node")


class Container:
    """One that runs a program and is talked to."""

    def __init__(self, case, script, env, change=None, name=None, bundle_path=None):
        self.fixtures = case.fixtures
        self.name, bundle = self.fixtures.bundle(script, env=env, change=change)
        self.name = name or self.name
        if bundle_path:   # of the bundle
            os.makedirs(os.path.dirname(bundle_path))
            os.rename(bundle, bundle_path)
            bundle = bundle_path
        self.said = open(os.path.join(bundle, "said"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [RUNTIME, "--root", self.fixtures.root, "run", "--bundle", bundle, self.name], env=self.fixtures.environment(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True)
        case.addCleanup(self.end)

    def answer(self):
        return self.process.stdout.readline().strip()

    def ask(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return self.answer()

    def exec(self, *words, env=()):
        """Another program in it, as `kubectl exec` and `docker exec` start one."""
        options = [word for variable in env for word in ("--env", variable)]
        return self.fixtures.call("exec", *options, self.name, *words)

    def end(self):
        self.fixtures.call("kill", self.name, "KILL")
        self.process.communicate(timeout=20)
        self.fixtures.call("delete", "--force", self.name)
        self.said.close()


class StandaloneCase(FixturesCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fixtures.configure(f"--sim={cls.fixtures.machine}", f"--sim-driver={DRIVER}")

    @property
    def users(self):
        """Where vgpu-node looks for users' shares: the machine may have others."""
        return os.path.join(self.fixtures.folder, "users")

    def home(self, user):
        path = os.path.join(self.users, user)
        os.makedirs(path, 0o700, exist_ok=True)
        os.chmod(self.fixtures.folder, 0o711)
        os.chmod(self.users, 0o711)
        os.chown(path, int(user), int(user))
        return path

    def node(self, *options, **environment):
        log = open(os.path.join(self.fixtures.folder, "node.log"), "a+", encoding="utf-8")
        process = subprocess.Popen(
            [NODE, "--standalone", f"--run-dir={self.fixtures.folder}", f"--state-dir={self.fixtures.folder}/node",
             f"--runtime-state={self.fixtures.state}", *options],
            env={**os.environ, "VGPU_RUN_FOLDERS": self.users, "VGPU_SIM": self.fixtures.machine,
                 "LD_LIBRARY_PATH": DRIVER, **environment}, stderr=log)

        def end():
            process.kill()
            process.wait()
            log.close()
        self.addCleanup(end)
        path = os.path.join(self.fixtures.folder, "registry", "socket")
        self.assertTrue(eventually(lambda: self.answers(path)), "vgpu-node does not start")
        return process

    @staticmethod
    def answers(path):
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
                peer.connect(path)
                return True
        except OSError:
            return False

    def vgpu(self, *words):
        return subprocess.run([VGPU, *words], capture_output=True, text=True, timeout=20, check=False,
                              env={**os.environ, "VGPU_NODE_SOCKET": os.path.join(self.fixtures.folder, "node.sock")})

    def shares(self):
        shown = self.vgpu("ps", "--json")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        return {share["name"]: share for share in json.loads(shown.stdout)["shares"]}

    def probe(self, *env, devices="0", **about):
        container = Container(self, "probe", [f"VGPU_DEVICES={devices}", *env], **about)
        self.assertEqual(container.answer(), "0")
        return container

    def logged_by_node(self):
        return pathlib.Path(self.fixtures.folder, "node.log").read_text(encoding="utf-8")

    def metrics(self):
        """Of a node with --metrics-listen at this address."""
        return subprocess.run(["curl", "-s", "--unix-socket", os.path.join(self.fixtures.folder, "metrics.sock"),
                               "http://node/metrics"], check=False, capture_output=True, text=True).stdout
