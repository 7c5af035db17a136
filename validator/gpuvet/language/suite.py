"""A suite of tests for rules, as it stands in YAML: manifests, and which rule must speak on which line."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from gpuvet.values.finding import Severity

Engine = Literal["python", "opa", "api-server"]
Text = Annotated[str, StringConstraints(min_length=1)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExpectText(_Model):
    """One finding that must be there."""

    rule: Text = Field(description="Id of the rule, such as QG004.")
    line: int | None = Field(
        default=None, ge=1, description="The line it stands on; of an inline manifest the first line is 1. Any line without."
    )
    file: Text | None = Field(default=None, description="The file, as `files` names it. Needed when the test has several.")
    severity: Severity | None = Field(default=None, description="Its severity. Any without.")


class TestText(_Model):
    """Manifests that are judged together, and what must be found in them: neither less nor more."""

    __test__ = False

    name: Text = Field(description="What the test is about.")
    files: tuple[Text, ...] = Field(default=(), description="Files, folders or patterns such as bad/*.yaml, relative to the suite.")
    manifest: Text | None = Field(default=None, description="A manifest that stands here instead of in a file.")
    rules: tuple[Text, ...] = Field(
        default=(),
        description="Rules (or FAMILY*) whose findings count. Without: errors and warnings of all rules, and infos that are expected.",
    )
    expect: tuple[ExpectText, ...] = Field(
        default=(), description="What must be found, besides what comments `# expect: RULE` on lines of the manifests say."
    )
    apart: bool = Field(default=False, description="Each file is judged by itself, so that none knows of the objects of another.")
    engines: tuple[Engine, ...] = Field(default=(), description="The engines on which this test makes sense. Without: all.")

    @model_validator(mode="after")
    def _something(self) -> "TestText":
        if bool(self.files) == (self.manifest is not None):
            raise ValueError("a test has either files or a manifest")
        return self


class SuiteText(_Model):
    """Tests of rules. docs/policy-test.md explains them."""

    config: Text | None = Field(
        default=None, description="The configuration to test, relative to the suite; without, that of gpuvet itself."
    )
    bundle: Text | None = Field(default=None, description="The bundle to test, over that of the configuration.")
    rego: tuple[Text, ...] = Field(
        default=(), description="Rego files of your own that a local OPA is to serve; `packages` says which to ask."
    )
    packages: tuple[Text, ...] = Field(default=(), description="Rego packages that are asked about every object, too.")
    tests: tuple[TestText, ...] = Field(min_length=1, description="The tests.")
