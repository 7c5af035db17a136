"""What must be there for a violation to count in a part of a Pod, as policies test it."""

import pytest

from gpuvet.language import ir
from gpuvet.language.printers.cel_absence import missing

ONE, OTHER = (ir.Get(ir.Root("self"), ir.Constant(key)) for key in ("one", "other"))
ITEM = ir.Name("item")


@pytest.mark.parametrize(
    ("test", "left"),
    [
        (ir.Compare(">", ir.IntegerOf(ONE), ir.Constant(5)), set()),
        (ir.Not(ir.Present(ONE)), {ONE}),
        (ir.Not(ir.Compare(">", ir.IntegerOf(ONE), ir.Constant(5))), {ONE}),
        (ir.And((ir.Present(ONE), ir.Not(ir.Matches(ONE, ir.Constant("a"))))), set()),
        (ir.And((ir.Present(ONE), ir.Not(ir.Equal(ONE, OTHER)))), {OTHER}),
        (ir.Or((ir.Present(ONE), ir.Not(ir.Present(OTHER)))), {OTHER}),
        (ir.Compare(">", ir.IntegerOf(ir.If(ir.Present(ONE), ONE, OTHER)), ir.Constant(5)), {ONE}),
        (ir.Quantified("exists", "item", ONE, ir.Equal(ITEM, ir.Constant("a"))), {ONE}),
        # Another item may stand elsewhere.
        (ir.Not(ir.Quantified("exists", "item", ONE, ir.Equal(ITEM, ir.Constant("a")))), None),
        (ir.Quantified("exists", "item", ONE, ir.Not(ir.Equal(ITEM, ir.Constant("a")))), None),
    ],
)
def test_what_may_be_missing(test: ir.Expr, left: set[ir.Expr] | None) -> None:
    assert missing(test) == left
