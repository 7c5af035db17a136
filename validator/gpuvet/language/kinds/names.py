"""Kinds that judge keys: `known_keys`, `known_fields`."""

from gpuvet.compiled.keys import FIELDS, KEYS
from gpuvet.language import ir
from gpuvet.language.expression import Scope, parse
from gpuvet.language.kinds.base import Kind, both, kind


@kind("known_keys")
class KnownKeys(Kind):
    """Each key of the map `of` under `domain` is one that the models know; `like` narrows the known ones by where they stand."""

    of: str
    domain: str
    where: tuple[str, ...] = ()
    also: str | None = None
    """A regular expression of further legal keys."""

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        names = [key.name for key in KEYS.values() if key.name.startswith(f"{self.domain}/")]
        if self.where:
            names = [name for name in names if set(KEYS[name].where) & set(self.where)]
        known = ir.Constant(tuple(sorted(names)))
        name = ir.KeyOf("entry")
        unknown: list[ir.Expr] = [
            ir.Text("startsWith", name, ir.Constant(f"{self.domain}/")),
            ir.Not(ir.Member(name, known)),
        ]
        if self.also is not None:
            unknown.append(ir.Not(ir.Matches(name, ir.Constant(self.also))))
        near = ir.Nearest(name, known)
        return (
            ir.Check(
                each=(("entry", parse(self.of, scope)),),
                when=both(*unknown),
                at=ir.Name("entry"),
                message=(name, " is not a key that anything reads"),
                expected=("a known key, perhaps ", near),
                actual=name,
                fix=ir.FixPlan(("rename it to ", near), False, (ir.EditPlan("rename", ir.Name("entry"), near),)),
                on_key=True,
            ),
        )


@kind("known_fields")
class KnownFields(Kind):
    """Each field of the map `of` is one that the CRD `crd` has under `path`."""

    of: str
    crd: str
    path: str

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        if self.crd not in FIELDS:
            raise ValueError(f"there is no CRD {self.crd!r} among {', '.join(sorted(FIELDS))}")
        prefix = f"{self.path}." if self.path else ""
        below = [path[len(prefix) :] for path in FIELDS[self.crd] if path.startswith(prefix)]
        known = ir.Constant(tuple(sorted({name.split(".")[0].split("[")[0] for name in below})))
        name = ir.KeyOf("field")
        near = ir.Nearest(name, known)
        return (
            ir.Check(
                each=(("field", parse(self.of, scope)),),
                when=ir.Not(ir.Member(name, known)),
                at=ir.Name("field"),
                message=(f"{self.crd} has no field {prefix}", name),
                expected=("one of ", known),
                actual=name,
                fix=ir.FixPlan(("rename it to ", near), False, (ir.EditPlan("rename", ir.Name("field"), near),)),
                on_key=True,
            ),
        )
