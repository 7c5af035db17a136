"""`shadowed_by`: a value that another one keeps from counting."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from gpuvet.language import ir
from gpuvet.language.expression import Scope, parse
from gpuvet.language.kinds.base import Kind, both, kind, label_of, template


class Pair(BaseModel):
    """The `winner` counts and the `loser` does not; `of` says how they are compared."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    loser: str
    winner: str
    of: Literal["text", "quantity", "integer"] = "text"


@kind("shadowed_by", shorthand="pairs")
class ShadowedBy(Kind):
    """For each of `pairs`: both are present and differ, so that the loser has no effect; the finding stands `at` one."""

    pairs: list[Pair]
    at: Literal["winner", "loser"] = "winner"
    whose: str = ""
    """What messages add to the loser: `of the profile`."""

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        checks = []
        whose = (" ", *template(self.whose, scope)) if self.whose else ()
        convert = {"text": lambda expr: expr, "quantity": ir.QuantityOf, "integer": ir.IntegerOf}
        for pair in self.pairs:
            loser, winner = parse(pair.loser, scope), parse(pair.winner, scope)
            left, right = convert[pair.of](loser), convert[pair.of](winner)
            name = label_of(winner)
            place, other = (winner, loser) if self.at == "winner" else (loser, winner)
            checks.append(
                ir.Check(
                    when=both(ir.Present(left), ir.Present(right), ir.Not(ir.Equal(left, right))),
                    at=place,
                    message=(f"{name} ", winner, f" counts, and not {label_of(loser)} ", loser, *whose),
                    expected=("only one of the two, or the same value",),
                    related=((other, (f"{label_of(other)} is ", other)),),
                )
            )
        return tuple(checks)
