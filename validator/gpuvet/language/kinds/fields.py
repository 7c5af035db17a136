"""`unknown_fields`: fields that a CRD does not have, at any depth."""

from typing import Literal

from pydantic import model_validator

from gpuvet.compiled.keys import LEVELS, REMOVED
from gpuvet.language import ir
from gpuvet.language.expression import Scope
from gpuvet.language.kinds.base import Kind, both, kind

_KIND = ir.Get(ir.Root("object"), ir.Constant("kind"))


@kind("unknown_fields")
class UnknownFields(Kind):
    """Fields of `object` that the CRD `crd` does not have, below `below` at every depth that the models know. `which`: those that
    were `removed` (narrowed by `until`, the version that dropped them; an empty text means that they never existed), those `near`
    to a field that exists, or all `other` ones. `besides` are paths that other rules speak about."""

    crd: str
    below: str = "spec"
    which: Literal["removed", "near", "other"]
    until: list[str] | None = None
    besides: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _known(self) -> "UnknownFields":
        if self.crd not in LEVELS:
            raise ValueError(f"the models know no {self.crd}; they know {', '.join(LEVELS)}")
        if self.until is not None and self.which != "removed":
            raise ValueError("until goes with which: removed")
        return self

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        removed = {path: gone for path, gone in REMOVED.get(self.crd, {}).items() if path not in self.besides}
        checks: list[ir.Check] = []
        for level, names in LEVELS[self.crd].items():
            if "*" in names or not f"{level}.".startswith(f"{self.below}."):
                continue
            each, parent = _way(level)
            gone = {path.rpartition(".")[2]: gone for path, gone in removed.items() if path.rpartition(".")[0] == level}
            if self.which == "removed":
                for name, field in gone.items():
                    if self.until is None or field.until in self.until:
                        checks.append(self._removed(each, ir.Get(parent, ir.Constant(name)), name, level, field.replaced_by, field.note))
                continue
            checks.append(self._unknown(each, parent, level, names, (*gone, *self._left_out(level))))
        return tuple(checks)

    def _left_out(self, level: str) -> list[str]:
        return [path.rpartition(".")[2] for path in self.besides if path.rpartition(".")[0] == level]

    def _removed(self, each: tuple[tuple[str, ir.Expr], ...], at: ir.Expr, name: str, level: str, replaced_by: str, note: str) -> ir.Check:
        sibling = replaced_by.rpartition(".")
        expected = f"{replaced_by} instead" if replaced_by else f"no {name}: nothing replaces it"
        fix = None
        if replaced_by and sibling[0] == level:
            fix = ir.FixPlan((f"write {sibling[2]} instead of {name}",))
        elif not replaced_by:
            fix = ir.FixPlan((f"leave {name} out",))
        return ir.Check(
            each=each,
            when=ir.Present(at),
            at=at,
            message=(_KIND, f" has no field {level}.{name}: {note}"),
            expected=(expected,),
            actual=ir.Constant(name),
            fix=fix,
            on_key=True,
        )

    def _unknown(
        self, each: tuple[tuple[str, ir.Expr], ...], parent: ir.Expr, level: str, names: tuple[str, ...], besides: tuple[str, ...]
    ) -> ir.Check:
        field, known = ir.KeyOf("field"), ir.Constant(tuple(sorted(names)))
        near = ir.Nearest(field, known)
        unknown: list[ir.Expr] = [ir.Not(ir.Member(field, ir.Constant((*known.value, *besides))))]
        unknown.append(ir.Present(near) if self.which == "near" else ir.Not(ir.Present(near)))
        fix = None
        expected: ir.Template = ("one of ", known)
        if self.which == "near":
            fix = ir.FixPlan(("rename it to ", near), False, (ir.EditPlan("rename", ir.Name("field"), near),))
            expected = (near,)
        return ir.Check(
            each=(*each, ("field", parent)),
            when=both(*unknown),
            at=ir.Name("field"),
            message=(_KIND, f" has no field {level}.", field),
            expected=expected,
            actual=field,
            fix=fix,
            on_key=True,
        )


def _way(level: str) -> tuple[tuple[tuple[str, ir.Expr], ...], ir.Expr]:
    """The loops over lists on the way to a level, and the expression of the level itself."""
    each: list[tuple[str, ir.Expr]] = []
    at: ir.Expr = ir.Root("object")
    for part in level.split("."):
        at = ir.Get(at, ir.Constant(part.removesuffix("[]")))
        if part.endswith("[]"):
            name = f"item{len(each)}"
            each.append((name, at))
            at = ir.Name(name)
    return tuple(each), at
