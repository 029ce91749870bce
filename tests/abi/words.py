# SPDX-License-Identifier: Apache-2.0
"""words SOURCE_ROOT: names that were retired (docs/decisions/renames.md) do not come back."""

import fnmatch
import pathlib
import re
import subprocess
import sys

from tap import Tap

# (pattern, what to say instead). A name ends at an underscore too: E is its edge.
B, E = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
RETIRED = [(re.compile(pattern), instead) for pattern, instead in (
    (rf"{B}(?i:cheat(s|ed|ing|er)?){E}|GPUShareCheated|cheatPolicy", "violation"),
    (rf"{B}(?i:hearsay){E}", "scheduler_fallback"),
    (rf"{B}(?i:soundness){E}", "integrity"),
    (rf"{B}(?i:sick){E}", "unhealthy"),
    (r"\bwell again\b", "healthy"),
    (r"\bpods? (is|are|was|were) sent away\b|\bvictims leave\b", "preempted, evicted"),
    (rf"{B}(?i:ringer|bells){E}", "futex_relay, futex_set"),
    (rf"{B}(?i:seats?){E}", "arbiter_lock"),
    (rf"{B}(?i:unheld){E}", "unlimited_functions"),
    (rf"{B}(?i:handover){E}", "cluster_exec"),
    (rf"{B}(told_unread|node_told){E}", "node_read"),
    (r"\b(is_volcanos|is_units_left)\b", "uses_volcano, leaves_units"),
    (r"\bmemory_more\b", "a name by content"),
    (rf"{B}(?i:kept[-_]node|kept[-_]rooms?|cluster_claim){E}", "nomination"),
    (r"\b(budget_look|preempt_budgets|peer_budgets?)\b", "pdb_query, preempt_pdb, rate_limit"),
    (r"\b(preemption_hunt|preemption_apart)\b", "preemption_search, preemption_per_device"),
    (r"\b(code_rest|share_book_rest|arbiter_rest|tenant_rest)\b", "…_trim"),
    (r"\b(share_given|gpu_sign|names_absent)\b", "share_decided, gpu_request_detect, resolver_stub"),
    (r"\b(share_room|share_place|share_look|user_seats|account_view)\b", "share_fit, run_folder, share_query, …"),
    (r"\b(gate_turn|gpu_turn|turns_account|vgpu_container_turns)\w*", "timeslice"),
    (r"\b(region_account|REGION_ACCOUNTS|limits_account|devices_account)\b", "charges, device_index"),
    (r"\b(gpu_lane|GPU_LANES|REGION_LANE_\w+|exec_lane)\b", "process slot, branch"),
    (rf"{B}(?i:cards?){E}", "GPU in prose, device in code"),
    (rf"{B}(?i:node)?(?i:tumult|capsule)s?{E}", "chaos, sandbox"),
    (r"^\s*(import|from) (capsule|lab|whole|wire|again|tumult|places)\b", "sandbox, fixtures, full_stack, …"),
    (r"\btests/e2e/(capsule|lab|whole|wire|again|tumult|places)\.py\b", "the module's new name"),
)]
# (pattern, file glob, reason): what a line that matches may say in these files.
ALLOWED = [
    (r".", "docs/decisions/renames.md", "lists the old names"),
    (r".", "tests/abi/words.py", "lists them too"),
    (r'"card"', "deploy/helm/vgpu/values.schema.json", "the alias of gpu in envCeiling"),
    (r"^\.BR card ,$", "docs/man/vgpu-node.8", "the alias in --env-ceiling"),
    (r"\(or `card`\)", "docs/tasks/resize.md", "the same"),
    (r'\.alias = "card"', "src/node/config/node_options.c", "the same"),
    (r'card_is_another_word_for_gpu|"(--env-ceiling", "|--violation-policy=)card"', "tests/unit/node/test_node_options.c", "the same"),
]
WHERE = ("api", "bench", "deploy", "docs", "lib", "sim", "src", "tests", "tools")


def retired(name, text):
    """The retired words of a file, as 'file:line: word: say …'."""
    allowed = [re.compile(pattern) for pattern, glob, _ in ALLOWED if fnmatch.fnmatch(name, glob)]
    return [f"{name}:{number}: '{found.group().strip()}': say {instead}"
            for number, line in enumerate(text.splitlines(), 1) for pattern, instead in RETIRED
            for found in pattern.finditer(line) if not any(row.search(line) for row in allowed)]


def read(path):
    """The text of a file; what is none, and links, are empty."""
    try:
        return "" if path.is_symlink() else path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def files(root):
    """Sources, pages and charts; without git too, as from a released archive."""
    found = subprocess.run(["find", *WHERE, "-name", "__pycache__", "-prune", "-o", "-name", "go.sum", "-o", "-type", "f",
                            "-print"], cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")
    return sorted(filter(None, found)) + sorted(path.name for path in pathlib.Path(root).glob("*.md"))


def main(root):
    tap = Tap()
    planted = ("enum cheat_policy policy;", "the GPU is sick", "CHEAT_MEMORY", "struct user_seats *s", "import lab",
               "class NodeTumult:", "vgpu.io/kept-node", "gpu_turn_begin(&t)", "is_volcanos = true", "struct placement_card *card;", "GPU 0: the card is full")
    innocent = ("a doorbell rings", "in turn", "look at it", "the whole GPU", "seated", "on the wire", "a label", "import labels",
                "he was sent away", "a wildcard", "discard it", "rest of it", "well, again", "candidate_lock", "unaccounted")
    tap.check("a planted retired word is found", [text for text in planted if not retired("src/x.c", text)])
    tap.check("ordinary English is not", [text for text in innocent if retired("src/x.c", text)])
    names = files(root)
    texts = {name: read(pathlib.Path(root, name)) for name in names}
    tap.check("no retired word is in use", [line for name in names for line in retired(name, texts[name])]
              if len(names) > 1000 else f"only {len(names)} files")
    tap.check("every file of the allow-list is there",
              [glob for _, glob, _ in ALLOWED if not any(fnmatch.fnmatch(name, glob) for name in names)])
    tap.done()


main(*sys.argv[1:])
