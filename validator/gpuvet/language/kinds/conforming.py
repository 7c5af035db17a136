"""`conforms_to`: a value is judged by a JSON Schema of the user's own."""

import json

from pydantic import ConfigDict, Field

from gpuvet.language import ir
from gpuvet.language.expression import Scope, parse
from gpuvet.language.kinds.base import Kind, both, kind
from gpuvet.manifests.reader import read
from gpuvet.values.conform import schema_problem

_UNTOLD = "\0"
"""No text of a manifest."""


@kind("conforms_to", shorthand="schema")
class ConformsTo(Kind):
    """`value`, when present, conforms to the JSON Schema in the file `schema` (JSON or YAML, relative to the rule file)."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    value: str = "self"
    schema_file: str = Field(alias="schema")

    def lower(self, scope: Scope) -> tuple[ir.Check, ...]:
        found = ir.Python("violations", (parse(self.value, scope), ir.Constant(self._schema(scope))), "judges by a JSON Schema", True)
        violation = ir.Name("violation")

        def said(part: str) -> ir.Expr:
            return ir.Get(violation, ir.Constant(part))

        checks = []
        for on_key in (False, True):
            about = ir.Equal(said("about"), ir.Constant("key"))
            # What the leaf is does not matter here; the finding rests on it, so that a placeholder or a fragment decides nothing.
            rests = ir.Not(ir.Equal(said("leaf"), ir.Constant(_UNTOLD)))
            checks.append(
                ir.Check(
                    each=(("violation", found),),
                    when=both(about if on_key else ir.Not(about), rests),
                    at=violation,
                    message=(said("message"),),
                    expected=(ir.If(ir.Present(said("expected")), said("expected"), ir.Constant("what the schema says")),),
                    actual=ir.If(ir.Equal(said("about"), ir.Constant("value")), said("leaf"), ir.ABSENT),
                    on_key=on_key,
                )
            )
        return tuple(checks)

    def _schema(self, scope: Scope) -> str:
        """The schema as JSON text. Raises ValueError."""
        path = scope.folder / self.schema_file
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ValueError(f"schema {self.schema_file} cannot be read: {error.strerror}") from None
        reading = read(content)
        problems = [*reading.problems, *(problem for document in reading.documents for problem in document.problems)]
        if problems or len(reading.documents) != 1:
            where = (
                f"{problems[0].span.line}:{problems[0].span.column}: {problems[0].message}" if problems else "1: it holds no one document"
            )
            raise ValueError(f"schema {self.schema_file}:{where}")
        schema = reading.documents[0].value
        if (problem := schema_problem(schema)) is not None:
            raise ValueError(f"schema {self.schema_file} is no JSON Schema: {problem}")
        return json.dumps(schema)
