"""The public names of gpuvet.models, and the documents that show them."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import gpuvet.models
from gpuvet.models.catalogue import RESOURCES


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(4))
def test_every_documented_snippet_runs(checkout: Path, number: int) -> None:
    snippets = blocks(checkout / "docs" / "python-api.md", "python")
    assert len(snippets) == 4
    assert "assert" in snippets[number]
    exec(compile(snippets[number], f"docs/python-api.md, snippet {number + 1}", "exec"), {})


def test_public_names_exist_and_are_documented() -> None:
    assert list(gpuvet.models.__all__) == sorted(gpuvet.models.__all__)
    for name in gpuvet.models.__all__:
        assert getattr(gpuvet.models, name).__doc__, name


def test_every_kind_can_be_imported() -> None:
    assert {model.__name__ for model in RESOURCES.values()} <= set(gpuvet.models.__all__)


def test_editors_page_names_schemas_that_exist(checkout: Path) -> None:
    page = checkout / "docs" / "editors.md"
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`([a-z-]+\.json)`", text):
        assert (checkout / "schemas" / "editor" / name).exists() or (checkout / "schemas" / name).exists(), name
    for name in re.findall(r"main/schemas/(\S+?\.json)", text):
        assert (checkout / "schemas" / name).exists(), name
    (settings,) = blocks(page, "json")
    assert list(json.loads(settings)) == ["yaml.schemas"]


def test_schemas_readme_names_files_that_exist(checkout: Path) -> None:
    folder = checkout / "schemas"
    text = (folder / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (folder / target).exists(), target
    for target in re.findall(r"(?<= )schemas/\S+\.(?:json|yaml)", text):
        assert (checkout / target).exists(), target


def test_kubeconform_layout(checkout: Path) -> None:
    """Group, kind in lower case and version, as kubeconform fills them in."""
    for model in RESOURCES.values():
        group, version, kind = model.identity()
        path = checkout / "schemas" / "jsonschema" / group / f"{kind.lower()}_{version}.json"
        schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator(schema).validate({"apiVersion": f"{group}/{version}", "kind": kind})


def test_good_examples_conform_to_models_and_schemas(checkout: Path) -> None:
    from gpuvet.manifests.reader import read
    from schemas.instances import pydantic_refuses, schema_refuses

    kinds = {model.identity(): name for name, model in RESOURCES.items()}
    judged = []
    for path in sorted((checkout / "examples" / "good").rglob("*.yaml")):
        for document in read(path.read_bytes()).documents:
            value = document.value
            group, _, version = str(value.get("apiVersion")).rpartition("/") if isinstance(value, dict) else ("", "", "")
            if (name := kinds.get((group, version, value.get("kind") if isinstance(value, dict) else ""))) is not None:
                assert pydantic_refuses(name, value) == []
                assert schema_refuses(name, value) == []
                judged.append(name)
    assert {"WorkloadProfile", "Device", "VolcanoJob"} <= set(judged)
