"""Real OPA against the Python rules, one rule at a time, on many more objects than `test_rego.py` has the time for.

    python tests/differential/alone.py [--each 1000] [--part 1/2]

Only the rule that the objects were made for is on, which is what makes them cheap: how rules bear on each other is for `test_rego.py`.
Prints a line for a rule that differs, with the smallest object that shows it, and ends with exit code 1 then. Half an hour on two cores.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from differential.objects import fixtures, mutants
from differential.opa import Opa, server
from differential.python import Reference
from differential.test_rego import BATCH, FIXTURES, smallest
from gpuvet.generate.policies import Exported, exported, render_rego
from gpuvet.settings.config import load_settings


def compared(one: Exported, bases: list[dict[str, Any]], each: int, folder: Path) -> tuple[int, str]:
    """How many findings both have, and how they differ."""
    rule = one.bound.info.id
    config = folder / "config.yaml"
    config.write_text(json.dumps({"rules": {"*": "off", rule: "on"}}), "utf-8")
    settings = load_settings(config)
    for name, text in render_rego(settings).items():
        if name != "lib_test.rego":
            (folder / name).write_text(text, "utf-8")
    reference = Reference(settings)
    count = 0
    with server(*map(str, sorted(folder.glob("*.rego")))) as port:
        opa = Opa(port)
        objects = list(mutants(one.rule, bases, each))
        for start in range(0, len(objects), BATCH):
            part = objects[start : start + BATCH]
            for value, theirs in zip(part, opa.judge(part), strict=True):
                ours = reference.findings(value)
                count += len(ours)
                if ours != theirs:
                    small = smallest(opa, reference, value)
                    ours, theirs = reference.findings(small), opa.judge([small])[0]
                    text = json.dumps(small, ensure_ascii=False)
                    return count, f"only Python: {sorted(ours - theirs)}, only OPA: {sorted(theirs - ours)}: {text}"
    return count, ""


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=1000, help="objects for each rule")
    parser.add_argument("--part", default="1/1", help="1/2: the first of two halves, to run beside the other")
    options = parser.parse_args()
    number, _, parts = options.part.partition("/")
    by_rule: dict[str, list[dict[str, Any]]] = {}
    for rule, value in fixtures(FIXTURES):
        by_rule.setdefault(rule, []).append(value)
    rules = exported(load_settings(None), "rego")[int(number) - 1 :: int(parts)]
    findings, differ = 0, []
    for one in rules:
        rule = one.bound.info.id
        with tempfile.TemporaryDirectory() as folder:
            count, why = compared(one, by_rule[rule], options.each, Path(folder))
        findings += count
        print(f"{rule}: {why or count}", flush=True)
        differ += [rule] if why else []
    print(f"{len(rules)} rules, {len(rules) * options.each} objects, {findings} findings; differing: {', '.join(differ) or 'none'}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
