"""What must be there for a violation to count in a fragment, where what is missing may stand elsewhere.

The other printers list, at run time, the values on which a violation rests. Policies would be several times as long, so most of it is
worked out here from the text of the rule: a value that is compared is there when the comparison holds. Few are left to be tested.
The reference is `because` of the Python printer; what is said here is never less.
"""

from collections.abc import Iterable
from functools import reduce

from gpuvet.language import ir
from gpuvet.language.printers.python import _authored, _compared, _is_table, _loops

Exprs = frozenset[ir.Expr]
_NONE: Exprs = frozenset()


def missing(test: ir.Expr) -> Exprs | None:
    """Of the values on which it rests that `test` holds, those that may be absent then; None when it rests on what nobody can test."""
    read = _lacks(test, True)
    return None if read is None else read - _sure(test, True)


def _any(parts: Iterable[Exprs | None]) -> Exprs | None:
    found = _NONE
    for part in parts:
        if part is None:
            return None
        found |= part
    return found


def _lacks(expr: ir.Expr, truth: bool) -> Exprs | None:
    match expr:
        case ir.Defined(_, of):
            return _lacks(of, truth)
        case ir.Not(of):
            return _lacks(of, not truth)
        case ir.And(parts) | ir.Or(parts):
            # Of alternatives any may be the reason.
            conjunct = isinstance(expr, ir.And) == truth
            own = [_lacks(part, truth) for part in parts]
            if not conjunct:
                own = [None if each is None else each - _sure(part, truth) for each, part in zip(own, parts, strict=True)]
            return _any(own)
        case ir.Quantified(op="exists" | "all", var=var, of=of, body=body) if _is_table(of) and not _loops(body):
            return _any(_rest_on(part) for part in _compared(body, var))
        case ir.Quantified(op=("exists" | "all") as op, var=var, of=of, body=body):
            if (op == "exists") != truth and _authored(of):
                return None
            return _any((_rest_on(of), _outside(_lacks(body, truth), _sure(body, truth), var)))
        case ir.If(_, then, otherwise):
            return _any((_lacks(then, truth), _lacks(otherwise, truth)))
    return _rest_on(expr)


def _outside(read: Exprs | None, sure: Exprs, var: str) -> Exprs | None:
    """What is left outside of the loop that binds `var`."""
    if read is None:
        return None
    left = read - sure
    return None if any(var in ir.free(each) for each in left) else left


def _rest_on(expr: ir.Expr) -> Exprs | None:
    match expr:
        case ir.Constant() | ir.Amount() | ir.Param() | ir.Fact() | ir.KeyOf() | ir.Root():
            return _NONE
        case ir.Get() | ir.Name() | ir.Effective() | ir.Source() | ir.PodSum():
            return frozenset((expr,))
        case ir.If(ir.Present(test), then, _) if test == then:
            # Where it is absent, that decides.
            return _rest_on(then)
        case ir.Quantified(_, var, of, body):
            return _any((_rest_on(of), _outside(_rest_on(body), _NONE, var)))
        case ir.Concat(parts):
            return _rest_on(parts[-1]) if parts else _NONE
        case ir.Defined(_, of):
            return _lacks(of, True)
        case ir.Find() | ir.FindAll() | ir.Parsed() | ir.Python():
            return None
    return _any(_rest_on(child) for child in ir.children(expr))


def _sure(expr: ir.Expr, truth: bool) -> Exprs:
    """Values that are there when `expr` is `truth`."""
    match expr:
        case ir.Defined(_, of):
            return _sure(of, truth)
        case ir.Not(of):
            return _sure(of, not truth)
        case ir.And(parts) | ir.Or(parts) if parts:
            found = [_sure(part, truth) for part in parts]
            return _NONE.union(*found) if isinstance(expr, ir.And) == truth else reduce(frozenset.intersection, found)
        case ir.If(_, then, otherwise):
            return _sure(then, truth) & _sure(otherwise, truth)
        case ir.Quantified(op="exists", var=var, body=body) if truth:
            return frozenset(each for each in _sure(body, True) if var not in ir.free(each))
    if not truth:
        return _NONE
    match expr:
        case ir.Present(of) | ir.IsType(of):
            return _there(of)
        case ir.Compare(_, left, right) | ir.Matches(left, right):
            return _there(left) | _there(right)
        case ir.Equal(left, ir.Constant(value=value)) if value is not None:
            return _there(left)
        case ir.Member(item, ir.Constant(value=tuple() as listed)) if None not in listed:
            return _there(item)
        case ir.Text(op="startsWith" | "endsWith" | "contains", of=of, argument=argument):
            return _there(of) | (_there(argument) if argument is not None else _NONE)
    return _NONE


def _there(expr: ir.Expr) -> Exprs:
    """Values that are there when that of `expr` is."""
    found = frozenset((expr,))
    match expr:
        case ir.QuantityOf(of) | ir.IntegerOf(of) | ir.VersionOf(of) | ir.Text(op="trim" | "lower", of=of) | ir.Defined(_, of):
            return found | _there(of)
        case ir.Get(base, _):
            return found | _there(base)
        case ir.Arithmetic(_, left, right):
            return found | _there(left) | _there(right)
    return found
