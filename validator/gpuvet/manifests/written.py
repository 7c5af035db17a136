"""Writes objects as people write manifests: texts of several lines as blocks, keys in their order, no aliases."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

# libyaml, where PyYAML has it.
_Fastest: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_Fastest):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, value: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)


def to_yaml(documents: Iterable[Mapping[str, Any]], width: int = 160) -> str:
    """One stream. `width`: characters after which a text on one line is folded."""
    return "---\n".join(yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=width, allow_unicode=True) for document in documents)
