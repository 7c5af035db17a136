"""Finds the folders that travel with the program: rules, schemas, policies."""

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
