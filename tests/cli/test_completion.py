#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion as bash, zsh and fish themselves do it: test_completion.py VGPU VGPU_BURN SOURCE_ROOT.

bash and zsh run on a terminal, are given a line and the keys that insert all matches, and print what is then on the
line. fish has a command for it.
"""

import os
import pty
import shutil
import subprocess

from cli_case import ENVIRONMENT, VGPU, Case, main, wait_until

SHARE = f"s{os.getpid()}"       # this user may have other shares
# What is typed, and the words that the last one may become; none: it stays as it is.
CASES = (
    ("vgpu s", ["set", "sim"]),
    ("vgpu sim cr", ["create"]),
    ("vgpu doc", ["doctor"]),
    ("vgpu kueue co", ["config"]),
    ("vgpu explain p", ["pod"]),
    ("vgpu --ver", ["--version"]),
    # Options and their values.
    ("vgpu set --m", ["--memory", "--memory-ratio"]),
    ("vgpu set train --m", ["--memory", "--memory-ratio"]),
    ("vgpu sim create --time", ["--time-scale"]),
    ("vgpu explain pod --j", ["--json"]),
    ("vgpu run --oversold-h", ["--oversold-host-memory"]),
    ("vgpu run --sim h2", ["h200-141gb"]),
    ("vgpu run --sim=h2", ["--sim=h200-141gb"]),
    ("vgpu run --sim=a100-40gb:2 --prio", ["--priority"]),
    ("vgpu run --context-memory=e", ["--context-memory=exempt"]),
    ("vgpu run --priority ", ["high", "low"]),
    ("vgpu kueue config --mode t", ["transform"]),
    ("vgpu run --memory ", []),
    ("vgpu ps --columns ", ["context", "cores", "device", "gpu", "held", "limit", "lost", "managed", "model", "other", "pid",
                            "program", "resident", "share", "throttled", "user", "virtual"]),
    ("vgpu ps --columns=re", ["--columns=resident"]),
    ("vgpu ps --columns share,pid,he", ["share,pid,held"]),
    ("vgpu run --machine FOLDER/fi", ["FOLDER/file"]),
    # Words.
    ("vgpu sim show FOLDER/fi", ["FOLDER/file"]),
    ("vgpu sim inject ", ["clear", "ecc", "fail", "hang", "lose", "outsider", "restore", "xid"]),
    ("vgpu sim inject --times 2 fa", ["fail"]),
    ("vgpu sim inject fail cuMemAllocP", ["cuMemAllocPitch", "cuMemAllocPitch_v2"]),
    ("vgpu sim inject hang nvmlDeviceGetUt", ["nvmlDeviceGetUtilizationRates"]),
    ("vgpu sim inject ecc 0 ", ["corrected", "uncorrected"]),
    ("vgpu sim inject lose 0 ", []),
    ("vgpu help s", ["set", "sim"]),
    ("vgpu help sim i", ["inject"]),
    ("vgpu help ps ", []),
    ("vgpu completion ", ["bash", "fish", "zsh"]),
    ("vgpu ps ", []),
    ("vgpu version ", []),
    # Shares in use.
    ("vgpu set SHARE-tr", ["SHARE-train"]),
    ("vgpu set --memory 1g SHARE-tr", ["SHARE-train"]),
    ("vgpu run --name SHARE-tr", ["SHARE-train"]),
    ("vgpu set SHARE-train SHARE-tr", []),
    # A program and its arguments are the shell's business, and nothing of vgpu's is offered there.
    ("vgpu run -- vgpu-bur", ["vgpu-burn"]),
    ("vgpu run --memory 1g vgpu-bur", ["vgpu-burn"]),
    ("vgpu run --memory 1g -- cat FOLDER/fi", ["FOLDER/file"]),
    ("vgpu run cat FOLDER/fi", ["FOLDER/file"]),
    ("vgpu run -- cat --memo", []),
    ("vgpu run -- cat SHARE-tr", []),
    ("vgpu set -- SHARE-tr", []),
    ("vgpu set -- --m", []),
    ("vgpu sim inject -- fa", []),
)
ZSH_KEYS = ("zle -C all-matches complete-word _generic; bindkey -e; bindkey '^Xa' all-matches; unset zle_bracketed_paste;"
            "zstyle ':completion:all-matches:*' insert yes;"
            "zstyle ':completion:all-matches::::' completer _all_matches _complete")
SHELLS = {      # how it starts, how it reads a script, the keys that insert all matches
    "bash": (["--norc", "--noprofile", "-i"], "source {}; bind 'set enable-bracketed-paste off'", b"\x1b*"),
    "zsh": (["-f", "-i"], "autoload -Uz compinit; compinit -u -D; source {};" + ZSH_KEYS, b"\x18a"),
}


class Terminal:
    """A shell on a terminal, which keeps what it is told in files."""

    def __init__(self, case, shell, environment):
        words, setup, self.keys = SHELLS[shell]
        self.case, self.count = case, 0
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(shell, [shell, *words], environment)
        self.tell(setup.format(os.path.join(case.folder, f"vgpu.{shell}")).encode())

    def tell(self, typed):
        """Types a line, then puts "printf" before it; the words that the line had."""
        self.count += 1
        path = os.path.join(self.case.folder, f"said-{self.count}")
        is_setup = self.count == 1
        self.write(typed + (f"; : >{path}".encode() if is_setup else
                            self.keys + f"\x01printf '%s\\n' >{path}.new \x05; mv {path}.new {path}".encode()) + b"\n")
        self.case.assertTrue(wait_until(lambda: self.drain() or os.path.exists(path), 30), typed)
        with open(path, encoding="utf-8") as file:
            return file.read().split()

    def write(self, data):
        while data:
            self.drain()
            data = data[os.write(self.fd, data[:256]):]

    def drain(self):
        """A terminal that nobody reads stops the shell."""
        os.set_blocking(self.fd, False)
        try:
            while os.read(self.fd, 65536):
                pass
        except BlockingIOError:
            pass
        os.set_blocking(self.fd, True)

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class Completion(Case):
    def setUp(self):
        super().setUp()
        open(os.path.join(self.folder, "file"), "w", encoding="ascii").close()
        self.environment = {**ENVIRONMENT, "XDG_RUNTIME_DIR": self.runtime, "TERM": "dumb", "HOME": self.folder,
                            "PATH": os.path.dirname(VGPU) + ":" + os.environ["PATH"], "PS1": "$ ", "COLUMNS": "500"}
        share = subprocess.Popen([VGPU, "run", "--sim=t4-16gb", "--memory", "1g", "--name", f"{SHARE}-train", "--", "sleep",
                                  "600"], env=self.environment)
        self.addCleanup(share.wait)
        self.addCleanup(share.kill)
        self.assertTrue(wait_until(lambda: f"{SHARE}-train" in self.ask("shares")))

    def ask(self, word):
        return subprocess.run([VGPU, "completion", word], env=self.environment, capture_output=True, text=True,
                              check=True).stdout.splitlines()

    def prepare(self, shell):
        if not shutil.which(shell):
            self.skipTest(f"there is no {shell} here; tools/setup test installs it")
        with open(os.path.join(self.folder, f"vgpu.{shell}"), "w", encoding="utf-8") as file:
            file.write("\n".join(self.ask(shell)) + "\n")

    def cases(self):
        for line, expected in CASES:
            yield self.fill(line), [self.fill(word) for word in expected]

    def fill(self, text):
        return text.replace("FOLDER", self.folder).replace("SHARE", SHARE)

    def complete_on_a_terminal(self, shell):
        self.prepare(shell)
        terminal = Terminal(self, shell, self.environment)
        self.addCleanup(terminal.close)
        for line, expected in self.cases():
            *before, last = line.split(" ")
            became = sorted(terminal.tell(line.encode())[len(before):])
            if shell == "zsh" and not expected and not last:    # it offers options where there are no words
                became = [word for word in became if not word.startswith("--")]
            self.assertEqual(became, expected or [last] * bool(last), f"{shell}: {line}")

    def test_bash(self):
        self.complete_on_a_terminal("bash")

    def test_zsh(self):
        self.complete_on_a_terminal("zsh")

    def test_fish(self):
        self.prepare("fish")
        for line, expected in self.cases():
            done = subprocess.run(["fish", "--no-config", "-c", f"source {self.folder}/vgpu.fish; complete -C '{line}'"],
                                  env=self.environment, capture_output=True, text=True, check=False)
            # Since version 4 it also offers what has the letters elsewhere.
            offered = sorted(word.split("\t")[0] for word in done.stdout.splitlines() if word.startswith(line.split(" ")[-1]))
            self.assertEqual((offered, done.stderr), (expected, ""), line)

    def test_a_script_is_found_by_zsh_where_packages_put_it(self):
        self.prepare("zsh")
        os.rename(os.path.join(self.folder, "vgpu.zsh"), os.path.join(self.folder, "_vgpu"))
        done = subprocess.run(["zsh", "-f", "-c", f"fpath=({self.folder} $fpath); autoload -Uz compinit; compinit -u -D;"
                               "print $_comps[vgpu]"], env=self.environment, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "_vgpu\n")

    def test_a_program_of_bash_is_completed_by_its_own_rules(self):
        """With bash-completion, whose function for it is called; here one that stands for it."""
        self.prepare("bash")
        done = subprocess.run(["bash", "-c", f"source {self.folder}/vgpu.bash; _command_offset() {{ echo \"from $1\"; }}\n"
                               "COMP_WORDS=(vgpu run --sim = a:2 -- ls --al); COMP_CWORD=7; _vgpu"],
                              env=self.environment, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "from 6\n")

    def test_other_shells_are_refused(self):
        for words, part in ((("csh",), "'csh' (expected bash, zsh or fish)"), ((), "missing SHELL"),
                            (("zsh", "x"), "unexpected argument 'x'")):
            done = subprocess.run([VGPU, "completion", *words], env=self.environment, capture_output=True, text=True,
                                  check=False)
            self.refuses(done, 2, part)


if __name__ == "__main__":
    main("__main__")
