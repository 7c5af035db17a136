"""The oracle of the reader: what sigs.k8s.io/yaml, which kubectl uses, makes of YAML texts.

As a script it writes `tests/fixtures/reader/oracle.json` anew, so that the fast tests need no Go. The texts are those of `cases.json`
(`scalars`, as values and as keys; `tagged` and `quoted` ones, as values; whole `texts`) and some made at random, always the same.
An answer is {"text": ..., "json": ...} or {"text": ..., "error": ...}; the library reads the first document of a text only.
"""

import hashlib
import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TABLE = HERE.parent.parent / "fixtures" / "reader" / "oracle.json"
RANDOM_CASES = 400
SEED = 20240607


def cases() -> list[str]:
    """The texts of the committed table; the same every time."""
    chosen = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
    texts = list(chosen["texts"])
    for scalar in chosen["scalars"]:
        texts += [f"v: {scalar}\n", f"{scalar}: v\n"]
    texts += [f"v: {scalar}\n" for scalar in (*chosen["tagged"], *chosen["quoted"])]
    texts += ["2001-12-14 21:59:43.10: v\n", "v: 2001-12-14 21:59:43.10\n", "v: 1 2\n", "v: yes no\n", "v: - 1\n"]
    texts += random_scalars(random.Random(SEED), RANDOM_CASES)
    return list(dict.fromkeys(texts))


def random_scalars(source: random.Random, count: int) -> list[str]:
    """`count` one-line documents with a scalar that is nearly a number, a word or a date."""
    alphabets = ("0123456789_.e+-", "01.+-_xXobB8", "0123456789:-T Z.", "yYnNoOfFtTrueals~.Ii", "0123456789aAfFeExX_")
    out = []
    for _ in range(count):
        alphabet = source.choice(alphabets)
        scalar = "".join(source.choice(alphabet) for _ in range(source.choice((1, 2, 3, 4, 5, 6, 8, 12, 20))))
        out.append(f"v: {scalar}\n" if source.random() < 0.7 else f"{scalar}: v\n")
    return out


def normal(value: Any) -> Any:
    """`value` with numbers as Kubernetes ends up with them: whole numbers within int64 are integers, everything else is a float64."""
    if isinstance(value, dict):
        return {key: normal(member) for key, member in value.items()}
    if isinstance(value, list):
        return [normal(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, float) and value.is_integer() and -(2**63) <= value < 2**63:
        return int(value)
    return value if isinstance(value, float) or -(2**63) <= value < 2**63 else float(value)


def same(ours: Any, theirs: Any) -> bool:
    """Whether two values are the same to Kubernetes, types included."""
    return json.dumps(normal(ours), sort_keys=True) == json.dumps(normal(theirs), sort_keys=True)


def build() -> Path:
    """The oracle program, built once per source and kept in the user's cache folder."""
    key = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in ("go.mod", "go.sum", "main.go"))).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpuvet"
    program = cache / f"yaml-oracle-{key}"
    if not program.exists():
        cache.mkdir(parents=True, exist_ok=True)
        fresh = cache / f"{program.name}.{os.getpid()}"
        subprocess.run(["go", "build", "-trimpath", "-o", str(fresh), "."], cwd=HERE, check=True)
        fresh.replace(program)
    return program


def ask(texts: list[str]) -> list[dict[str, Any]]:
    """The library's answer to each text."""
    result = subprocess.run([build()], input=json.dumps(texts), capture_output=True, text=True, check=True)
    answers = []
    for text, answer in zip(texts, json.loads(result.stdout), strict=True):
        said = {"error": answer["error"]} if "error" in answer else {"json": json.loads(answer["json"])}
        answers.append({"text": text, **said})
    return answers


def main() -> None:
    answers = ask(cases())
    lines = ",\n".join(json.dumps(answer) for answer in answers)
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"{len(answers)} answers -> {TABLE}")


if __name__ == "__main__":
    main()
