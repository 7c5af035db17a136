"""Regular expressions of texts whose value is bounded; schemas cannot compare the numbers in texts."""

from gpuvet.models.scalars import Scalar
from gpuvet.values.quantity import QUANTITY_PATTERN

WRITTEN_QUANTITY = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$"
"""A quantity that every Kubernetes client reads. What vendors' CRDs take besides (`1e1.5`) makes Go clients fail to decode the object."""

UNSIGNED_QUANTITY = WRITTEN_QUANTITY.replace("[+-]?", r"\+?", 1)
"""A quantity without a minus."""


def text_pattern(scalar: Scalar) -> str:
    """The pattern of a text, as narrow as its bounds allow; empty when any text goes."""
    if scalar.pattern == QUANTITY_PATTERN:
        return UNSIGNED_QUANTITY if scalar.minimum is not None or scalar.above is not None else WRITTEN_QUANTITY
    if scalar.kind == "integer-text" and scalar.minimum is not None and scalar.minimum >= 0:
        return rf"^\+?0*({integers(scalar.minimum, scalar.maximum)})$"
    return scalar.pattern


def integers(minimum: int, maximum: int | None) -> str:
    """An expression for the integers from `minimum`, which is not negative, to `maximum`, without leading zeros."""
    if maximum is None:
        digits = len(str(minimum))
        return "|".join((*_between(str(minimum), "9" * digits), f"[1-9][0-9]{{{digits},}}"))
    parts: list[str] = []
    low = minimum
    while low <= maximum:
        high = min(maximum, 10 ** len(str(low)) - 1)
        parts += _between(str(low), str(high))
        low = high + 1
    return "|".join(parts)


def _between(first: str, last: str) -> list[str]:
    """Alternatives for the digits from `first` to `last`, which are equally many."""
    if first == last:
        return [first]
    if len(first) == 1:
        return [_digits(first, last)]
    if set(first) == {"0"} and set(last) == {"9"}:
        return [_any(len(first))]
    if first[0] == last[0]:
        return [first[0] + f"({'|'.join(_between(first[1:], last[1:]))})"]
    parts: list[str] = []
    start, end = int(first[0]), int(last[0])
    if set(first[1:]) != {"0"}:
        parts.append(first[0] + f"({'|'.join(_between(first[1:], '9' * (len(first) - 1)))})")
        start += 1
    whole = set(last[1:]) == {"9"}
    if start <= (end if whole else end - 1):
        parts.append(_digits(str(start), str(end if whole else end - 1)) + _any(len(first) - 1))
    if not whole:
        parts.append(last[0] + f"({'|'.join(_between('0' * (len(last) - 1), last[1:]))})")
    return parts


def _digits(first: str, last: str) -> str:
    return first if first == last else f"[{first}-{last}]"


def _any(count: int) -> str:
    return "" if count == 0 else "[0-9]" if count == 1 else f"[0-9]{{{count}}}"
