"""One table of objects that the Pydantic models, JSON Schema and a real API server judge alike.

Written ones come from `fixtures/instances/objects.yaml`; derived ones change one field of a whole object at a time, for every field of
the kind; combined ones change several. Where the judges may differ, the difference has a reason in REASONS.
"""

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jsonschema
import yaml
from pydantic import ValidationError

from gpuvet.generate.jsonschema import object_schema
from gpuvet.generate.tree import Node, tree_of
from gpuvet.models.base import ModelError
from gpuvet.models.catalogue import RESOURCES
from gpuvet.models.structures import CustomResource, Member

TABLE: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parent.parent / "fixtures" / "instances" / "objects.yaml").read_text(encoding="utf-8")
)
TABLE["TensorFusionWorkload"] = copy.deepcopy(TABLE["WorkloadProfile"])
TABLE["TensorFusionWorkload"]["object"]["kind"] = "TensorFusionWorkload"

Judge = Literal["pydantic", "jsonschema", "server"]

REASONS = {
    "relation": "JSON Schema cannot compare two members, nor the numbers in texts",
    "number": "JSON Schema cannot compare the number in a text with a bound",
    "keys": "JSON Schema knows unique items, but not items that are unique by some of their members",
    "date": "JSON Schema checks the form of a date, not the calendar; a format checker may do more",
    "null": "the API server drops a null member, the models read it as absent; JSON Schema refuses it, since nothing is meant by it",
    "status": "the API server drops the status of an object that is created",
    "format": "the API server takes a list for a text that has a format",
}


class Instance(NamedTuple):
    """An object, and what is to be said of it."""

    kind: str
    name: str
    document: dict[str, Any]
    wrong: str | None = None
    """The field that is refused, by its path with dots, empty for any; None: the object is good."""
    differs: dict[str, str] = {}  # noqa: RUF012
    """Judges that say the opposite, with the reason."""

    @property
    def model(self) -> type[CustomResource]:
        """The model of its kind."""
        return RESOURCES[self.kind]


def written(kind: str) -> Iterator[Instance]:
    """Those of the table."""
    base = TABLE[kind]["object"]
    yield Instance(kind, "whole", base)
    for entry in TABLE[kind]["others"]:
        document = copy.deepcopy(base)
        for path, value in entry.get("set", {}).items():
            put(document, path, value)
        for path in entry.get("drop", ()):
            put(document, path, _DROP)
        differs = dict(entry.get("differs", {}))
        yield Instance(kind, entry["name"], document, entry.get("wrong"), differs)


_DROP = object()


def put(document: Any, path: str, value: Any) -> None:
    """Sets or drops what stands at a path with dots; a number is an index. Names may hold dots when they exist as they are."""
    parts = path.split(".")
    while len(parts) > 1:
        head = (
            next((".".join(parts[:end]) for end in range(len(parts) - 1, 0, -1) if ".".join(parts[:end]) in document), parts[0])
            if isinstance(document, dict)
            else parts[0]
        )
        parts = parts[len(head.split(".")) :]
        document = document[int(head)] if isinstance(document, list) else document[head]
    last: Any = int(parts[0]) if isinstance(document, list) else parts[0]
    if value is _DROP:
        del document[last]
    elif isinstance(document, list) and last == len(document):
        document.append(value)
    else:
        document[last] = value


def whole(kind: str) -> dict[str, Any]:
    """An object with every field of the kind: the written one, or one made from the model."""
    if kind in TABLE:
        return copy.deepcopy(TABLE[kind]["object"])
    model = RESOURCES[kind]
    group, version, name = model.identity()
    document = _sample(tree_of(model)) | {"apiVersion": f"{group}/{version}", "kind": name, "metadata": {"name": "instance"}}
    for path in pydantic_refuses(kind, document):  # fields that may not stand beside others
        put(document, path, _DROP)
    return document


def _sample(node: Node) -> Any:
    member = node.member
    match member.type:
        case "object":
            return {name: _sample(child) for name, child in node.properties.items()}
        case "map":
            assert node.item is not None
            return {(member.keys or ("a",))[0]: _sample(node.item)}
        case "list":
            assert node.item is not None
            return [_sample(node.item)]
        case "integer":
            return int(member.example) if member.example else max(1, member.minimum or 0)
        case "boolean":
            return True
        case "any":
            return {}
    return member.example or (member.values[0] if member.values else _TEXTS.get(member.type, "text"))


_TEXTS = {"quantity": "1", "duration": "5m", "number-text": "0.5", "timestamp": "2025-03-15T10:00:00Z", "cron": "0 9 * * *", "name": "a"}


def derived(kind: str) -> Iterator[Instance]:
    """One change to one field at a time: absent, null, another type, at and beyond bounds, each value and none, an unknown field."""
    base = whole(kind)
    yield Instance(kind, "every field", base)
    yield Instance(kind, "another kind", base | {"kind": "Other"}, "kind")
    yield Instance(kind, "another group", base | {"apiVersion": "example.com/v1"}, "apiVersion")
    yield Instance(kind, "no kind", {name: value for name, value in base.items() if name != "kind"}, "kind")
    yield Instance(kind, "no version", {name: value for name, value in base.items() if name != "apiVersion"}, "apiVersion")
    yield Instance(kind, "unknown field", base | {"specs": {}}, "specs")
    for path, node in _places(tree_of(RESOURCES[kind]), base, ""):
        if path.split(".")[0] in ("apiVersion", "kind", "metadata") or ".metadata" in path:
            continue
        for name, value, wrong, differs in _changes(path, node):
            document = copy.deepcopy(base)
            try:
                put(document, path if wrong is None or not wrong.startswith(path + ".") else wrong, value)
            except (KeyError, IndexError):
                continue
            # A change may break a relation elsewhere; then that is what is wrong, and the written ones are about it.
            if wrong is None and pydantic_refuses(kind, document):
                continue
            if path.startswith("status") and RESOURCES[kind].has_status and wrong is not None and not name.startswith("unknown"):
                differs = differs | {"server": "status"}
            yield Instance(kind, f"{path}: {name}", document, wrong, differs)


def _places(node: Node, value: Any, path: str) -> Iterator[tuple[str, Node]]:
    if path:
        yield path, node
    if node.member.type == "object" and isinstance(value, dict):
        for name, child in node.properties.items():
            if name in value:
                yield from _places(child, value[name], f"{path}.{name}" if path else name)
    elif node.item is not None and isinstance(value, dict):
        for name in list(value)[:1]:
            yield from _places(node.item, value[name], f"{path}.{name}")
    elif node.item is not None and isinstance(value, list):
        for index in range(min(1, len(value))):
            yield from _places(node.item, value[index], f"{path}.{index}")


def _changes(path: str, node: Node) -> Iterator[tuple[str, Any, str | None, dict[str, str]]]:
    member = node.member
    item = path.rpartition(".")[2].isdigit()
    if not item:
        needed = member.required or member.needed
        yield "absent", _DROP, path if needed else None, {}
        if not needed and not _in_map(path):
            yield "null", None, None, {"jsonschema": "null"}
    if member.type == "any":
        return
    other = {"object": "text", "map": "text", "list": {}, "integer": "1", "boolean": "true"}.get(member.type, ["text"])
    yield "another type", other, path, {"server": "format"} if member.type == "timestamp" else {}
    if member.type == "object" and not member.open:
        yield "unknown field", 1, f"{path}.unknownField", {}
    if member.type not in ("object", "map", "list", "any", "string", "boolean", "integer", "quantity", "yaml", "json"):
        yield "number", 7, path, {}
    yield from _bounds(path, member)


def _in_map(path: str) -> bool:
    return path.rpartition(".")[2] == "a"


def _bounds(path: str, member: Member) -> Iterator[tuple[str, Any, str | None, dict[str, str]]]:
    if member.type == "integer":
        lowest = member.minimum if member.minimum is not None else {"int32": -(2**31), "int64": -(2**63)}.get(member.format)
        highest = member.maximum if member.maximum is not None else {"int32": 2**31 - 1, "int64": 2**63 - 1}.get(member.format)
        if lowest is not None:
            yield "lowest", lowest, None, {}
            yield "below", lowest - 1, path, {}
        if highest is not None:
            yield "highest", highest, None, {}
            yield "above", highest + 1, path, {}
        yield "fraction", 1.5, path, {}
    elif member.values and member.type != "words-list":
        for value in member.values:
            yield f"value {value}", value, None, {}
        for value in ("", member.values[0].upper() + "x", "unknown"):
            yield f"no value {value!r}", value, path, {}
    elif member.type == "quantity":
        for value in (0, -3, 2**62, "0", "5.", ".5", "+1Ki", "1e3", "1E-3", "10n", "-0"):
            yield f"quantity {value}", value, None, {}
        for value in ("", "1K", "1KiB", "Ki", "1 ", " 1", "1,5", "0x10", "1e1.5", "１", 1.5, True):
            yield f"no quantity {value!r}", value, path, {}
    elif member.type == "duration":
        for value in ("0", "-5m", "1h30m", ".5s", "10ms", "1.5h"):
            yield f"duration {value}", value, None, {}
        for value in ("", "5", "1d", " 5m", "5 m", "m", "5M"):
            yield f"no duration {value!r}", value, path, {}
    elif member.type == "number-text":
        yield "highest", str(member.maximum) if member.maximum is not None else "1e3", None, {}
        for value in ("", "x", "0,5", "1_0", "nan", "inf"):
            yield f"no number {value!r}", value, path, {}
        if member.above is not None:
            yield "lowest and below", f"{member.above}", path, {"jsonschema": "number"}
        if member.maximum is not None:
            yield "above", f"{member.maximum}.001", path, {"jsonschema": "number"}
    elif member.max_length is not None:
        yield "longest", "a" * member.max_length if not member.pattern or "a" * 3 else "a", None, {}
        yield "too long", "a" * (member.max_length + 1), path, {}
    elif member.max_items is not None:
        return


@cache
def changes(kind: str) -> tuple[Instance, ...]:
    """The derived instances on which all judges agree."""
    return tuple(each for each in derived(kind) if not each.differs)


def combined(kind: str, chosen: list[Instance]) -> Instance:
    """Several of the derived changes at once."""
    document = whole(kind)
    for each in chosen:
        path = each.name.partition(": ")[0]
        wrong = each.wrong if each.wrong and each.wrong.startswith(path + ".") else path
        try:
            put(document, wrong, at(each.document, wrong))
        except (KeyError, IndexError, TypeError):
            continue
    name = f"combined: {[each.name for each in chosen]}"
    differs = {"jsonschema": "relation"} if _only_relations(kind, document) and not schema_refuses(kind, document) else {}
    return Instance(kind, name, document, "" if pydantic_refuses(kind, document) else None, differs)


def _only_relations(kind: str, document: dict[str, Any]) -> bool:
    """Whether everything that is wrong is how members relate to each other."""
    try:
        RESOURCES[kind].model_validate(document)
    except ValidationError as error:
        return {item["type"] for item in error.errors()} == {"relation"}
    return False


def at(document: Any, path: str) -> Any:
    """What stands at a path, or the mark of what is to be dropped."""
    parts = path.split(".")
    for number, part in enumerate(parts):
        if isinstance(document, list):
            document = document[int(part)]
        elif part in document:
            document = document[part]
        elif number == len(parts) - 1:
            return _DROP
        else:
            return at_dotted(document, ".".join(parts[number:]))
    return document


def at_dotted(document: dict[str, Any], rest: str) -> Any:
    """What stands under a name that holds dots."""
    return document.get(rest, _DROP)


def pydantic_refuses(kind: str, document: dict[str, Any]) -> list[str]:
    """The fields that the model refuses."""
    try:
        RESOURCES[kind].from_manifest(document)
    except ModelError as error:
        return [problem.key for problem in error.problems]
    return []


_VALIDATORS: dict[str, jsonschema.protocols.Validator] = {}


def schema_refuses(kind: str, document: dict[str, Any]) -> list[str]:
    """The fields that the JSON Schema refuses; of what is missing or unknown, the field itself."""
    if kind not in _VALIDATORS:
        _VALIDATORS[kind] = jsonschema.Draft202012Validator(object_schema(RESOURCES[kind]))
    found = []
    for error in _VALIDATORS[kind].iter_errors(document):
        path = [str(part) for part in error.absolute_path]
        if error.validator == "required":
            found += [".".join((*path, name)) for name in error.validator_value if name not in error.instance]
        elif error.validator == "additionalProperties":
            found += [".".join((*path, name)) for name in error.instance if name not in error.schema.get("properties", {})]
        else:
            found.append(".".join(path))
    return found
