"""The constraint kinds, each a Pydantic model of its parameters. Importing this package registers all of them."""

from gpuvet.language.kinds import conforming, fields, forbidden, graphs, names, pairs, shadows, values, versions
from gpuvet.language.kinds import input as input_
from gpuvet.language.kinds.base import KINDS, Kind

__all__ = ["KINDS", "Kind", "conforming", "fields", "forbidden", "graphs", "input_", "names", "pairs", "shadows", "values", "versions"]
