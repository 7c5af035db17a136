"""The constraint kinds, each a Pydantic model of its parameters. Importing this package registers all of them."""

from gpuvet.language.kinds import forbidden, names, pairs, values, versions
from gpuvet.language.kinds import input as input_
from gpuvet.language.kinds.base import KINDS, Kind

__all__ = ["KINDS", "Kind", "forbidden", "input_", "names", "pairs", "values", "versions"]
