"""Kinds that judge keys: `known_keys`, `listed_keys`, `read_by_version`, `known_fields`."""

from typing import Literal

from gpuvet.compiled.keys import FIELDS, KEYS, PREFIXES
from gpuvet.language import ir
from gpuvet.language.expression import Scope, parse
from gpuvet.language.kinds.base import Kind, absent, both, either, kind


@kind("known_keys")
class KnownKeys(Kind):
    """Each key of the map `of` under `domain` is one that the models know. `where` narrows which of them are suggested."""

    of: str
    domain: str
    where: tuple[str, ...] = ()
    also: str | None = None
    """A regular expression of further legal keys."""
    near: bool | None = None
    """Only those that differ from a suggested key by a letter or two, or only those that do not; else both."""

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        names = sorted(key.name for key in KEYS.values() if key.name.startswith(f"{self.domain}/"))
        wanted = [
            name
            for name in names
            if KEYS[name].owner == "user" and not KEYS[name].deprecated and (not self.where or set(KEYS[name].where) & set(self.where))
        ]
        name = ir.KeyOf("entry")
        near = ir.Python("near_key", (name, ir.Constant(tuple(wanted))), "measures how near a key is to a known one")
        unknown: list[ir.Expr] = [
            ir.Not(ir.Member(name, ir.Constant(tuple(names)))),
            ir.Text("startsWith", name, ir.Constant(f"{self.domain}/")),
        ]
        if self.also is not None:
            unknown.append(ir.Not(ir.Matches(name, ir.Constant(self.also))))
        if self.near is not None:
            unknown.append(ir.Present(near) if self.near else ir.Not(ir.Present(near)))
        prefixes = [prefix for prefix in PREFIXES if prefix.startswith(f"{self.domain}/")]
        unknown += [ir.Not(ir.Text("startsWith", name, ir.Constant(prefix))) for prefix in prefixes]
        return (
            ir.Check(
                each=(("entry", parse(self.of, scope)),),
                when=both(*unknown),
                at=ir.Name("entry"),
                message=("nothing reads ", name) if not self.near else ("nothing reads ", name, "; probably ", near, " is meant"),
                expected=(near,) if self.near else (f"a key that {self.domain} knows",),
                actual=name,
                fix=ir.FixPlan(("rename it to ", near), False, (ir.EditPlan("rename", ir.Name("entry"), near),)),
                on_key=True,
            ),
        )


@kind("read_by_version")
class ReadByVersion(Kind):
    """Each key of the map `of` under `domain` is read by the named version of `platform`; with `unnamed`, when no version is named,
    by its newest versions. Keys that never were read are the business of other rules."""

    of: str
    domain: str
    platform: str
    unnamed: bool = False
    but: tuple[str, ...] = ()

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        named = ir.Param(f"platform.{self.platform}")
        checks = []
        for key in sorted(KEYS.values()):
            if not key.name.startswith(f"{self.domain}/") or key.owner != "user" or key.name in self.but or not (key.since or key.until):
                continue
            at = ir.Get(parse(self.of, scope), ir.Constant(key.name))
            instead = key.replaced_by or f"no {key.name}"
            if key.until:
                gone = ir.Compare(">=", ir.VersionOf(named), ir.VersionOf(ir.Constant(key.until)))
                when = both(ir.Present(at), absent(named) if self.unnamed else gone)
                message = f"operators from v{key.until} on do not read {key.name}"
                if "; " in key.deprecated:
                    message += f": {key.deprecated.partition('; ')[2]}"
                name = ir.Constant(key.name)
                checks.append(ir.Check(when=when, at=at, message=(message,), expected=(instead,), actual=name, on_key=True))
            if key.since and not self.unnamed:
                young = ir.Compare("<", ir.VersionOf(named), ir.VersionOf(ir.Constant(key.since)))
                text: ir.Template = (f"{key.name} is read from v{key.since} on, and the configuration names ", named)
                wanted = (f"v{key.since} or newer",)
                checks.append(ir.Check(when=both(ir.Present(at), young), at=at, message=text, expected=wanted, on_key=True))
        return tuple(checks)


@kind("listed_keys")
class ListedKeys(Kind):
    """A key of the map `of` that the models list under `domain` with this `owner` and one of these places (`where`)."""

    of: str
    domain: str
    owner: Literal["user", "system"]
    where: tuple[str, ...] = ()
    but: tuple[str, ...] = ()
    unless: str = "false"
    """A condition on `entry` under which the key may stand there."""

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        listed = [
            key
            for key in (*KEYS.values(), *PREFIXES.values())
            if key.name.startswith(f"{self.domain}/") and key.owner == self.owner and (not self.where or set(key.where) & set(self.where))
        ]
        names = sorted(key.name for key in listed if key.name in KEYS and key.name not in self.but)
        name = ir.KeyOf("entry")
        excused = [] if self.unless == "false" else [ir.Not(parse(self.unless, scope.bind("entry")))]
        begins = [ir.Text("startsWith", name, ir.Constant(key.name)) for key in listed if key.name in PREFIXES]
        return (
            ir.Check(
                each=(("entry", parse(self.of, scope)),),
                when=both(either(ir.Member(name, ir.Constant(tuple(names))), *begins), *excused),
                at=ir.Name("entry"),
                message=(name, " does not belong here"),
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
