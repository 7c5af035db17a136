"""`opa:` of `.gpuvet.yaml`: the server whose own packages are asked, too."""

import re
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from gpuvet.settings.schema import OPA_FIELDS, Field
from gpuvet.settings.text import ConfigText

PACKAGE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
"""What the name of a Rego package looks like."""
_LONGEST = 10.0
_DEFAULT = 2.0


class OpaSettings(NamedTuple):
    """`timeout` is in seconds; files are relative to nothing any more."""

    url: str
    packages: tuple[str, ...]
    token_file: FilePath | None
    ca: FilePath | None
    cert: FilePath | None
    key: FilePath | None
    timeout: float
    denies_when_silent: bool


def opa_settings(text: ConfigText, data: dict[str, Any], folder: FilePath) -> OpaSettings:
    """Raises ConfigError for unknown keys, wrong types and what is missing."""
    for key, value in data.items():
        field = OPA_FIELDS.get(key)
        if field is None:
            raise text.unknown(("opa", key), "key of opa", tuple(OPA_FIELDS))
        _check(text, key, field, value)
    for key in ("url", "packages"):
        if not data.get(key):
            raise text.error(("opa",), f"opa needs {key}, such as {OPA_FIELDS[key].example}", key=True)
    if not re.match(r"https?://[^/\s]", data["url"]):
        raise text.error(("opa", "url"), f"opa.url takes a URL, such as {OPA_FIELDS['url'].example}")
    packages = []
    for place, name in enumerate(data["packages"]):
        name = name.removeprefix("data.")
        if not PACKAGE.fullmatch(name):
            raise text.error(("opa", "packages", place), f"{name!r} is not the name of a Rego package, such as company.gpu")
        packages.append(name)
    files = {key: folder / data[key] if data.get(key) else None for key in ("tokenFile", "ca", "cert", "key")}
    return OpaSettings(
        url=data["url"],
        packages=tuple(dict.fromkeys(packages)),
        token_file=files["tokenFile"],
        ca=files["ca"],
        cert=files["cert"],
        key=files["key"],
        timeout=float(data.get("timeout") or _DEFAULT),
        denies_when_silent=data.get("onFailure") == "deny",
    )


def _check(text: ConfigText, key: str, field: Field, value: Any) -> None:
    such = f"such as {field.example}"
    if value is None:
        return
    if field.takes == "text" and (not isinstance(value, str) or not value):
        raise text.error(("opa", key), f"opa.{key} takes a text, {such}")
    if field.takes == "texts" and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        raise text.error(("opa", key), f"opa.{key} takes a list of texts, {such}")
    if field.takes == "seconds" and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LONGEST):
        raise text.error(("opa", key), f"opa.{key} takes a number of seconds above 0 and up to {_LONGEST:g}, {such}")
    if field.choices and value not in field.choices:
        raise text.error(("opa", key), f"opa.{key} is one of {', '.join(field.choices)}, not {value!r}")
