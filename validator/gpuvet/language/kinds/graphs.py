"""Kinds that judge graphs: `acyclic`."""

from gpuvet.language import ir
from gpuvet.language.expression import Scope, parse
from gpuvet.language.kinds.base import Kind, kind, label_of


@kind("acyclic")
class Acyclic(Kind):
    """The things in the list `nodes`, named by their field `called`, do not depend on each other in a circle; `edges` is the path,
    from a node, to the list of names that it depends on. Each circle is told once, at its first member."""

    nodes: str
    called: str = "name"
    edges: str

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        nodes = parse(self.nodes, scope)
        path = tuple(self.edges.split("."))
        found = ir.Python("cycles", (nodes, ir.Constant(self.called), ir.Constant(path)), "searches a graph for circles")
        name = ir.Get(ir.Name("node"), ir.Constant(self.called))
        at: ir.Expr = ir.Name("node")
        for key in path:
            at = ir.Get(at, ir.Constant(key))
        return (
            ir.Check(
                each=(("node", nodes),),
                when=ir.Member(name, found),
                at=at,
                message=(f"{label_of(nodes)} wait for each other: ", ir.Get(found, name)),
                expected=("an order in which each comes after those that it depends on",),
                actual=at,
            ),
        )
