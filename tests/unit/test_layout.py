"""The house keeps its habits: nouns and verbs for names, one place for everything."""

from pathlib import Path

import pytest

_NAMELESS = {"util", "utils", "utility", "utilities", "helper", "helpers", "manager", "managers", "misc", "common"}


def test_no_module_is_a_drawer_for_odds_and_ends(checkout: Path) -> None:
    modules = [path for folder in ("validator", "tests") for path in (checkout / folder).rglob("*.py")]
    assert modules
    assert [str(path) for path in modules if _NAMELESS & set(path.stem.split("_"))] == []


def test_every_package_and_module_says_what_it_owns(checkout: Path) -> None:
    sources = [path for path in (checkout / "validator").rglob("*.py") if path.read_text(encoding="utf-8").strip()]
    assert [str(path) for path in sources if not path.read_text(encoding="utf-8").lstrip().startswith(('"""', 'r"""'))] == []


def test_one_version(checkout: Path) -> None:
    from gpuvet import __version__

    assert f"## [{__version__}]" in (checkout / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", ["rules", "schemas", "policies"])
def test_folders_that_travel_in_the_wheel_exist(checkout: Path, folder: str) -> None:
    assert (checkout / folder).is_dir()
    assert f'{folder} = "gpuvet/_data/{folder}"' in (checkout / "pyproject.toml").read_text(encoding="utf-8")
