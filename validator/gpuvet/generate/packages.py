"""The Rego modules of one package as one module: what a server swaps at once, or what stands in one template."""

import re
from collections.abc import Mapping

_HEAD = re.compile(r"^package ([\w.]+)\n", re.MULTILINE)
_IMPORT = re.compile(r"^import [\w.]+\n", re.MULTILINE)


def packages_of(files: Mapping[str, str]) -> dict[str, str]:
    """Package -> text, of what `render_rego` gives; tests are left out. Packages that others import come first."""
    parts: dict[str, list[str]] = {}
    imports: dict[str, set[str]] = {}
    for name, text in files.items():
        head = _HEAD.search(text)
        if name.endswith("_test.rego") or head is None:
            continue
        package, body = head[1], text[head.end() :]
        imports.setdefault(package, set()).update(_IMPORT.findall(body))
        parts.setdefault(package, []).append(_IMPORT.sub("", body).strip("\n"))
    found = {}
    for package in sorted(parts, reverse=True):
        imported = "".join(sorted(imports[package]))
        found[package] = f"package {package}\n\n{imported}{chr(10) if imported else ''}" + "\n\n".join(parts[package]) + "\n"
    return found
