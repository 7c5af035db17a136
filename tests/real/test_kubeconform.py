"""Other people's tools can use schemas/: kubeconform, built with Go, judges our instances by schemas/jsonschema/ alone."""

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.build import cache_folder
from gpuvet.models.catalogue import RESOURCES
from schemas.instances import TABLE, whole, written

pytestmark = pytest.mark.real

VERSION = "v0.8.0"


@pytest.fixture(scope="module")
def kubeconform() -> Path:
    """The program, kept in the user's cache folder."""
    folder = cache_folder() / f"kubeconform-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "kubeconform"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            assert shutil.which("go") is not None, "building kubeconform needs Go (https://go.dev/dl)"
            command = ["go", "install", f"github.com/yannh/kubeconform/cmd/kubeconform@{VERSION}"]
            subprocess.run(command, env=os.environ | {"GOBIN": str(folder)}, cwd=folder, check=True)
    return program


def verdicts(program: Path, checkout: Path, documents: list[dict[str, Any]]) -> list[str]:
    """statusValid, statusInvalid ... of each document, in order."""
    location = checkout / "schemas" / "jsonschema" / "{{ .Group }}" / "{{ .ResourceKind }}_{{ .ResourceAPIVersion }}.json"
    named = [document | {"metadata": {"name": f"i{number:04}"}} for number, document in enumerate(documents)]
    command = [str(program), "-strict", "-verbose", "-output", "json", "-schema-location", str(location), "-"]
    text = "---\n".join(yaml.safe_dump(document) for document in named)
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
    found = {each["name"]: each["status"] for each in json.loads(done.stdout)["resources"]}
    return [found[document["metadata"]["name"]] for document in named]


def test_every_whole_object_is_valid(kubeconform: Path, checkout: Path) -> None:
    assert set(verdicts(kubeconform, checkout, [whole(kind) for kind in RESOURCES])) == {"statusValid"}


@pytest.mark.parametrize("kind", TABLE)
def test_instances_get_their_verdicts(kubeconform: Path, checkout: Path, kind: str) -> None:
    instances = [each for each in written(kind) if each.wrong != "kind"]
    expected = ["statusInvalid" if each.wrong and "jsonschema" not in each.differs else "statusValid" for each in instances]
    found = verdicts(kubeconform, checkout, [each.document for each in instances])
    # Kubeconform checks dates by the calendar, too.
    wrong = [
        (each.name, verdict)
        for each, want, verdict in zip(instances, expected, found, strict=True)
        if verdict != want and each.differs.get("jsonschema") != "date"
    ]
    assert wrong == []
