"""`input`: what the reader says of the text itself. The check is the reader's; the rule gives it a name and a severity."""

from gpuvet.language import ir
from gpuvet.language.expression import Scope
from gpuvet.language.kinds.base import Kind, kind


@kind("input", shorthand="problem")
class Input(Kind):
    """A problem of a text, in words. The rule's id is the problem's code."""

    problem: str

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        return ()
