"""The printed policies on another implementation of CEL: cel-expr-python, which is cel-cpp with a Python face.

It knows nothing of Kubernetes: what Kubernetes adds to CEL is supplied here, as far as printed policies use it. The texts are run as they
are printed, but for two things:

- an optional member of what is null is an error there and nothing in cel-go, so that `x.?y` and `x[?'y']` are asked only of maps;
- the variables that list the violations of a rule are read one by one, and not the text that joins them: nothing may nest deeper than 32.

A rule that nests deeper is not judged, and counted; a match condition that does lets the rules be asked.
"""

import ctypes
import re
from collections.abc import Iterator
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

from gpuvet.generate.vap_joined import MARK, located
from gpuvet.language.printers.cel_totals import quoted
from gpuvet.values.quantity import NANOS
from gpuvet.values.total import quantity

_READ = re.compile(r"\bvariables\.(\w+)")
_OPTIONAL = re.compile(r"(?<![\w.)\]])([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(\.\?\w+|\[\?'[^']*'\])")
_RULE = re.compile(r"([a-z]+[0-9a-z]*\d{3})(?:_\d+)?")
_T = cel.Type
_NONES = 1_000_000


class CelError(Exception):
    """An evaluation failed, or cannot be tried. `deep`: the text nests deeper than cel-cpp parses."""

    def __init__(self, message: str, deep: bool = False) -> None:
        super().__init__(message)
        self.deep = deep


class CelPolicy:
    """One ValidatingAdmissionPolicy."""

    def __init__(self, policy: dict[str, Any]) -> None:
        self.policy = policy
        self.conditions = [each["expression"] for each in policy["spec"]["matchConditions"]]
        self.variables = {each["name"]: each["expression"] for each in policy["spec"]["variables"]}
        self.rules = {name: match[1].upper() for name in _READ.findall(self.variables["lines"]) if (match := _RULE.fullmatch(name))}
        """Variables that list violations -> the rule."""

    def judge(self, value: dict[str, Any]) -> tuple[set[tuple[str, str]], set[str]]:
        """(rule, path) of the violations, those that another rule supersedes included; and the rules that nest too deep.

        Raises CelError when an evaluation fails for another reason.
        """
        evaluation = Evaluation(self, value)
        if not all(evaluation.holds(condition) for condition in self.conditions):
            return set(), set()
        found: set[tuple[str, str]] = set()
        deep: set[str] = set()
        for variable, rule in self.rules.items():
            try:
                listed = evaluation.run(f"variables.{variable}")
            except CelError as error:
                if not error.deep:
                    raise
                deep.add(rule)
            else:
                found |= {(one["r"], evaluation.place(one["at"])) for one in _flat(listed)}
        return found, deep


def _flat(listed: Any) -> Iterator[dict[str, Any]]:
    for one in listed:
        if isinstance(one, list):
            yield from _flat(one)
        else:
            yield one


class Evaluation:
    """The variables of a policy for one object: each evaluated once, when it is read."""

    def __init__(self, policy: CelPolicy, value: dict[str, Any]) -> None:
        group, _, version = value["apiVersion"].rpartition("/")
        kind = {"group": group, "version": version, "kind": value["kind"]}
        user = {"username": "tester", "groups": ["system:authenticated"]}
        self.policy = policy
        request = {"kind": kind, "operation": "CREATE", "namespace": "default", "userInfo": user}
        self.data = {"object": value, "oldObject": None, "request": request}
        self.known: dict[str, Any] = {}
        self.failed: dict[str, CelError] = {}

    def holds(self, condition: str) -> bool:
        """Whether the rules are asked. A condition that nests too deep lets them be: it only spares what would say nothing."""
        try:
            return self.run(condition) is True
        except CelError as error:
            if not error.deep:
                raise
            return True

    def place(self, at: str) -> str:
        """A place in a Pod that was put together is led back by the policy's own text, as where it joins the lists."""
        return str(self.run(located(quoted(at)))) if at.startswith(MARK) else at.removeprefix(".")

    def run(self, text: str) -> Any:
        """The value of an expression. Raises CelError."""
        program, read = _compiled(text)
        for name in read:
            self._evaluate(name)
        # A variable that failed is missing: whoever really reads it fails, too, and nobody else.
        variables = {name: self.known[name] for name in read if name in self.known}
        # cel-expr-python 0.1.3 gives back a reference to None that it does not hold, and before Python 3.12 they can run out.
        ctypes.c_ssize_t.from_address(id(None)).value += _NONES
        result = program.eval(data={**self.data, "variables": variables})
        # An error is a value there, and a truthy one.
        if result.type() == _T.ERROR:
            deep = any(error.deep for name, error in self.failed.items() if name in read)
            why = next((str(error) for name, error in self.failed.items() if name in read), "")
            raise CelError(f"{text[:80]}: {why or _words(result)}", deep)
        found = result.plain_value()
        return bytes(found) if isinstance(found, bytearray) else found

    def _evaluate(self, name: str) -> None:
        if name in self.known or name in self.failed:
            return
        try:
            self.known[name] = self.run(self.policy.variables[name])
        except CelError as error:
            self.failed[name] = error


def _words(result: Any) -> str:
    try:
        return str(result.value())
    except (TypeError, RuntimeError) as error:
        return str(error)


_PROGRAMS: dict[str, Any] = {}


def _compiled(text: str) -> tuple[Any, list[str]]:
    """A program, and the variables that it may read. Raises CelError."""
    if text not in _PROGRAMS:
        safe = _OPTIONAL.sub(r"(type(\1) == map ? \1\2 : optional.none())", text)
        for tried in (safe, text):
            try:
                _PROGRAMS[text] = (_ENVIRONMENT.compile(tried, disable_check=True), list(dict.fromkeys(_READ.findall(text))))
                break
            except Exception as error:  # noqa: BLE001 - the library raises what it has: RuntimeError, ValueError, Exception
                _PROGRAMS[text] = CelError(" ".join(str(error).split())[:200], "recursion" in str(error))
    found = _PROGRAMS[text]
    if isinstance(found, CelError):
        raise found
    return found


def _nanos(value: Any) -> int:
    """Of a quantity as it is handed around: `{"nanos": text}`, since CEL has no integers of any size."""
    inner = value["nanos"]
    return int(inner.value() if hasattr(inner, "value") else inner)


def _plain(value: Any) -> Any:
    return value.value() if hasattr(value, "value") else value


def _function(name: str, *overloads: tuple[Any, list[Any], bool, Any]) -> Any:
    listed = [
        cel.Overload(f"{name}_{number}", returned, parameters, member, call)
        for number, (returned, parameters, member, call) in enumerate(overloads)
    ]
    return cel.FunctionDecl(name, listed)


def _quantity(nanos: int) -> dict[str, str]:
    return {"nanos": str(nanos)}


def _of(text: str) -> dict[str, str]:
    nanos = quantity(text)
    if nanos is None:
        raise ValueError(f"{text!r} is no quantity")
    return _quantity(nanos)


def _found(text: str, pattern: str) -> str:
    match = re.search(pattern, text, re.ASCII)
    return match[0] if match else ""


_ENVIRONMENT = cel.NewEnv(
    variables=dict.fromkeys(("variables", "object", "oldObject", "request"), _T.DYN),
    extensions=[ext_optional.ExtOptional(), ext_strings.ExtStrings(), ext_bindings.ExtBindings(), ext_math.ExtMath()],
    functions=[
        _function("isQuantity", (_T.BOOL, [_T.STRING], False, lambda text: quantity(text) is not None)),
        _function("quantity", (_T.MAP, [_T.STRING], False, _of)),
        _function(
            "sub",
            (_T.MAP, [_T.MAP, _T.MAP], True, lambda one, other: _quantity(_nanos(one) - _nanos(other))),
            (_T.MAP, [_T.MAP, _T.INT], True, lambda one, other: _quantity(_nanos(one) - other * NANOS)),
        ),
        _function("asApproximateFloat", (_T.DOUBLE, [_T.MAP], True, lambda one: _nanos(one) / NANOS)),
        _function("isLessThan", (_T.BOOL, [_T.MAP, _T.MAP], True, lambda one, other: _nanos(one) < _nanos(other))),
        _function("isGreaterThan", (_T.BOOL, [_T.MAP, _T.MAP], True, lambda one, other: _nanos(one) > _nanos(other))),
        _function("find", (_T.STRING, [_T.STRING, _T.STRING], True, _found)),
        _function("sum", (_T.INT, [_T.LIST], True, lambda listed: sum(map(_plain, listed)))),
        _function("min", (_T.DYN, [_T.LIST], True, lambda listed: min(map(_plain, listed)))),
        _function("max", (_T.DYN, [_T.LIST], True, lambda listed: max(map(_plain, listed)))),
    ],
)
