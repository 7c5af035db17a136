"""Objects with several changes at once are judged alike by the models and by JSON Schema; tests/cluster/ asks a real API server too."""

import pytest
from hypothesis import given, settings
from hypothesis.strategies import lists, sampled_from

from gpuvet.models.catalogue import RESOURCES
from schemas.instances import Instance, changes, combined, pydantic_refuses, schema_refuses


@pytest.mark.parametrize("kind", RESOURCES)
def test_models_and_json_schema_agree(kind: str) -> None:
    @settings(max_examples=30, deadline=None)
    @given(lists(sampled_from(changes(kind)), min_size=2, max_size=5))
    def agree(chosen: list[Instance]) -> None:
        instance = combined(kind, chosen)
        refused = instance.wrong is not None
        assert bool(pydantic_refuses(kind, instance.document)) == refused
        assert bool(schema_refuses(kind, instance.document)) == (refused != ("jsonschema" in instance.differs)), instance.name

    agree()
