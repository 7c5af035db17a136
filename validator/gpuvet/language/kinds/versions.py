"""`version_bounds`: a version against a dated table of branches."""

from typing import Literal

from gpuvet.language import ir
from gpuvet.language.expression import Scope, parse
from gpuvet.language.kinds.base import Kind, absent, both, kind
from gpuvet.language.kinds.values import FORMATS


@kind("version_bounds")
class VersionBounds(Kind):
    """`value` is a driver version; its branch (the first part) is looked up in `table` (rules/facts/), which has `branches` (branch ->
    `maximum`, inclusive) and `later` (branches that only newer documents list). `finds` says which of three disjoint findings this is:
    `above` the bound of its branch, in a branch listed only `later`, or in an `unlisted` one."""

    value: str
    table: str
    finds: Literal["above", "later", "unlisted"]

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        value = parse(self.value, scope)
        table = ir.Fact(self.table)
        branch = ir.Get(ir.Text("split", value, ir.Constant(".")), ir.Constant(0))
        bounds = ir.Get(table, ir.Constant("branches"))
        maximum = ir.Get(ir.Get(bounds, branch), ir.Constant("maximum"))
        later = ir.Get(table, ir.Constant("later"))
        names = ir.Quantified("map", "entry", bounds, ir.KeyOf("entry"))
        formed = ir.Matches(value, ir.Constant(FORMATS["driver-version"][0]))
        if self.finds == "above":
            when = both(formed, ir.Compare(">", ir.VersionOf(value), ir.VersionOf(maximum)))
            message: ir.Template = ("driver ", value, " is newer than ", maximum, ", the newest of branch ", branch, " that is supported")
            expected: ir.Template = (maximum, " or older within branch ", branch)
        elif self.finds == "later":
            when = both(formed, absent(maximum), ir.Present(ir.Get(later, branch)))
            since = ir.Get(ir.Get(later, branch), ir.Constant("since"))
            message = ("driver ", value, " is of branch ", branch, ", which only newer releases support (", since, ")")
            expected = ("a driver of branch ", names, ", or a release that lists ", branch)
        else:
            when = both(formed, absent(maximum), absent(ir.Get(later, branch)))
            message = ("driver ", value, " is of branch ", branch, ", which no list of supported drivers names")
            expected = ("a driver of branch ", names)
        return (ir.Check(when=when, at=value, message=message, expected=expected),)
