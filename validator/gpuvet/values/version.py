"""Versions that compare part by part as integers: NVIDIA drivers (`470.161.03`), chart and operator releases (`v1.48.4`)."""

import re
from functools import lru_cache

Version = tuple[int, ...]
"""Decimal parts without trailing zeros, so that 470.161 equals 470.161.0. The first part is a driver's branch."""

_SHAPE = re.compile(r"v?([0-9]+(?:\.[0-9]+)*)(?:[-+][0-9A-Za-z.+-]*)?", re.ASCII)


@lru_cache(maxsize=1024)
def parse_version(text: str) -> Version | None:
    """The version, or None when `text` is none. A leading `v` and a suffix such as `-rc1` or `+build` do not count."""
    shape = _SHAPE.fullmatch(text)
    if shape is None or len(text) > 100:
        return None
    parts = [int(part) for part in shape[1].split(".")]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


_RANGE = re.compile(r"\s*(<=|>=|<|>|==)\s*(\S+)\s*", re.ASCII)


def in_range(version: Version, text: str) -> bool:
    """Whether `version` lies in a range such as `>=1.17.0, <1.35.0`; `||` stands between ranges of which one is enough.

    Raises ValueError when the range itself is malformed.
    """
    parts = [[_within(version, part) for part in one.split(",")] for one in text.split("||")]
    return any(all(part) for part in parts)


def _within(version: Version, part: str) -> bool:
    shape = _RANGE.fullmatch(part)
    bound = parse_version(shape[2]) if shape else None
    if shape is None or bound is None:
        raise ValueError(f"{part.strip()!r} is not a version range such as '>=1.2.0'")
    return {"<=": version <= bound, ">=": version >= bound, "<": version < bound, ">": version > bound, "==": version == bound}[shape[1]]
