"""What is kept of objects that rules look up."""

import pytest

from gpuvet.manifests.reader import read
from gpuvet.scan.facts import facts_of

KINDS = frozenset({"WorkloadProfile"})


@pytest.mark.parametrize("kind", ["[WorkloadProfile]", "{a: 1}", "7", "null"])
def test_a_kind_that_is_no_text_is_no_fact(kind: str) -> None:
    document = read(f"kind: {kind}\nmetadata: {{name: a}}\n".encode()).documents[0]
    assert facts_of(document, "a.yaml", "a.yaml", KINDS) == []


def test_an_object_of_a_wanted_kind_is_kept() -> None:
    document = read(b"kind: WorkloadProfile\nmetadata: {name: a, namespace: b}\nspec: {replicas: 1}\n").documents[0]
    (fact,) = facts_of(document, "a.yaml", "a.yaml", KINDS)
    assert (fact.name, fact.namespace, fact.value["spec"]) == ("a", "b", {"replicas": 1})
