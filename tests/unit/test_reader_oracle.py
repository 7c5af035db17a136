"""The reader against the committed answers of sigs.k8s.io/yaml (`make oracle` renews them)."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from gpuvet.manifests.reader import read

ORACLE = runpy.run_path(str(Path(__file__).parents[1] / "real" / "oracle" / "make_table.py"))
TABLE: list[dict[str, Any]] = json.loads(ORACLE["TABLE"].read_text(encoding="utf-8"))

# Where we differ on purpose, and why.
DIFFERENCES = {
    "---\n---\na: 1\n": "the library reads the first document only, which is empty; we read the stream, as kubectl does",
    "a: &x 1\n---\nb: *x\n": "the library does not look at the second document; kubectl refuses it, and so do we",
    '{"a":"\\/"}\n': "the library's YAML has no such escape, but kubectl reads a file that starts with `{` as JSON first",
}
# Problems that do not keep Kubernetes' library from reading the document, but are worth reporting.
HARMLESS_TO_THE_LIBRARY = {
    "IN005": "a duplicate key: the last one wins, strict mode and gpuvet report it",
    "IN006": "`<<` below a key overrides it",
    "IN009": "the library takes it, but kubectl splits the stream before the library sees it, and fails",
}


def test_the_table_is_the_one_that_would_be_made() -> None:
    assert [answer["text"] for answer in TABLE] == ORACLE["cases"]()


@pytest.mark.parametrize(
    "answer", [answer for answer in TABLE if answer["text"] not in DIFFERENCES], ids=lambda answer: repr(answer["text"][:40])
)
def test_we_read_what_kubernetes_reads(answer: dict[str, Any]) -> None:
    reading = read(answer["text"].encode())
    problems = [*reading.problems, *(problem for document in reading.documents for problem in document.problems)]
    if "error" in answer:
        assert problems, f"Kubernetes says: {answer['error']}"
        assert all(problem.code not in HARMLESS_TO_THE_LIBRARY or problem.code == "IN009" for problem in problems)
    else:
        assert {problem.code for problem in problems} <= HARMLESS_TO_THE_LIBRARY.keys()
        value = reading.documents[0].value if reading.documents else None
        assert ORACLE["same"](value, answer["json"])


@pytest.mark.parametrize("text", DIFFERENCES)
def test_the_differences_are_still_there(text: str) -> None:
    answer = next(answer for answer in TABLE if answer["text"] == text)
    reading = read(text.encode())
    value = reading.documents[0].value if reading.documents else None
    assert "error" in answer or reading.problems or not ORACLE["same"](value, answer["json"])
