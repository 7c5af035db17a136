"""A new key costs one line in one model file: everything else follows."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

LINE = '    new_key: Qos | None = key("tensor-fusion.ai/quality-floor", "Least service level.", example="low", since="9.1.0")\n'


def test_one_line_reaches_tables_schemas_documents_and_hints(checkout: Path, tmp_path: Path) -> None:
    for folder in ("validator", "rules", "policies", "schemas", "docs", "tests/fixtures"):
        shutil.copytree(checkout / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(checkout / "pyproject.toml", tmp_path)
    models = tmp_path / "validator" / "gpuvet" / "models" / "tensor_fusion_keys.py"
    first = "    gpupool: ObjectName | None = key("
    models.write_text(models.read_text(encoding="utf-8").replace(first, LINE + first, 1), encoding="utf-8")

    def gpuvet(*arguments: str, expected: int = 0) -> str:
        environment = os.environ | {"PYTHONPATH": str(tmp_path / "validator")}
        command = [sys.executable, "-m", "gpuvet", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == expected, done.stderr
        return done.stdout + done.stderr

    wrote = {line.removeprefix("wrote: ") for line in gpuvet("generate").splitlines()}
    assert {"compiled/keys.py", "schemas/editor/pod-template.json", "docs/reference/tensor-fusion.md"} <= wrote
    annotations = json.loads((tmp_path / "schemas/jsonschema/vocabularies/tensor-fusion-annotations.json").read_text(encoding="utf-8"))
    assert annotations["properties"]["tensor-fusion.ai/quality-floor"] == {
        "description": "Least service level. Since TensorFusion 9.1.0.",
        "type": "string",
        "enum": ["low", "medium", "high", "critical"],
        "examples": ["low"],
    }
    assert '"tensor-fusion.ai/quality-floor"' in (tmp_path / "schemas/editor/pod-template.json").read_text(encoding="utf-8")
    rows = (tmp_path / "docs/reference/tensor-fusion.md").read_text(encoding="utf-8").splitlines()
    assert sum(row.startswith("| `tensor-fusion.ai/quality-floor` |") for row in rows) == 1

    rules = tmp_path / "own.yaml"
    known = "known_keys: {of: pod.metadata.annotations, domain: tensor-fusion.ai, near: true}"
    rules.write_text(
        "rules:\n  - {id: OWN001, name: unknown, severity: error, consequence: advice, on: pod, why: It does nothing.,"
        f" trigger: {{keys: [tensor-fusion.ai/*]}}, {known}}}\n"
    )
    (tmp_path / ".gpuvet.yaml").write_text("ruleFiles: [own.yaml]\n")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "annotations": {"tensor-fusion.ai/qualty-floor": "low"}},
        "spec": {"containers": [{"name": "a", "image": "i"}]},
    }
    (tmp_path / "pod.yaml").write_text(json.dumps(pod))
    report = json.loads(gpuvet("check", "--format", "json", "pod.yaml", expected=1))
    expected = {finding["expected"] for finding in report["findings"] if finding["rule"] == "OWN001"}
    assert expected == {"tensor-fusion.ai/quality-floor"}
