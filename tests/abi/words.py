# SPDX-License-Identifier: Apache-2.0
"""words SOURCE_ROOT: names that were retired (docs/decisions/renames.md) do not come back.

Five rules: patterns for the whole text of every file, phrases that were rewritten, words that no sentence of a test may
say, words that no identifier and no file name may have as a part, and files that have other names.
"""

import fnmatch
import pathlib
import re
import subprocess
import sys

from tap import Tap

# (pattern, what to say instead). A name ends at an underscore too: E is its edge.
B, E = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
RETIRED = [(re.compile(pattern, re.M), instead) for pattern, instead in (
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
    (r"\b(GrowthTakenBack|scheduler_said|use_unknown)\b|\bASKS FOR\b",
     "GrowthRevoked, scheduler_message, usage_error, REQUESTS"),
    (r"\bvgpu\.cel\.asks\b|\basks-or-decides\b|\bname: asks$", "requestsGpu, requests-gpu"),
    (r"\benum Answer\b|_ANSWER__|\b(share_answer|SHARE_UNSAID)\b", "Tristate, SHARE_UNSET"),
    (r"\bturns[-_](soak|worker|board)\b", "timeslices-soak"),
    (r"\b(share_is_sound|scan_exit|wire\.(serve|call))\b", "share_is_valid, arg_parser_exit, grpc_client"),
    (r"\bstruct (asking|who|given|hearsay|budget|seat|gpu_shape|request_shape)\b",
     "gpu_request, pod_ref, share_decided, scheduler_fallback, pdb, arbiter_lock, request_cache"),
)]
# Phrases that had to be read twice: a word that the text must have, the phrase, what to say instead. A comment or page may
# go on in the next line, and so may they.
PHRASES = [(word, re.compile(pattern.replace(" ", r"[\s*#]+"), re.I), instead) for word, pattern, instead in (
    ("stands", r"\bwhere it stands\b", "Status: …"),
    ("whoever", r"\bwhoever (comes from|asks more|asks for more)\b", "migrating from …? clients over the limit"),
    ("get", r"\b(must|to|can|cannot) get at (it|them)\b", "available to; open"),
    ("whose", r"\bsay whose GPUs\b", "label the nodes whose GPUs …"),
    ("yours", r"\b(restart|rest|work) stays yours\b", "you still have to …"),
    ("on", r"\bgo(es)? on on\b", "continues on; spills to"),
    ("nothing", r"\bgiven nothing with it\b", "holding it grants no GPU access"),
    ("heard", r"\bpods? (is|are) heard\b", "may burst, may sustain"),
    ("way", r"\b(growth|what grew|what grows|that grew) (that )?gives? way\b", "runtime increases are revoked"),
    ("renamed", r"\bnames are never renamed\b", "resource names are left unchanged"),
    ("held", r"\bheld to its part\b", "ordinary quotas apply"),
    ("nobody", r"\bwhere nobody knows whether\b", "if the outcome is unknown"),
    ("pay", r"\bcannot pay for\b", "has used its share"),
    ("so", r"\"it is so\"", "the state: the cluster is full"),
    ("shall", r"\bwhat shall happen\b", "missing ACTION"),
    ("order", r"\bis no order of\b", "cannot sort by"),
    ("its", r"\ba (thread|process|file|copy|folder|lock|slot) of its(?! [a-z])", "one of its threads"),
)]
# The same, in what tests and make say: prose elsewhere may still take turns.
SENTENCES = [(re.compile(pattern, re.M), instead) for pattern, instead in (
    (rf"{B}(?i:rooms?){E}", "fit, capacity, allocation"),
    (r"\b(takes?|takings?|gets?|gives?|had|have|their|its|no|by) turns?\b", "time slice, round, step; alternately"),
    (r"\(f?\"[^\"]*\b(sent away|was told|whoever)\b", "evicted, refused; reported; tenant, client"),
)]
SAID_IN = ("tests/*/*.c", "tests/*.py", "tests/unsteady", "Makefile", ".ci/*", ".github/*")
# Parts of names: of identifiers, JSON keys and file names.
PARTS = {"room": "fit, capacity, credit, buffer", "turn": "timeslice, lock, round, step", "account": "region, charges",
         "place": "index, path, target, placement", "look": "query, sample, snapshot, check", "rest": "remainder, trim",
         "word": "argument, value", "lab": "fixtures", "wire": "grpc_client, protocol", "hunt": "search",
         "whoever": "tenant, client", "lane": "batch, process slot, branch, queue", "asking": "gpu_request, call",
         "card": "GPU, device", "tumult": "chaos", "capsule": "sandbox", "seat": "arbiter_lock"}
# Names of files, of their tests and headers, too.
FILES = re.compile(r"(test_)?(asking|who|node_told|told_unread|shapes?|cluster_claim|kept|budgets?|budget_look|preempt_budgets"
                   r"|peer_budget|preemption_(hunt|apart)|hearsay|code_rest|share_book_rest|given|share_given|gpu_sign"
                   r"|complete|variables|names_absent|unheld|ephemeral|handover|scan|places|seat|user_seats|bells|ringer"
                   r"|cheat|soundness|sick|tumult|capsule|lab|whole|wire|again|memory_more)\.(c|h|py)")
HAS_PART = re.compile("|".join(PARTS), re.I)
# (pattern, file glob, reason): what a line that matches may say in these files.
ALLOWED = [
    (r".", "docs/decisions/renames.md", "lists the old names"),
    (r".", "tests/abi/words.py", "lists them too"),
    (r'"card"', "deploy/helm/vgpu/values.schema.json", "the alias of gpu in envCeiling"),
    (r"^\.BR card ,$", "docs/man/vgpu-node.8", "the alias in --env-ceiling"),
    (r"\(or `card`\)", "docs/tasks/resize.md", "the same"),
    (r'\.alias = "card"', "src/node/config/node_options.c", "the same"),
    (r'card_is_an_alias_of_gpu|"(--env-ceiling", "|--violation-policy=)card"', "tests/unit/node/test_node_options.c", "the same"),
]
# (identifier or path, file glob, reason)
ALLOWED_NAMES = [
    (r"\w+", "tests/abi/words.py", "lists them"),
    (r"words?", "*", "of a text, a command line or memory"),
    (r"(?i)\w*words?\w*", "lib/*", "atomic words, and words that resemble a name"),
    (r"(?i)\w*words?\w*", "sim/*", "machine words"),
    (r"(?i)\w*words?\w*", "src/preload/*", "the loader's and the region's words"),
    (r"(?i)\w*words?\w*", "src/node/share/region_reader.c", "the region's atomic words"),
    (r"(?i)\w*words?\w*", "src/cli/completion*", "the shell's words"),
    (r"(?i)\w*words?\w*", "bench/hunt_load.c", "the words that make up a program"),
    (r"(?i)\w*words?\w*", "tests/*", "words of all these kinds, in the tests of them"),
    (r"WORDS|break_long_words", "tools/*", "the same"),
    (r"(?i)\w*lanes?\w*", "sim/ptx/*", "of a warp"),
    (r"(?i)\w*lanes?\w*", "sim/tests/unit/*", "the same"),
    (r"card", "src/node/config/node_options.c", "the alias of gpu in --env-ceiling"),
    (r"card(_is_an_alias_of_gpu)?", "tests/unit/node/test_node_options.c", "the same"),
    (r"lane_mtps", "sim/nvml/device/pcie.c", "of PCI Express"),
    (r"\w*look_up\w*", "*", "to look up: what dlsym does"),
    (r"look", "tests/e2e/*", "the program that pods of the tests run"),
    (r"places?", "*/meson.build", "the verb: tools/place puts programs into build/bin"),
    (r"places?", "meson.build", "the same"),
    (r"place", "tools/deb", "the verb: to place a file in a package"),
    (r"(cluster|concurrent|init|pods?)_place", "*", "the verb: to place a pod"),
    (r"place", "tests/scheduler/*", "the same"),
    (r"variables?_place", "sim/cuda/module/module.c", "the verb: to place a variable in memory"),
    (r"accounts?", "tests/e2e/*", "a Kubernetes service account"),
    (r"(?i)\w*service_?accounts?\w*", "*", "the same"),
    (r"hunt_load", "bench/*", "the program of make hunt"),
    (r"hunt|HUNT|HUNT_SECONDS", "Makefile", "make hunt"),
]
ALLOWED_PATHS = {
    "bench/hunt.py": "make hunt", "bench/hunt_load.c": "its program", "tests/e2e/images/look.c": "the program of the pods",
    "lib/contract/region_word.h": "an atomic word", "lib/net/grpc_wire.c": "the wire format of gRPC",
    "lib/net/grpc_wire.h": "the same", "tests/unit/net/test_grpc_wire.c": "its test", "tools/place": "the verb",
    "tests/abi/words.py": "this file",
}
WHERE = (".ci", ".github", "api", "bench", "deploy", "docs", "lib", "sim", "src", "tests", "tools")
# Comments and texts: of C, of Python.
C_PROSE = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
PYTHON_PROSE = re.compile(r'''#[^\n]*|""".*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'''', re.S)
KEY = re.compile(r"[a-z]+(?:_[a-z]+)*")


def retired(name, text):
    """The retired words of a file, as 'file:line: word: say …'."""
    allowed = [re.compile(pattern) for pattern, glob, _ in ALLOWED if fnmatch.fnmatch(name, glob)]
    patterns = RETIRED + (SENTENCES if any(fnmatch.fnmatch(name, glob) for glob in SAID_IN) else [])
    lines = text.splitlines()
    return [f"{name}:{number}: '{found.group().strip()}': say {instead}"
            for pattern, instead in patterns if pattern.search(text)
            for number, line in enumerate(lines, 1)
            for found in pattern.finditer(line) if not any(row.search(line) for row in allowed)]


def phrases(name, text):
    """The rewritten phrases of a file; one may go on in the next line."""
    if any(fnmatch.fnmatch(name, glob) for pattern, glob, _ in ALLOWED if pattern == "."):
        return []
    words = set(re.findall(r"[a-z]+", text.lower()))
    return [f"{name}:{text.count(chr(10), 0, found.start()) + 1}: '{' '.join(found.group().split())}': say {instead}"
            for word, pattern, instead in PHRASES if word in words for found in pattern.finditer(text)]


def parts(name):
    """'loop_turn', 'ServiceAccountName' and 'TURN_MS' as lower-case words, in the singular."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return {part.lower() for part in found} | {part.lower().removesuffix("s") for part in found}


def code(name, text):
    """The code of a file, line by line, without comments and texts; a text that is one name, as a JSON key is, stays."""
    def key(found):
        inner = found.group().strip("'\"")
        return inner if KEY.fullmatch(inner) else "\n" * found.group().count("\n")
    if name.endswith((".c", ".h", ".cu", ".proto")):
        text = C_PROSE.sub(key, text)
    elif name.endswith(".py") or "python" in text.partition("\n")[0]:
        text = PYTHON_PROSE.sub(key, text)
    elif name.endswith("meson.build"):
        text = re.sub(r"#.*|'[^'\n]*'", "", text)
    elif name == "Makefile":
        text = re.sub(r"^(?:([\w-]+)(?=:)|(\w+)(?= \?=))?.*$", lambda line: " ".join(
            filter(None, [*line.groups(), *re.findall(r"\$\((\w+)", line.group())])), text, flags=re.M)
    else:
        return []
    return text.split("\n")


def identifiers(name, text):
    """(line, identifier) of those in which a retired word is a part."""
    if not HAS_PART.search(text):
        return []
    return [(number, word) for number, line in enumerate(code(name, text), 1) if HAS_PART.search(line)
            for word in re.findall(r"[A-Za-z_]\w*", line) if parts(word) & PARTS.keys()]


def retired_names(name, found):
    """Those identifiers of a file that no row of the allow-list has."""
    allowed = [re.compile(pattern) for pattern, glob, _ in ALLOWED_NAMES if fnmatch.fnmatch(name, glob)]
    return [f"{name}:{number}: '{word}': say {PARTS[part]}" for number, word in found
            if not any(row.fullmatch(word) for row in allowed) for part in sorted(parts(word) & PARTS.keys())]


def retired_path(name):
    if FILES.fullmatch(name.rpartition("/")[2]):
        return [f"{name}: a retired name of a file"]
    return [f"{name}: say {PARTS[part]}" for part in parts(name) & PARTS.keys() if name not in ALLOWED_PATHS]


def read(path):
    """The text of a file; what is none, and links, are empty."""
    try:
        return "" if path.is_symlink() else path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def files(root):
    """Sources, pages and charts; without git too, as from a released archive."""
    where = [name for name in WHERE if pathlib.Path(root, name).exists()]
    found = subprocess.run(["find", *where, "-name", "__pycache__", "-prune", "-o", "-name", "go.sum", "-o", "-type", "f",
                            "-print"], cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")
    return sorted(filter(None, found)) + sorted(
        path.name for pattern in ("*.md", "Makefile", "meson*") for path in pathlib.Path(root).glob(pattern))


def main(root):
    tap = Tap()
    planted = ("enum cheat_policy policy;", "the GPU is sick", "CHEAT_MEMORY", "struct user_seats *s", "import lab",
               "class NodeTumult:", "vgpu.io/kept-node", "gpu_turn_begin(&t)", "is_volcanos = true", "struct placement_card *card;",
               "GPU 0: the card is full", "event GrowthTakenBack", "Vgpu__V1__Answer answer = VGPU__V1__ANSWER__YES;")
    innocent = ("a doorbell rings", "in turn", "look at it", "the whole GPU", "seated", "on the wire", "a label", "import labels",
                "he was sent away", "a wildcard", "discard it", "rest of it", "well, again", "candidate_lock", "unaccounted")
    tap.check("a planted retired word is found", [text for text in planted if not retired("src/x.c", text)])
    tap.check("ordinary English is not", [text for text in innocent if retired("src/x.c", text)])
    code_of = {
        "src/x.c": ("static int room_find(void);", "uint32_t place;", "struct { int a, turns; } x;", "enum { LOOK_MS = 1 };",
                    "tenant_word(t);", 'json_set("whole_account", 1);', 'json_out_number(json, "place", 1);',
                    "struct hunt hunt;", "http_wire(&c);", "TEST(whoever_asks_waits)"),
        "tests/x.py": ("self.lab.run()", "def test_an_account_is_kept(self):", "for turn in rounds:", "rest = text[1:]"),
        "api/x.proto": ("uint32 place = 2;",), "tests/meson.build": ("soak_turns = executable('a')", "cli_place / 'vgpu'"),
        "Makefile": ("turns-soak: all ## x", "\t@run $(TURNS)"), ".ci/run": ("tests/soak/turns_soak $build",)}
    tap.check("a planted name is found", [text for name, texts in code_of.items() for text in texts
                                          if not retired_names(name, identifiers(name, text)) + retired(name, text)])
    tap.check("other names are not", [text for name, text in (
        ("src/x.c", "/* make room in place */ placement_find(workplace, label, available, \"take a turn\");"),
        ("src/x.c", "return look_up(restore, Wireless, keyword, returned, broom);"),
        ("src/x.c", "char *word; cluster_place(node, service_account);"),
        ("tests/x.py", "'take the rest'  # its room\nservice_account = words"),
        ("Makefile", "hunt: all ## look at it\n\t@bench/hunt.py $(HUNT)"))
        if retired_names(name, identifiers(name, text))])
    tap.check("a planted sentence is found", [text for text in (
        'tap.check("its room is lost", x)', 'tap.check("they take turns", x)', 'say("the pod was told", x)')
        if not retired("tests/net/x.py", text)])
    tap.check("a planted phrase is found, ordinary English is not", [text for text in (
        "/* A launch that the container cannot pay\n * for waits */", "the allocation goes on\non the host",
        "The nodes must get at it.", "Runtime: what grew gives way.", "a thread of its, and no more", "Where it stands: done.")
        if not phrases("src/x.c", text)] + [text for text in (
            "a thread of its own", "to go on once it has", "a process of its container", "what they pay for", "nobody gets at it")
        if phrases("src/x.c", text)])
    tap.check("a planted path is found", [path for path in (
        "src/runtime/given.h", "tests/unit/node/test_hearsay.c", "src/scheduler/who.c", "src/node/share_room.c", "tests/soak/turns_soak.c", "tests/runtime/lab.py", "lib/hunt/find.c", "docs/account.md")
        if not retired_path(path)] + [path for path in (
            "src/node/turnstile.c", "lib/placement.h", "src/preload/real/libc_lookup.c", "sim/cuda/memory/copy_shape.c") if retired_path(path)])
    names = files(root)
    texts = {name: read(pathlib.Path(root, name)) for name in names}
    tap.check("no retired word is in use", [line for name in names for line in retired(name, texts[name])]
              if len(names) > 1000 else f"only {len(names)} files")
    tap.check("no rewritten phrase is in use", [line for name in names for line in phrases(name, texts[name])])
    found = {name: identifiers(name, texts[name]) for name in names}
    tap.check("no identifier has a retired part", [line for name in names for line in retired_names(name, found[name])])
    tap.check("no file name has a retired part", [line for name in names for line in retired_path(name)])
    tap.check("every name of the allow-list is in use", [pattern for pattern, glob, _ in ALLOWED_NAMES if not any(
        re.fullmatch(pattern, word) for name in names if fnmatch.fnmatch(name, glob) for _, word in found[name])] +
        sorted(ALLOWED_PATHS.keys() - set(names)))
    tap.check("every file of the allow-list is there",
              [glob for _, glob, _ in ALLOWED if not any(fnmatch.fnmatch(name, glob) for name in names)])
    tap.done()


main(*sys.argv[1:])
