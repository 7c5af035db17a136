"""What a YAML scalar means to Kubernetes: the resolver of sigs.k8s.io/yaml 1.6.0 (go-yaml v2), then its way through JSON.

kubectl turns YAML into JSON before anything else sees it, so a number is what JSON makes of it: `1e3` and `1.0` are the
integers 1000 and 1; an integral number beyond int64 that was written as a float, or any above uint64, stays a float.
The table `tests/fixtures/reader/oracle.json` holds the answers of the real library.
"""

import base64
import binascii
import datetime
import math
import re
import struct
from typing import Any, Final

_LONG_TAG: Final = "tag:yaml.org,2002:"
_INT64_LIMIT: Final = 2**63
_UINT64_LIMIT: Final = 2**64
_CACHE_ENTRIES: Final = 50_000
_CACHED_LENGTH: Final = 80

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_INFINITE: Final[dict[str, float]] = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_SPECIAL_STARTS: Final = frozenset("+-.0123456789yYnNtTfFoO~")
_INTEGER: Final = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)", re.ASCII)
_SIGNED_BINARY: Final = re.compile(r"0b[-+][01]+", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_DOT_FLOAT: Final = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?", re.ASCII)
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?:[Tt]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2}))"
    r"|(?: ([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?))?",
    re.ASCII,
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class ScalarError(ValueError):
    """The scalar has no JSON form; the text is a sentence for people."""


def resolve_plain(text: str) -> Any:
    """The value of a plain (unquoted, untagged) scalar; raises ScalarError for infinities and NaN."""
    return json_number(_resolve(text))


def resolve_tagged(tag: str, text: str) -> Any:
    """The value of a scalar with an explicit tag (in its long form); unknown tags leave the text as it is."""
    name = tag[len(_LONG_TAG) :] if tag.startswith(_LONG_TAG) else None
    if name == "str":
        return text
    if name == "binary":
        return _decode_binary(text)
    if name == "timestamp":
        if _is_timestamp(text):
            return text
    elif name in ("bool", "int", "float", "null"):
        value = _resolve(text)
        if name == "float" and type(value) is int and -_INT64_LIMIT <= value < _INT64_LIMIT:
            value = float(value)
        if type(value) is {"bool": bool, "int": int, "float": float, "null": type(None)}[name]:
            return json_number(value)
    else:
        return text
    raise ScalarError(f"`{text}` is not a value of its tag `!!{name}`, so Kubernetes refuses the document.")


def json_number(value: Any) -> Any:
    """`value` after Go has printed it as JSON and Kubernetes has read it back; raises ScalarError for infinities and NaN."""
    if type(value) is not float:
        return value
    if not math.isfinite(value):
        raise ScalarError("Infinity and NaN have no JSON form, so Kubernetes refuses the document; quote the value if it is text.")
    if value.is_integer() and -_INT64_LIMIT <= value < _INT64_LIMIT:
        # Go prints the shortest digits that mean the float, which above 2**53 need not be the integer it holds.
        from decimal import Decimal

        return int(Decimal(repr(value)))
    return value


def key_text(value: Any) -> str:
    """A mapping key as the JSON object gets it; `value` is the resolved scalar. Raises ScalarError when there is none."""
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int and -_INT64_LIMIT <= value < _INT64_LIMIT:
        return str(value)
    if type(value) is float:
        return _float32_text(value)
    if value is None:
        raise ScalarError("A key is empty or null, which Kubernetes refuses; write the key, or quote it.")
    raise ScalarError(f"The key {value} is too large a number, which Kubernetes refuses; quote it.")


def resolve_key(tag: str | None, text: str) -> str:
    """The JSON key of a scalar that is plain (`tag` None) or tagged. Raises ScalarError when there is none."""
    if tag is None:
        return key_text(_resolve(text))
    if tag == _LONG_TAG + "float" and type(value := _resolve(text)) in (int, float):
        return key_text(float(value))
    return key_text(resolve_tagged(tag, text))


class PlainValues(dict[str, Any]):
    """Plain scalar -> value, filled on demand. A scalar without a JSON form yields its own text and is counted in `refused`."""

    refused = 0

    def __missing__(self, text: str) -> Any:
        if text and text[0] not in _SPECIAL_STARTS:
            value: Any = text
        else:
            try:
                value = resolve_plain(text)
            except ScalarError:
                self.refused += 1
                return text
        return self._keep(text, value)

    def _keep(self, text: str, value: Any) -> Any:
        if len(text) <= _CACHED_LENGTH:
            if len(self) >= _CACHE_ENTRIES:
                self.clear()
            self[text] = value
        return value


class PlainKeys(PlainValues):
    """Plain scalar in the place of a key -> JSON key, filled on demand. Refused ones are treated as in `PlainValues`."""

    def __missing__(self, text: str) -> Any:
        try:
            value = resolve_key(None, text)
        except ScalarError:
            self.refused += 1
            return text
        return self._keep(text, value)


def _resolve(text: str) -> Any:
    """str, int, float (also infinite), bool or None, as go-yaml v2 resolves plain text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if text in _INFINITE:
        return _INFINITE[text]
    if text[0] == ".":
        # Go's own parser, which wants a digit on both sides of an underscore; elsewhere go-yaml drops underscores.
        return _finite(text) if _DOT_FLOAT.fullmatch(text) else text
    digits = text.replace("_", "")
    if _SIGNED_BINARY.fullmatch(digits):
        digits = digits[2] + "0b" + digits[3:]
    if _INTEGER.fullmatch(digits):
        value = _integer(digits)
        if -_INT64_LIMIT <= value < _UINT64_LIMIT and not (digits[0] == "+" and value >= _INT64_LIMIT):
            return value
    if _FLOAT.fullmatch(digits):
        number = _finite(digits)
        return text if isinstance(number, str) else number
    return text


def _finite(text: str) -> float | str:
    """The float, or the text itself where Go reports a range error."""
    value = float(text)
    return value if math.isfinite(value) else text


def _integer(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    body = digits.lstrip("+-").lower()
    base = {"0x": 16, "0o": 8, "0b": 2}.get(body[:2])
    if base:
        return sign * int(body[2:], base)
    if body[0] == "0" and len(body) > 1:
        return sign * int(body, 8)
    return sign * int(body) if len(body) < 40 else sign * _UINT64_LIMIT * 2


def _decode_binary(text: str) -> str:
    """Text of a `!!binary` scalar; every byte that is not UTF-8 becomes U+FFFD, as Go's JSON does."""
    packed = text.replace("\n", "").replace("\r", "")
    try:
        data = base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        raise ScalarError("The `!!binary` value is not valid base64, so Kubernetes refuses the document.") from None
    return _SURROGATE.sub("\ufffd", data.decode("utf-8", "surrogateescape"))


def _is_timestamp(text: str) -> bool:
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        return False
    year, month, day, *clock = (int(part or 0) for part in match.groups())
    try:
        datetime.date(year or 4, month, day)
    except ValueError:
        return False
    hour, minute, second = clock[:3] if match[4] else clock[3:]
    return hour < 24 and minute < 60 and second < 60


def _float32_text(value: float) -> str:
    """Go's `strconv.FormatFloat(value, 'g', -1, 32)`, with YAML's names for the infinities."""
    if math.isnan(value):
        return ".nan"
    try:
        single = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        single = math.copysign(math.inf, value)
    if math.isinf(single):
        return ".inf" if single > 0 else "-.inf"
    candidates = (f"{single:.{precision}e}" for precision in range(9))
    short = next(text for text in candidates if struct.unpack("f", struct.pack("f", float(text)))[0] == single)
    mantissa, _, exponent = short.partition("e")
    if -4 <= int(exponent) < 6:
        decimals = len(mantissa.lstrip("-").replace(".", "")) - 1 - int(exponent)
        return f"{float(short):.{max(decimals, 0)}f}"
    return f"{mantissa}e{int(exponent):+03d}"
