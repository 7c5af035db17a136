"""Every candidate of the specification is accounted for, and what the list says is true."""

from pathlib import Path

import yaml

from gpuvet.compiled.catalogue import RULES
from gpuvet.generate.coverage import CANDIDATES

COVERAGE = yaml.safe_load((Path(__file__).parents[2] / "rules" / "coverage.yaml").read_text("utf-8"))


def test_every_candidate_is_listed() -> None:
    assert {reference: list(numbers) for reference, numbers in COVERAGE.items()} == {
        reference: list(range(1, count + 1)) for reference, count in CANDIDATES.items()
    }


def test_rules_and_list_agree() -> None:
    listed = {(reference, number, rule) for reference, numbers in COVERAGE.items() for number, rules in numbers.items()
              if isinstance(rules, list) for rule in rules}  # fmt: skip
    claimed = set()
    for info in RULES:
        for candidate in info.implements:
            reference, _, number = candidate.partition("/")
            claimed.add((reference, int(number), info.id))
    assert listed == claimed


def test_what_is_not_implemented_says_why() -> None:
    texts = [text for numbers in COVERAGE.values() for text in numbers.values() if isinstance(text, str)]
    assert all(text.partition(":")[0] in ("open", "refused") for text in texts)
    assert all(len(text.partition(":")[2]) > 10 for text in texts)
