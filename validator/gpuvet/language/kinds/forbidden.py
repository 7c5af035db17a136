"""`forbidden`: a condition that must not hold."""

from gpuvet.language import ir
from gpuvet.language.expression import Scope, parse
from gpuvet.language.kinds.base import Kind, kind


@kind("forbidden", shorthand="that")
class Forbidden(Kind):
    """`that` must not hold; the finding stands at `at`."""

    that: str
    at: str = "self"
    key: bool = False
    """Point at the key of `at`, not at its value."""

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        return (ir.Check(when=parse(self.that, scope), at=parse(self.at, scope), message=("this is not allowed",), on_key=self.key),)


@kind("required", shorthand="that")
class Required(Kind):
    """`that` must hold; the finding stands at `at`."""

    that: str
    at: str = "self"
    key: bool = False

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        when = ir.Not(parse(self.that, scope))
        return (ir.Check(when=when, at=parse(self.at, scope), message=("this does not hold",), on_key=self.key),)
