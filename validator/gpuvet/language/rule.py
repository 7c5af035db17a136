"""A rule as it stands in `rules/*.yaml`, and its lowering to checks."""

import keyword
import re
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from gpuvet.language import ir
from gpuvet.language.expression import ExpressionError, Scope, parse, parse_template, taken_by_printers
from gpuvet.language.kinds import KINDS, Kind
from gpuvet.language.references import check_references
from gpuvet.values.finding import Consequence, Severity
from gpuvet.values.version import in_range

_HERE = FilePath()
Subject = Literal["metadata", "pod", "container", "object"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Trigger(_Model):
    """What a subject must show for the rule to be looked at at all. `kinds` narrows; the others are alternatives.

    Keys are exact, `domain/*` or `*/name`; `$usageKey` stands for the configured node usage key. Kinds are `Kind` or `Kind.group`.
    """

    keys: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    images: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _something(self) -> "Trigger":
        if not (self.keys or self.kinds or self.names or self.images):
            raise ValueError("name at least one of keys, kinds, names, images")
        return self


class RelatedText(_Model):
    """A place that the message points at besides."""

    at: str
    message: str


class EditText(_Model):
    """One edit of a fix: exactly one of `set` (with `value`), `rename` (with `value`), `quote`."""

    set: str | None = None
    rename: str | None = None
    quote: str | None = None
    value: str = "null"


class FixText(_Model):
    """How to mend it."""

    title: str
    safe: bool = False
    edits: tuple[EditText, ...] = ()


class Platform(_Model):
    """For which platform versions the rule holds. `unnamed`: what happens when the configuration names no version."""

    name: Literal["tensorFusion", "koordinator", "qgpu", "kubernetes"]
    versions: str
    unnamed: Literal["skip", "apply", "info", "warning"] = "skip"

    @field_validator("versions")
    @classmethod
    def _range(cls, value: str) -> str:
        for part in re.split(r",|\|\|", value):
            in_range((1,), part)
        return value


class RuleText(_Model):
    """One rule. The constraint is the one field that names a kind."""

    id: str = Field(pattern=r"^[A-Z][A-Z0-9]{1,5}[0-9]{3}$")
    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    severity: Severity
    consequence: Consequence
    on: Subject
    trigger: Trigger = Trigger.model_construct()
    sees: Literal["object", "text"] = "object"
    let: dict[str, str] = {}
    each: dict[str, str] = {}
    when: str | None = None
    message: str | None = None
    expected: str | None = None
    actual: str | None = None
    related: tuple[RelatedText, ...] = ()
    fix: FixText | None = None
    why: str = Field(min_length=10)
    implements: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    platform: Platform | None = None
    parameters: dict[str, Any] = {}
    constraint: Kind

    @model_validator(mode="before")
    @classmethod
    def _constraint(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        given = [key for key in data if key in KINDS]
        if len(given) != 1:
            unknown = [key for key in data if key not in KINDS and key not in cls.model_fields]
            hint = f"; {', '.join(map(str, unknown))} is none" if unknown else ""
            raise ValueError(f"a rule has exactly one constraint of {', '.join(sorted(KINDS))}{hint}")
        kind = KINDS[given[0]]
        body = data[given[0]]
        if not isinstance(body, dict):
            if kind.shorthand is None:
                raise ValueError(f"{given[0]} takes a mapping")
            body = {kind.shorthand: body}
        return {key: value for key, value in data.items() if key != given[0]} | {"constraint": kind.model_validate(body)}

    @model_validator(mode="after")
    def _triggered(self) -> "RuleText":
        if self.trigger == Trigger.model_construct() and self.kind != "input":
            raise ValueError("a rule needs a trigger: keys, kinds, names or images")
        return self

    @field_validator("each")
    @classmethod
    def _names(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII) or keyword.iskeyword(name):
                raise ValueError(f"{name!r} is not a name such as container")
        return value

    @field_validator("constraint", mode="before")
    @classmethod
    def _kept(cls, value: Any) -> Any:
        return value

    @property
    def family(self) -> str:
        """The letters of the id."""
        return self.id[:-3]

    @property
    def kind(self) -> str:
        """The name of the constraint kind."""
        return type(self.constraint).name

    def lower(self, definitions: dict[str, str], folder: FilePath = _HERE) -> tuple[ir.Check, ...]:
        """The checks. `folder` is where paths in the rule start. Raises ExpressionError when an expression is malformed."""
        replaced = {name: self.let.get(name, text) for name, text in definitions.items()}
        scope = _defined(self.on, frozenset(self.each), tuple(replaced.items()), folder)
        for name, text in self.let.items():
            if name not in definitions:
                scope = scope.define(name, text)
            elif isinstance(wrong := scope.definitions.get(name), ExpressionError):
                raise wrong
        scope = scope._replace(variables=frozenset())
        each: list[tuple[str, ir.Expr]] = []
        for var, text in self.each.items():
            if taken_by_printers(var):
                raise ExpressionError(f"a variable cannot be called {var!r}", 1, text)
            each.append((var, parse(text, scope)))
            scope = scope.bind(var)
        guard = parse(self.when, scope) if self.when is not None else None
        checks = tuple(self._dressed(check, scope, tuple(each), guard) for check in self.constraint.lower(scope))
        for check in checks:
            check_references(check, self.parameters)
        return checks

    def _dressed(self, check: ir.Check, scope: Scope, each: tuple[tuple[str, ir.Expr], ...], guard: ir.Expr | None) -> ir.Check:
        scope = scope._replace(variables=scope.variables | {var for var, _ in check.each})
        fix = check.fix
        if self.fix is not None:
            fix = ir.FixPlan(parse_template(self.fix.title, scope), self.fix.safe, tuple(_edit(e, scope) for e in self.fix.edits))
        related = check.related
        if self.related:
            related = tuple((parse(r.at, scope), parse_template(r.message, scope)) for r in self.related)
        return ir.Check(
            when=check.when if guard is None else ir.And((guard, check.when)),
            at=check.at,
            message=check.message if self.message is None else parse_template(self.message, scope),
            each=each + check.each,
            expected=check.expected if self.expected is None else parse_template(self.expected, scope),
            actual=check.actual if self.actual is None else parse(self.actual, scope),
            related=related,
            fix=fix,
            on_key=check.on_key,
        )


@lru_cache(maxsize=64)
def _defined(subject: str, variables: frozenset[str], definitions: tuple[tuple[str, str], ...], folder: FilePath) -> Scope:
    """The scope of what a file defines, which the rules of a file have in common."""
    scope = Scope(subject, {}, variables, folder=folder)
    for name, text in definitions:
        try:
            scope = scope.define(name, text)
        except ExpressionError as error:
            # It may speak of Pods, and the rule of something else.
            scope = scope._replace(definitions={**scope.definitions, name: error})
    return scope


def _edit(edit: EditText, scope: Scope) -> ir.EditPlan:
    given = [(op, text) for op in ("set", "rename", "quote") if (text := getattr(edit, op)) is not None]
    if len(given) != 1:
        raise ExpressionError("an edit is one of set, rename, quote", 1)
    op, text = given[0]
    return ir.EditPlan(op, parse(text, scope), parse(edit.value, scope))  # type: ignore[arg-type]
