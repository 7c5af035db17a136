"""Puts small faults into the printers, one at a time, and tells whether the differential tests notice.

    python tests/differential/mutate.py [--write]

Each fault is a piece of a printer's source that is replaced by another. With `--write` the result goes into docs/parity.md. OPA judges what
the Rego printer wrote, and what the Python printers wrote is held against it; the API server's own code, in the environment of Kubernetes
1.30, judges what the CEL printer wrote. A quarter of an hour at most.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "parity.md"
PRINTERS = "gpuvet/language/printers"
RULES = (
    *("QG003", "QG004", "QG006", "QG019", "QG033", "TF005", "TF012", "PL092", "PL105"),
    *("KM008", "KM011", "KM013", "KM017", "KM027", "K8S001", "K8S007", "VJ097"),
)
"""Enough to have every operator of the language in it, and few enough to be quick."""


class Fault(NamedTuple):
    """What is replaced by what."""

    file: str
    old: str
    new: str


CEL = (
    Fault("cel_totals.py", '[int({value}), 0])"', '[int({value}), 1])"'),
    Fault("cel_totals.py", "&& size({value}) < 100 &&", "&& size({value}) < 3 &&"),
    Fault("cel_totals.py", "{value}[1] == 0 ? {value}[0] : null", "{value}[0] >= 0 ? {value}[0] : null"),
    Fault("cel_totals.py", "{one[1]} {op} {other[1]}", "{one[1]} < {other[1]}"),
    Fault("cel_totals.py", "({one[0]} {op[0]} {other[0]} ||", "({one[0]} {op} {other[0]} ||"),
    Fault("cel_totals.py", "? '[' + {key} + ']'", "? '[' + {key}"),
    Fault("cel_totals.py", "? {value}['name'] : string({index})", "? {value}['name'] : string({index} + 1)"),
    Fault("cel_totals.py", 'f"{left} % {right} + ({rest}', 'f"{left} / {right} + ({rest}'),
    Fault("cel.py", '" && ".join(self.test(part)', '" || ".join(self.test(part)'),
    Fault("cel.py", '" || ".join(self.test(part)', '" && ".join(self.test(part)'),
    Fault("cel.py", 'return _bool(f"!{_closed(self.test(of))}")', "return _bool(self.test(of))"),
    Fault("cel.py", 'return _bool(f"({code.text} != null)")', 'return _bool(f"({code.text} == null)")'),
    Fault("cel.py", 'quoted(f"^(?:{settled})$")', 'quoted(f"^(?:{settled})")'),
    Fault("cel.py", 'self.scope.part("regular" if which == "containers" else "starting")', 'self.scope.part("regular")'),
    Fault("cel.py", "b.filter(x, x != null)", "b.filter(x, x == null)"),
    Fault("cel.py", 'return inner if test == "true" else f"({test} ? {inner} : [])"', "return inner"),
    Fault("cel.py", '[scope.part("metadata_at")]', '[scope.part("spec_at")]'),
    Fault("cel.py", "? [] : {record})", "? {record} : [])"),
    Fault("cel.py", "({self.test(test)} ? {one.dyn} : {other.dyn})", "({self.test(test)} ? {other.dyn} : {one.dyn})"),
    Fault("cel.py", "a.exists(x, x[0] != null) || b.exists(x, x != null)", "b.exists(x, x == null)"),
)  # fmt: skip
REGO = (
    Fault("rego.py", "lib.all_true([", "lib.some_true(["),
    Fault("rego.py", "lib.some_true([", "lib.all_true(["),
    Fault("rego.py", 'return f"lib.no({self.truth(of)})"', "return self.truth(of)"),
    Fault("rego.py", "return [self.compared(of, ir.ABSENT, \"!=\")]", "return [self.compared(of, ir.ABSENT, \"==\")]"),
    Fault("rego.py", "'below' if op in ('<', '>') else 'up_to'", "'up_to'"),
    Fault("rego.py", "'below' if op in ('<', '>') else 'up_to'", "'below'"),
    Fault("rego.py", '(left, right) if op in ("<", "<=") else (right, left)', "(left, right)"),
    Fault("rego.py", "quoted(f'^(?:{pattern})$')", "quoted(f'^(?:{pattern})')"),
    Fault("rego.py", '"%": "mod"', '"%": "floored"'),
    Fault("rego.py", 'return f"lib.member({v(item)}, {v(of)})"', 'return f"lib.member({v(of)}, {v(item)})"'),
    Fault("rego.py", "lib.{'whole' if ir.type_of(of) == 'quantity' else 'integer'}", "lib.integer"),
    Fault("rego.py", 'return f"lib.quantity({v(of)})"', 'return f"lib.integer({v(of)})"'),
    Fault("rego.py", 'return f"lib.pod_sum(s.pod, {v(key)})"', 'return f"lib.pod_sum({{}}, {v(key)})"'),
    Fault(
        "rego.py",
        'return f"{self.hits(expr)} != []"\n            case ir.Quantified(op="all"):',
        'return f"{self.hits(expr)} == []"\n            case ir.Quantified(op="all"):',
    ),
    Fault("rego.py", 'yield f"not lib.undecided(s, {because})"', 'yield f"lib.undecided(s, {because})"'),
    Fault("rego.py", "return f\"lib.either({v(then)}, {v(otherwise)})\"", "return v(then)"),
    Fault("rego.py", 'return f"lib.is_type({v(of)}, {quoted(name)})"', 'return f"lib.no(lib.is_type({v(of)}, {quoted(name)}))"'),
    Fault("rego.py", 'return _Place.of(*self.literal, *keys)', 'return _Place.of(*self.literal, *keys[:-1])'),
    Fault("rego.py", 'guards.append(f"{quoted(trigger[0])} in s.tokens")', 'guards.append(f"not {quoted(trigger[0])} in s.tokens")'),
    Fault(
        "rego.py",
        'return f"lib.pick({self.truth(test)}, {v(then)}, {v(otherwise)})"',
        'return f"lib.pick({self.truth(test)}, {v(otherwise)}, {v(then)})"',
    ),
)  # fmt: skip

PYTHON = (
    Fault("python.py", 'return f"({v(of)} is not None)"', 'return f"({v(of)} is None)"'),
    Fault("python.py", 'return f"equal({v(left)}, {v(right)})"', 'return f"(not equal({v(left)}, {v(right)}))"'),
    Fault("python.py", 'return f"member({v(item)}, {v(of)})"', 'return f"member({v(of)}, {v(item)})"'),
    Fault("python.py", '" and ".join(v(part)', '" or ".join(v(part)'),
    Fault("python.py", '" or ".join(v(part)', '" and ".join(v(part)'),
    Fault("python.py", 'return f"(not {v(of)})"', "return v(of)"),
    Fault("python.py", 'return f"({v(then)} if {v(test)} else {v(otherwise)})"', 'return f"({v(otherwise)} if {v(test)} else {v(then)})"'),
    Fault("python.py", 'return f"quantity({v(of)})"', 'return f"integer({v(of)})"'),
    Fault("python.py", 'return f"whole({v(of)})" if ir.type_of(of) == "quantity" else f"integer({v(of)})"', 'return f"integer({v(of)})"'),
    Fault("python.py", 'return f"s.pod_sum({v(key)})"', 'return f"s.pod_sum([{v(key)}][1:])"'),
    Fault("python.py", 'return f"any({inner} for {source})"', 'return f"all({inner} for {source})"'),
    Fault("python.py", 'return f"all({inner} for {source})"', 'return f"any({inner} for {source})"'),
    Fault("python.py", 'f"*{self.located(part)}" for part in parts)', 'f"*{self.located(part)}" for part in parts[:1])'),
    Fault("python.py", "{', '.join(reversed(keys))})\"", "{', '.join(keys)})\""),
    Fault("python.py", "return self.because(of, not truth)", 'return "[]"'),
    Fault("screen.py", '" or ".join(v(part) for part in sorted', '" and ".join(v(part) for part in sorted'),
    Fault("screen.py", 'return f"({v(left)} == {text!r})"', 'return f"({v(left)} != {text!r})"'),
    Fault("screen.py", 'return f"(type({v(of)}) is str)"', 'return f"(type({v(of)}) is dict)"'),
    Fault("screen.py", "{self.value(body) if exists else self.refuted(body)}", "{self.value(body)}"),
    Fault("screen.py", "if exists != negated:", "if exists == negated:"),
)  # fmt: skip
FAULTS = {"python": PYTHON, "cel": CEL, "rego": REGO}


def noticed(engine: str, fault: Fault | None) -> str:
    """What the differential test says of the printer with the fault; empty when it says nothing."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "validator"
        shutil.copytree(ROOT / "validator", source, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("rules", "policies", "schemas"):
            (Path(folder) / name).symlink_to(ROOT / name)
        shutil.copy(ROOT / "pyproject.toml", folder)
        if fault is not None:
            path = source / PRINTERS / fault.file
            text = path.read_text("utf-8")
            assert fault.old in text, f"{fault.file} has no {fault.old!r} any more"
            path.write_text(text.replace(fault.old, fault.new), "utf-8")
        environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
        if engine == "python" and fault is not None:
            printed = [sys.executable, "-m", "gpuvet", "generate", "compiled"]
            subprocess.run(printed, env=environment, cwd=folder, capture_output=True, check=True, timeout=600)
        # What Python printed is held against OPA.
        command = [sys.executable, str(Path(__file__).with_name("short.py")), "cel" if engine == "cel" else "rego", ",".join(RULES)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode == 0:
            return ""
        return (done.stdout.strip() or done.stderr.strip()).splitlines()[-1][:110]


def main() -> int:
    """How many faults went unnoticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the result into docs/parity.md")
    parser.add_argument("--engine", choices=[*FAULTS], action="append")
    options = parser.parse_args()
    start = time.monotonic()
    rows = []
    missed = 0
    for engine in options.engine or FAULTS:
        sound = noticed(engine, None)
        assert not sound, f"{engine}: the printer as it is differs already: {sound}"
        faults = FAULTS[engine]
        with ThreadPoolExecutor(2) as pool:
            told = list(pool.map(lambda fault, engine=engine: noticed(engine, fault), faults))
        for fault, said in zip(faults, told, strict=True):
            missed += not said
            rows.append(f"| {engine} | `{_cell(fault.old)}` | `{_cell(fault.new)}` | {'yes' if said else '**no**'} |")
            print(f"{engine} {'caught' if said else 'MISSED'}: {fault.old!r} -> {fault.new!r}: {said}", flush=True)
    print(json.dumps({"faults": len(rows), "missed": missed, "seconds": round(time.monotonic() - start)}))
    if options.write:
        write(rows, missed)
    return missed


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def write(rows: list[str], missed: int) -> None:
    """Renews the table of the page."""
    page = PAGE.read_text("utf-8")
    head, _, _ = page.partition("<!-- faults -->")
    lines = [
        f"{len(rows) - missed} of {len(rows)} faults were caught.",
        "",
        "| Printer | This | became | Caught |",
        "|---|---|---|---|",
        *rows,
    ]
    PAGE.write_text(head + "<!-- faults -->\n\n" + "\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
