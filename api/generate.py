#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Views of a symbol table: generate.py VIEW[=OUTPUT]... TABLE TYPES...

Several at once cost one reading; a view without OUTPUT is printed.
TABLE is cuda.tbl or nvml.tbl (its header comment documents the columns), TYPES are the headers
that define types. `generate.py` alone lists the views.
"""

import copy
import itertools
import os
import re
import sys

ROW = re.compile(r"(hook|call|deny|pass)\s+(\w+)\s+(\w[\w ]*[ *])(\w+)\((.*?)\)(?:\s+(.*))?")
NAME = re.compile(r"\(\s*\*\s*(\w+)\s*\)|(\w+)\s*\(|(\w+)\s*(?:\[[^\]]*\])*\s*$")
ATTRIBUTES = {"getproc", "ptsz", "ptds", "preinit", "early", "535", "535-ptsz", "535-ptds", "quick",
              "moves", "parts", "list", "admin"}
# library: its result type; the answer before initialisation, to a null pointer that the real one
# dereferences, to what is not simulated, and after fork (-1: it works)
LIBRARIES = {"cuda": ("CUresult", 3, 1, 801, 3), "nvml": ("nvmlReturn_t", 1, 2, 3, -1)}
NO_PERMISSION = {"cuda": 800, "nvml": 4}


def typedefs(text):
    """The names that a header defines with typedef."""
    text = re.sub(r"/\*.*?\*/|^\s*#.*?$", "", text, flags=re.S | re.M)
    while "{" in text:
        text, count = re.subn(r"{[^{}]*}", " ", text)
        if not count:
            break
    found = (NAME.search(definition) for definition in re.findall(r"\btypedef\b([^;]*);", text))
    return {next(name for name in match.groups() if name) for match in found if match}


class Function:
    """One exported function; a twin shares the body of the function it is a twin of."""

    def __init__(self, match):
        self.verdict, self.family, returns, self.name, parameters, attributes = match.groups()
        self.returns = returns.strip()
        self.parameters = [] if parameters == "void" else parameters.split(", ")
        self.attributes = dict(a.partition("=")[::2] for a in (attributes or "").split())
        self.body = self.name
        self.suffix = ""
        self.base, _, version = self.attributes.get("getproc", "").partition("@")
        self.version = int(version or 0)
        self.is_in_535 = self.attributes.get("535") != "n"

    def twin(self):
        for suffix in ("ptsz", "ptds"):
            if suffix in self.attributes:
                twin = copy.copy(self)
                twin.name = f"{self.name}_{suffix}"
                twin.suffix = suffix
                twin.version = int(self.attributes[suffix])
                twin.is_in_535 = self.is_in_535 and self.attributes.get(f"535-{suffix}") != "n"
                return twin
        return None

    def signature(self, name):
        space = "" if self.returns.endswith("*") else " "
        return f"{self.returns}{space}{name}({', '.join(self.parameters) or 'void'})"

    def names(self):
        return [re.search(r"(\w+)(\[\w*\])?$", p).group(1) for p in self.parameters]


class Table:
    """The rows of one library, and which of the types that they name no header defines."""

    def __init__(self, path, headers):
        self.library = os.path.basename(path).partition(".")[0]
        codes = LIBRARIES[self.library]
        self.result, self.uninitialised, self.crash, self.unsupported, self.forked = codes
        self.headers = [os.path.basename(h) for h in headers]
        self.types = []
        self.functions = []
        self.known = set()
        self.families = [] # whose hooks are written: the views of libvgpu.so
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                self.add(f"{path}:{number}", line.strip())
        defined = set()
        for header in headers:
            with open(header, encoding="utf-8") as text:
                defined |= typedefs(text.read())
        self.by_value = {name for kind, name in self.types if kind == "value"}
        self.undefined = [t for t in self.types if t[1] not in defined]

    def add(self, where, line):
        if not line or line.startswith("#"):
            return
        if line.startswith("type "):
            self.types.append(tuple(line.split()[1:3]))
            return
        match = ROW.fullmatch(line)
        if not match:
            sys.exit(f"{where}: not a row: {line}")
        function = Function(match)
        for attribute in function.attributes:
            if attribute not in ATTRIBUTES:
                sys.exit(f"{where}: unknown attribute '{attribute}'")
        if function.name in self.known:
            sys.exit(f"{where}: {function.name} has a row already")
        self.known.add(function.name)
        self.functions.append(function)
        twin = function.twin()
        if twin:
            self.functions.append(twin)

    def preinit(self, function):
        """The answer before initialisation when all arguments are zero."""
        code = function.attributes.get("preinit", str(self.uninitialised))
        return self.crash if code == "crash" else int(code)


def prototypes(table):
    """header: the exported functions, and the types that no header defines"""
    yield "#pragma once\n"
    yield "#include <stddef.h>\n"
    yield from (f'#include "{header}"' for header in table.headers)
    yield ""
    for kind, name in table.undefined:
        yield f"typedef int {name};" if kind == "enum" else f"typedef struct {name}_st {name};"
    yield ""
    yield from (f"{f.signature(f.name)};" for f in table.functions)


def exports(table):
    """linker version script: exactly the functions of the table"""
    yield "{\nglobal:"
    yield from (f"\t{f.name};" for f in table.functions)
    yield "local:\n\t*;\n};"


def symbols(table):
    """text: the name of each function"""
    yield from (f.name for f in table.functions)


def sim_header(table):
    """header: the number of each function, and the simulated bodies sim_<name>"""
    yield "#pragma once\n"
    yield f'#include "{table.library}_prototypes.h"\n'
    yield "enum {"
    yield from (f"\tFN_{f.name}," for f in table.functions)
    yield "\tFN_COUNT,\n};\n"
    yield from (f"{f.signature('sim_' + f.name)};" for f in table.functions if f.name == f.body)


def sim_names(table):
    """C: what the entry knows of each function, and the rows of cuGetProcAddress"""
    rows = [(f.base, 2 if f.suffix else 0, f.version, f.name) for f in table.functions if f.base]
    yield f'#include "sim_{table.library}.h"'
    yield '#include "entry.h"'
    yield '#include "getproc.h"\n' if rows else ""
    yield "static const struct entry_function functions[] = {"
    for f in table.functions:
        early = "true" if "early" in f.attributes else "false"
        in_535 = "true" if f.is_in_535 else "false"
        yield (f'\t[FN_{f.name}] = {{ "{f.name}", "{f.family}", {table.preinit(f)}, {early},'
               f" {in_535} }},")
    yield "};\n\nconst struct entry_library entry_library = {"
    yield f"\tfunctions, FN_COUNT, {table.uninitialised}, {table.unsupported}, {table.forked}\n}};"
    if rows:
        yield "\nconst struct getproc_row getproc_rows[] = {"
        for base, flag, version, name in sorted(rows):
            yield f'\t{{ "{base}", {version}, {flag}, "{name}", (void (*)(void)){name} }},'
        yield f"}};\nconst unsigned getproc_row_count = {len(rows)};"


def all_zero(table, function):
    tests = []
    for parameter, name in zip(function.parameters, function.names()):
        if parameter.split()[0] not in table.by_value or "*" in parameter:
            # A number with a fraction is no truth value: clang warns of "!".
            is_real = parameter.split()[0] in ("float", "double") and "*" not in parameter
            tests.append(f"{name} == 0" if is_real else f"!{name}")
    return " && ".join(tests) or "true"


def is_stream(parameter):
    return re.fullmatch(r"CUstream \w+", parameter) is not None


def body_call(function):
    """The call of the body. In a twin, the null stream means the thread's own default stream."""
    arguments = [
        f"{name} ? {name} : CU_STREAM_PER_THREAD" if function.suffix and is_stream(parameter) else name
        for parameter, name in zip(function.parameters, function.names())
    ]
    return f"sim_{function.body}({', '.join(arguments)})"


def sim_shells(table):
    """C: the exported functions of the simulated library"""
    yield f'#include "sim_{table.library}.h"'
    yield '#include "entry.h"\n'
    for f in table.functions:
        yield f'__attribute__((visibility("default")))\n{f.signature(f.name)}\n{{'
        if f.returns != table.result:
            yield f"\tentry_note(FN_{f.name});\n\treturn {body_call(f)};\n}}\n"
            continue
        # Without a stream among its parameters, a twin tells its body through a thread variable.
        tells = f.suffix and not any(is_stream(p) for p in f.parameters)
        is_admins = "admin" in f.attributes
        if not tells and not is_admins:
            yield f"\tif (entry_is_quiet())\n\t\treturn {body_call(f)};"
        yield f"\tint r = entry_begin(FN_{f.name}, {all_zero(table, f)});"
        if is_admins:
            yield f"\tif (r == ENTRY_GO && !entry_is_admin())\n\t\tr = {NO_PERMISSION[table.library]};"
        if tells:
            yield "\tentry_per_thread_default = true;"
        yield f"\tif (r == ENTRY_GO)\n\t\tr = (int){body_call(f)};"
        if tells:
            yield "\tentry_per_thread_default = false;"
        yield f"\treturn ({table.result})entry_end(FN_{f.name}, r);\n}}\n"


def sim_defaults(table):
    """C: a weak body for each function, which says that it is not simulated"""
    yield f'#include "sim_{table.library}.h"'
    yield '#include "entry.h"\n'
    for f in table.functions:
        if f.name != f.body:
            continue
        # The section lets tools/unsupported see which defaults no body replaced.
        attributes = '__attribute__((weak, section("unsupported")))'
        yield f"{attributes}\n{f.signature('sim_' + f.name)}\n{{"
        yield from (f"\t(void){name};" for name in f.names())
        answer = f"({table.result})entry_unsupported(FN_{f.name})"
        yield f"\treturn {answer if f.returns == table.result else 0};\n}}\n"


def is_shell(table, function):
    """Does libvgpu.so export it? Only families whose hooks are written: VIEW:FAMILY,FAMILY..."""
    return function.verdict in ("hook", "deny") and function.family in table.families


def is_wanted(table, function):
    """Does libvgpu.so reach for the real one?"""
    return function.verdict == "call" or is_shell(table, function)


def preload_header(table):
    """header: types and table of the real functions, and the hooks hook_<name>"""
    yield "#pragma once\n"
    yield f'#include "{table.library}_prototypes.h"\n'
    wanted = [f for f in table.functions if is_wanted(table, f)]
    for f in wanted:
        if f.name == f.body:
            yield f"typedef {f.signature(f.name + '_fn')};"
    yield f"\nstruct real_{table.library} {{"
    yield from (f"\t{f.body}_fn *{f.name};" for f in wanted)
    yield f"}};\nextern struct real_{table.library} real_{table.library};\n"
    for f in table.functions:
        if f.verdict == "hook" and f.name == f.body and is_shell(table, f):
            yield f"{hook_signature(f)};"


def hook_signature(function):
    parameters = [f"{function.body}_fn *real", *function.parameters]
    space = "" if function.returns.endswith("*") else " "
    return f"{function.returns}{space}hook_{function.body}({', '.join(parameters)})"


class Shape:
    """How the parameters of a shell are written.

    Parameters that x86-64 passes on the stack can be written as one struct: the bytes are the same, and
    the compiler leaves them where they are instead of moving each through a register on the way to the
    driver, which has them in the same place. Not so on arm64: it passes a struct of more than two words by
    its address, and gcc copies those of two words as it copies plain parameters."""

    REGISTERS = 6

    def __init__(self, function, is_packed):
        self.function = function
        names = function.names()
        self.parameters, self.pass_on, self.names = function.parameters, names, names
        self.is_packed = is_packed
        if is_packed:
            self.parameters = [*function.parameters[:self.REGISTERS],
                               f"struct stack_{function.name} stack"]
            self.pass_on = [*names[:self.REGISTERS], "stack"]
            self.names = [*names[:self.REGISTERS], *(f"stack.{n}" for n in names[self.REGISTERS:])]

    @staticmethod
    def packs(function):
        return len(function.parameters) > Shape.REGISTERS

    def declarations(self):
        """The struct, and the shell under the driver's name for it."""
        f = self.function
        if not self.is_packed:
            return
        fields = "; ".join(f"_Alignas(8) {p}" for p in f.parameters[self.REGISTERS:])
        yield f"struct stack_{f.name} {{ {fields}; }};"
        yield f"typedef {self.signature(f'packed_{f.name}_fn')};"
        yield (f'__attribute__((visibility("default"))) {self.signature("shell_" + f.name)}'
               f' __asm__("{f.name}");')

    def shell(self):
        f = self.function
        return self.signature(f"shell_{f.name}" if self.is_packed else f.name)

    def signature(self, name):
        space = "" if self.function.returns.endswith("*") else " "
        return f"{self.function.returns}{space}{name}({', '.join(self.parameters) or 'void'})"

    def call_real(self):
        f = self.function
        real = f"((packed_{f.name}_fn *)(void (*)(void))real)" if self.is_packed else "real"
        return f"{real}({', '.join(self.pass_on)})"

    def call(self, name):
        return f"{name}_{self.function.name}({', '.join(self.pass_on)})"


def real_load(table, function):
    yield f"\t{function.body}_fn *real ="
    yield f"\t\t__atomic_load_n(&real_{table.library}.{function.name}, __ATOMIC_ACQUIRE);"


def preload_call(table, function, names):
    """The body of a shell: find the real one, call the hook."""
    is_result = function.returns == table.result
    refusal = f"({function.returns})start_missing_{table.library}()" if is_result else "0"
    yield from real_load(table, function)
    yield "\tif (__builtin_expect(!real, 0)) {"
    yield f"\t\tstart_{table.library}();"
    yield f"\t\treal = __atomic_load_n(&real_{table.library}.{function.name}, __ATOMIC_ACQUIRE);"
    yield f"\t\tif (!real)\n\t\t\treturn {refusal};\n\t}}"
    yield f"\treturn hook_{function.body}({', '.join(['real', *names])});\n}}\n"


def preload_test(table, shape, test, otherwise):
    """The body of a function that leaves as a jump: to the driver if the test says so."""
    yield from real_load(table, shape.function)
    yield f"\tif (__builtin_expect(real && {test}, 1))"
    yield f"\t\treturn {shape.call_real()};"
    yield f"\treturn {shape.call(otherwise)};\n}}\n"


def preload_quick(table, shape):
    """A shell that asks before it calls the hook."""
    f = shape.function
    is_twin = "true" if f.suffix else "false"
    question = f"quick_{f.body}({', '.join([is_twin, *shape.names])})"
    kind = f.attributes["quick"]
    yield from shape.declarations()
    yield f"__attribute__((noinline)) static {shape.signature('slow_' + f.name)}\n{{"
    yield from preload_call(table, f, shape.names)
    if kind == "launch":
        yield f"__attribute__((noinline)) static {shape.signature('limited_' + f.name)}\n{{"
        yield from preload_test(table, shape, question, "slow")
    yield f'__attribute__((visibility("default")))\n{shape.shell()}\n{{'
    if kind:
        question = "!limits_compute_is_on()"
    yield from preload_test(table, shape, question, "limited" if kind == "launch" else "slow")


def stream_of(function):
    """The stream of a call, as batch.h names it."""
    twins = [f" || real == real_cuda.{function.body}_{s}" for s in ("ptsz", "ptds")
             if s in function.attributes]
    streams = [n for p, n in zip(function.parameters, function.names()) if is_stream(p)]
    stream = streams[0] if streams else "NULL"
    return f"batch_stream({stream}, {twins[0][4:]})" if twins else stream


def preload_move(table, function):
    """The hook of a copy or fill, and the shell that asks for it. Without a stream it waits for work before it."""
    names = function.names()
    waits = not any(is_stream(p) for p in function.parameters)
    test = "!limits_copies_count()" + (" && !meter_has_work()" if waits else "")
    if function.name == function.body:
        yield f"{hook_signature(function)}\n{{"
        yield "\tstruct admission admission;\n"
        if waits:
            yield "\tbatch_wait_begins();"
        yield f"\tmove_admit({stream_of(function)}, (const void *)real,"
        yield f"\t\t   {function.attributes['moves']}, &admission);"
        yield f"\tCUresult r = real({', '.join(names)});"
        yield "\tbatch_settle(&admission, r);"
        if waits:
            yield "\tbatch_wait_ends();"
        yield "\treturn r;\n}\n"
    shape = Shape(function, False)
    yield f"__attribute__((noinline)) static {shape.signature('slow_' + function.name)}\n{{"
    yield from preload_call(table, function, names)
    yield f'__attribute__((visibility("default")))\n{shape.shell()}\n{{'
    yield from preload_test(table, shape, test, "slow")


def preload_part(table, function):
    """The hook of a call after which the stream waits for something that is no work, and the shell that asks for it."""
    names = function.names()
    if function.name == function.body:
        yield f"{hook_signature(function)}\n{{"
        yield f"\tbatch_part({stream_of(function)});"
        yield f"\treturn real({', '.join(names)});\n}}\n"
    shape = Shape(function, False)
    yield f"__attribute__((noinline)) static {shape.signature('slow_' + function.name)}\n{{"
    yield from preload_call(table, function, names)
    yield f'__attribute__((visibility("default")))\n{shape.shell()}\n{{'
    yield from preload_test(table, shape, "!limits_compute_is_on()", "slow")


def list_hook(function):
    """The hook of a list of processes: the container's own."""
    device, count, entries = function.names()
    yield f"{hook_signature(function)}\n{{"
    yield f"\treturn nvml_view_list((nvml_list_fn *)(void *)real, {device}, {count}, {entries},"
    yield f"\t\t\t      sizeof *{entries});\n}}\n"


def preload_shells(table):
    """C: the exported functions of libvgpu.so: find the real one, call the hook"""
    yield f'#include "preload_{table.library}.h"'
    yield '#include "start.h"'
    yield '#include "move.h"' if any("moves" in f.attributes for f in table.functions) else ""
    yield '#include "quick.h"\n' if any("quick" in f.attributes for f in table.functions) else ""
    yield '#include "nvml_view.h"\n' if any("list" in f.attributes for f in table.functions) else ""
    for f in table.functions:
        if not is_shell(table, f):
            continue
        if f.verdict == "hook" and "list" in f.attributes:
            yield from list_hook(f)
        if f.verdict == "hook" and "moves" in f.attributes:
            yield from preload_move(table, f)
            continue
        if f.verdict == "hook" and "parts" in f.attributes:
            yield from preload_part(table, f)
            continue
        if f.verdict == "hook" and "quick" in f.attributes:
            if Shape.packs(f):
                yield "#if defined(__x86_64__)"
                yield from preload_quick(table, Shape(f, True))
                yield "#else"
            yield from preload_quick(table, Shape(f, False))
            if Shape.packs(f):
                yield "#endif\n"
            continue
        yield f'__attribute__((visibility("default")))\n{f.signature(f.name)}\n{{'
        if f.verdict == "deny":
            yield from (f"\t(void){name};" for name in f.names())
            yield f'\treturn ({f.returns})start_deny_{table.library}("{f.name}");\n}}\n'
        else:
            yield from preload_call(table, f, f.names())


def preload_index(table):
    """C: by name, the shell of each function and the offset of its real one"""
    yield "#include <stddef.h>\n"
    yield f'#include "preload_{table.library}.h"'
    yield '#include "index.h"\n'
    rows = sorted((f for f in table.functions if is_shell(table, f) or is_wanted(table, f)),
                  key=lambda f: f.name)
    yield f"const struct index_row index_{table.library}[] = {{"
    for f in rows:
        shell = "NULL" if f.verdict == "call" else f"(void *){f.name}"
        offset = f"offsetof(struct real_{table.library}, {f.name})"
        if not is_wanted(table, f):
            offset = "INDEX_NONE"
        yield f'\t{{ "{f.name}", {shell}, {offset} }},'
    yield f"}};\nconst unsigned index_{table.library}_count = {len(rows)};"


VIEWS = {
    "prototypes": prototypes,
    "exports": exports,
    "symbols": symbols,
    "sim-header": sim_header,
    "sim-names": sim_names,
    "sim-shells": sim_shells,
    "sim-defaults": sim_defaults,
    "preload-header": preload_header,
    "preload-shells": preload_shells,
    "preload-index": preload_index,
}


def wanted(argument):
    """Of VIEW[:FAMILIES][=OUTPUT] the view, the families whose hooks are written, and the output."""
    what, _, output = argument.partition("=")
    view, _, families = what.partition(":")
    return view, families.split(","), output


def view_text(table, view, families):
    table.families = families
    mark = "" if view in ("exports", "symbols") else f"/* Made by generate.py {view} from {table.library}.tbl. */\n"
    return mark + "\n".join(VIEWS[view](table)) + "\n"


def main(arguments):
    views = [wanted(a) for a in itertools.takewhile(lambda a: wanted(a)[0] in VIEWS, arguments)]
    if not views or len(arguments) == len(views):
        listing = "\n".join(f"  {name:15} {view.__doc__}" for name, view in VIEWS.items())
        sys.exit(f"{__doc__}\nViews:\n{listing}")
    path, *headers = arguments[len(views):]
    table = Table(path, headers)
    for view, families, output in views:
        if output:
            with open(output, "w", encoding="utf-8") as out:
                out.write(view_text(table, view, families))
        else:
            sys.stdout.write(view_text(table, view, families))


if __name__ == "__main__":
    main(sys.argv[1:])
