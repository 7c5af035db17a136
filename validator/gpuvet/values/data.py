"""Finds the folders that travel with the program: rules, schemas, policies."""

import hashlib
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
    """A digest of every YAML file that compiled/ is made from."""
    digest = hashlib.blake2b(digest_size=16)
    for folder in (data_folder("rules"), data_folder("policies") / "bundles"):
        for path in sorted(folder.rglob("*.yaml")):
            if path.name != "coverage.yaml":
                digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
