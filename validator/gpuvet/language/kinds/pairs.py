"""Kinds that judge values together: `requires`, `mutually_exclusive`, `ordered`, `requests_equal_limits`."""

from typing import Literal

from gpuvet.language import ir
from gpuvet.language.expression import Scope, parse
from gpuvet.language.kinds.base import Kind, absent, both, kind, label_of


@kind("requires")
class Requires(Kind):
    """Where the subject's trigger is met (and `when` holds), each of `values` must be present; the finding stands at `at`."""

    values: list[str]
    at: str = "self"

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        at = parse(self.at, scope)
        return tuple(
            ir.Check(when=absent(value), at=at, message=(f"{label_of(value)} is missing",), expected=(f"{label_of(value)} is given",))
            for value in (parse(text, scope) for text in self.values)
        )


@kind("mutually_exclusive", shorthand="values")
class MutuallyExclusive(Kind):
    """At most one of `values` is present; the finding stands at each one after the first."""

    values: list[str]

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        parsed = [parse(text, scope) for text in self.values]
        return tuple(
            ir.Check(
                when=both(ir.Present(earlier), ir.Present(later)),
                at=later,
                message=(f"{label_of(later)} and {label_of(earlier)} exclude each other",),
                expected=(f"either {label_of(earlier)} or {label_of(later)}",),
                related=((earlier, (f"{label_of(earlier)} is given here",)),),
                on_key=True,
            )
            for place, later in enumerate(parsed)
            for earlier in parsed[:place]
        )


@kind("ordered")
class Ordered(Kind):
    """`lesser` is not above `greater`, when both are numbers of the type `of`."""

    lesser: str
    greater: str
    of: Literal["quantity", "integer", "version"] = "quantity"

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        lesser, greater = parse(self.lesser, scope), parse(self.greater, scope)
        convert = {"quantity": ir.QuantityOf, "integer": ir.IntegerOf, "version": ir.VersionOf}[self.of]
        left = lesser if ir.type_of(lesser) == self.of else convert(lesser)
        right = greater if ir.type_of(greater) == self.of else convert(greater)
        return (
            ir.Check(
                when=ir.Compare(">", left, right),
                at=lesser,
                message=(f"{label_of(lesser)} ", lesser, f" is above {label_of(greater)} ", greater),
                expected=("at most ", greater),
                related=((greater, (f"{label_of(greater)} is ", greater)),),
            ),
        )


@kind("requests_equal_limits")
class RequestsEqualLimits(Kind):
    """For each of a container's extended resources whose key matches the regular expression `resources`: the request equals the
    limit, compared as quantities."""

    resources: str

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        scope = scope.bind("request")
        requests = parse("self.resources.requests", scope)
        request = ir.Name("request")
        limit = ir.Get(parse("self.resources.limits", scope), ir.KeyOf("request"))
        differs = ir.Not(ir.Equal(ir.QuantityOf(request), ir.QuantityOf(limit)))
        known = both(ir.Present(ir.QuantityOf(request)), ir.Present(ir.QuantityOf(limit)))
        return (
            ir.Check(
                each=(("request", requests),),
                when=both(ir.Matches(ir.KeyOf("request"), ir.Constant(self.resources)), known, differs),
                at=request,
                message=("the request of ", ir.KeyOf("request"), " is ", request, " and its limit ", limit),
                expected=("equal to the limit, ", limit),
                related=((limit, ("the limit is ", limit)),),
                fix=ir.FixPlan(("make the request ", limit, ", like the limit"), False, (ir.EditPlan("set", request, limit),)),
            ),
        )
