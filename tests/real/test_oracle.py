"""The reader against the real sigs.k8s.io/yaml, built with Go: the committed table, and texts made at random."""

import json
import random
import runpy
from pathlib import Path
from typing import Any

import pytest

from gpuvet.manifests.reader import read

pytestmark = pytest.mark.real

ORACLE = runpy.run_path(str(Path(__file__).parent / "oracle" / "make_table.py"))
ATOMS = (
    'a', 'b: 1', '- x', '- - y', '{', '}', '[', ']', ',', ': ', '? ', "'q'", '"d"', '\n', '\n', '\n  ', '\n    ', '&a ', '*a',
    '<<: *a', '<<: {k: 2}', '|\n', '>\n', '# c', '---\n', '\t', '!!int ', '!!str ', '!foo ', '1', 'yes', '~', '"\\u00e9"',
    "'it''s'", 'k: ', 'c: ', '\r\n', 'é', '\U0001f600', '\u2028', '\x85', '=', '@x', '`', '- ', 'x:y', '-\n', '?a',
)  # fmt: skip


def outcome(text: str) -> tuple[Any, list[str], bool]:
    """Value of the first document, codes of all problems, and whether the text has more than that one document."""
    reading = read(text.encode())
    codes = [problem.code for problem in reading.problems] + [
        problem.code for document in reading.documents for problem in document.problems
    ]
    value = reading.documents[0].value if reading.documents else None
    return value, codes, len(reading.documents) + reading.empty + len(reading.problems) > 1


def test_the_committed_table_is_what_the_library_says() -> None:
    committed = json.loads(ORACLE["TABLE"].read_text(encoding="utf-8"))
    assert ORACLE["ask"](ORACLE["cases"]()) == committed


@pytest.mark.parametrize("seed", range(5))
def test_random_scalars(seed: int) -> None:
    texts = ORACLE["random_scalars"](random.Random(seed), 10_000)
    wrong = []
    for answer in ORACLE["ask"](texts):
        value, codes, _ = outcome(answer["text"])
        if bool(codes) != ("error" in answer) or ("json" in answer and not ORACLE["same"](value, answer["json"])):
            wrong.append((answer, value, codes))
    assert not wrong


@pytest.mark.parametrize("seed", range(3))
def test_random_structures(seed: int) -> None:
    """What the library reads, we read alike or report; what it refuses we report, but for libyaml's newer rules for flow style."""
    source = random.Random(seed)
    texts = ["".join(source.choice(ATOMS) for _ in range(source.randint(1, 9))) + "\n" for _ in range(20_000)]
    wrong = []
    compared = 0
    for answer in ORACLE["ask"](texts):
        value, codes, several = outcome(answer["text"])
        if several:
            continue
        if "error" in answer:
            if not codes and "did not find expected ',' or" not in answer["error"]:
                wrong.append((answer, value))
        elif not codes:
            compared += 1
            if not ORACLE["same"](value, answer["json"]):
                wrong.append((answer, value))
    assert not wrong
    assert compared > 2_000
