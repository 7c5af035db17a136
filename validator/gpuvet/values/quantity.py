"""Kubernetes quantities as exact integers: a quantity is a whole number of nanos (1 = 1_000_000_000 nanos).

Follows `resource.ParseQuantity` of k8s.io/apimachinery: rounded away from zero at nano, capped at 2^63-1, and a value without
digits (`Gi`, `m`, `.`) is zero. The CRD pattern is stricter; that is `QUANTITY_PATTERN`.
"""

import re
from typing import Final

NANOS: Final = 1_000_000_000
"""Nanos in one."""

QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
"""What a CRD schema accepts as a quantity in text form (`config/crd/bases` of the vendors)."""

_CAP = (2**63 - 1) * NANOS
_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)
_INT64 = 2**63


def parse_quantity(text: str) -> int | None:
    """The quantity in nanos, or None when `text` is malformed. Blanks around it are trimmed, as in JSON decoding."""
    text = text.strip(" ")
    if text.isdigit() and text.isascii() and len(text) < 18:
        return int(text) * NANOS
    shape = _SHAPE.fullmatch(text)
    if shape is None or not text:
        return None
    sign, whole, fraction, suffix = shape.groups(default="")
    multiplier, exponent = 1, 0
    if suffix in _BINARY:
        multiplier = 1024 ** _BINARY[suffix]
    elif suffix in _DECIMAL:
        exponent = _DECIMAL[suffix]
    else:
        power = _EXPONENT.fullmatch(suffix)
        if power is None or len(power[1]) > 20 or not -_INT64 <= int(power[1]) < _INT64:
            return None
        exponent = int(power[1])
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return 0
    shift = exponent - len(fraction) + 9
    if shift + len(digits) > 60:
        nanos = _CAP
    elif shift + len(digits) < -60:
        nanos = 1
    elif shift >= 0:
        nanos = int(digits) * multiplier * 10**shift
    else:
        nanos = -(-int(digits) * multiplier // 10**-shift)
    nanos = min(nanos, _CAP)
    return -nanos if sign == "-" else nanos


def format_quantity(nanos: int, binary: bool = False) -> str:
    """The shortest plain text of a quantity: whole numbers bare or, when `binary`, with the largest exact binary suffix."""
    if nanos % NANOS == 0:
        number = nanos // NANOS
        if binary and number:
            for suffix, power in reversed(_BINARY.items()):
                if number % 1024**power == 0:
                    return f"{number // 1024**power}{suffix}"
        return str(number)
    sign, rest = ("-", -nanos) if nanos < 0 else ("", nanos)
    return f"{sign}{rest // NANOS}.{rest % NANOS:09d}".rstrip("0")
