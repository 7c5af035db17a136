"""Finds the folders that travel with the program: rules, schemas, policies."""

import os
from binascii import crc32
from pathlib import Path as FilePath

from gpuvet.values.errors import GpuvetError

_PACKAGE = FilePath(__file__).parent.parent


def checkout() -> FilePath | None:
    """The root of the checkout that this code runs from, or None when it is installed."""
    root = _PACKAGE.parent.parent
    return root if (root / "rules").is_dir() and (root / "pyproject.toml").is_file() else None


def data_folder(name: str) -> FilePath:
    """The folder `rules`, `schemas` or `policies`, in a checkout and installed.

    Raises GpuvetError when the installation is broken.
    """
    root = checkout()
    folder = root / name if root is not None else _PACKAGE / "_data" / name
    if not folder.is_dir():
        raise GpuvetError(f"{folder} is missing: the installation is broken; install gpuvet again")
    return folder


def package_folder() -> FilePath:
    """The folder of the package itself."""
    return _PACKAGE


def source_digest() -> str:
    """A digest of every YAML file that compiled/ is made from.

    It only has to notice honest change, at every start in a checkout: hence a checksum, which loads no cryptography.
    """
    digest = 0
    for top in (data_folder("rules"), data_folder("policies") / "bundles"):
        found = [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]
        for path in sorted(path for path in found if path.endswith(".yaml") and not path.endswith("coverage.yaml")):
            with open(path, "rb") as file:
                digest = crc32(file.read(), crc32(os.path.relpath(path, top).encode(), digest))
    return f"{digest:08x}"
