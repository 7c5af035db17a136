"""`.gpuvet.yaml` and bundles: what they may hold, who wins, and errors that name file, line and column."""

from pathlib import Path
from typing import Any

import pytest

from gpuvet.compiled.bundles import BUNDLES
from gpuvet.compiled.catalogue import RULES
from gpuvet.scan.rules import rule_set
from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import FILE_NAME, Settings, find_config, load_settings
from gpuvet.settings.schema import FIELDS
from gpuvet.values.errors import ConfigError

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: app}
spec:
  containers:
    - {name: main, image: a, resources: {limits: {tke.cloud.tencent.com/qgpu-core: 33, tke.cloud.tencent.com/qgpu-memory: 8}}}
"""
RULE = """\
rules:
  - id: ACM001
    name: too-large
    severity: warning
    consequence: advice
    on: container
    trigger: {keys: [tke.cloud.tencent.com/qgpu-memory]}
    parameters: {largest: 8, words: [a], note: null}
    forbidden:
      that: quantity(limit('tke.cloud.tencent.com/qgpu-memory')) > int(param('largest'))
      at: limit('tke.cloud.tencent.com/qgpu-memory')
    why: Our cards are small.
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def settings(text: str, bundle: str | None = None) -> Settings:
    Path(FILE_NAME).write_text(text, encoding="utf-8")
    return load_settings(Path(FILE_NAME), bundle)


def severity(of: Settings, rule: str) -> str:
    found = {bound.info.id: bound.severity for bound in rule_set(of).rules}
    return found.get(rule, "off")


def error(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        rule_set(settings(text))
    return str(caught.value)


def own_rule(text: str = RULE) -> None:
    Path("rules.yaml").write_text(text, encoding="utf-8")


# Errors: each text, and the exact message.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bundel: default\n", ".gpuvet.yaml:1:1: unknown key 'bundel'; did you mean 'bundle'?"),
        ("bundle: strict\nzzz: 1\n", f".gpuvet.yaml:2:1: unknown key 'zzz'; known are {', '.join(FIELDS)}"),
        ("bundle: [strict]\n", ".gpuvet.yaml:1:9: bundle takes a text, such as default"),
        ("bundle: strickt\n", ".gpuvet.yaml:1:9: there is no bundle 'strickt'; did you mean 'strict'?; or a path that ends in .yaml"),
        ("- a\n", ".gpuvet.yaml:1:1: a configuration is a mapping"),
        ("just text\n", ".gpuvet.yaml:1:1: a configuration is a mapping"),
        ("exclude: charts\n", ".gpuvet.yaml:1:10: exclude takes a list of texts, such as [charts/*/templates/]"),
        ("exclude:\n  - a\n  - 1\n", ".gpuvet.yaml:3:5: exclude takes a list of texts, such as [charts/*/templates/]"),
        ("namespace: 5\n", ".gpuvet.yaml:1:12: namespace takes a text, such as default"),
        ("usageKey: {}\n", ".gpuvet.yaml:1:11: usageKey takes a text, such as maip.mxsf.io/node.usage"),
        ("platform: 1.2\n", ".gpuvet.yaml:1:11: platform takes a mapping, such as {tensorFusion: 1.48.4}"),
        ("platform: {tensorfusion: 1.2.3}\n", ".gpuvet.yaml:1:12: unknown key of platform 'tensorfusion'; did you mean 'tensorFusion'?"),
        ("platform: {qgpu: latest}\n", ".gpuvet.yaml:1:18: 'latest' is not a version such as 1.48.0"),
        ("platform: {qgpu: true}\n", ".gpuvet.yaml:1:18: platform.qgpu takes a version, such as {tensorFusion: 1.48.4}"),
        ("domains: {tensorFusion: 5}\n", ".gpuvet.yaml:1:25: domains.tensorFusion takes a text, such as {tensorFusion: gpu.example.com}"),
        ("rules: [QG004]\n", ".gpuvet.yaml:1:8: rules takes a mapping, such as {QG004: warning}"),
        ("rules: {QG004: eror}\n", ".gpuvet.yaml:1:16: a severity is one of off, on, error, warning, info, not 'eror'"),
        ("rules:\n  QG004: {severity: bad}\n", ".gpuvet.yaml:2:21: a severity is one of off, on, error, warning, info, not 'bad'"),
        ("rules: {QG004: {severty: error}}\n", ".gpuvet.yaml:1:17: unknown key of a rule 'severty'; did you mean 'severity'?"),
        ("rules: {QG004: {parameters: 5}}\n", ".gpuvet.yaml:1:29: parameters takes a mapping"),
        ("rules:\n  QG004: off\n  QG00: off\n", ".gpuvet.yaml:3:3: there is no rule 'QG00'; did you mean QG0"),
        ("rules: {qg004: off}\n", ".gpuvet.yaml:1:9: there is no rule 'qg004'; did you mean QG004?"),
        ("rules: {no-such: off}\n", ".gpuvet.yaml:1:9: there is no rule 'no-such'; `gpuvet rules` lists them"),
        ("rules: {'XX*': off}\n", ".gpuvet.yaml:1:9: there is no rule 'XX*'; `gpuvet rules` lists them"),
        ("rules: {QG004: {parameters: {depth: 1}}}\n", ".gpuvet.yaml:1:30: QG004 has no parameter 'depth'; it has none"),
        ("rules: {'QG*': {parameters: {depth: 1}}}\n", ".gpuvet.yaml:1:17: parameters belong to one rule, not to QG*"),
        ("context: {path: [a]}\n", ".gpuvet.yaml:1:11: unknown key of context 'path'; did you mean 'paths'?"),
        ("context: {paths: a}\n", ".gpuvet.yaml:1:18: context.paths takes a list of texts, such as " + FIELDS["context"].example),
        (
            "context:\n  complete:\n    - WorkloadProfiles\n",
            ".gpuvet.yaml:3:7: no rule looks up 'WorkloadProfiles'; did you mean WorkloadProfile?",
        ),
        ("workloads: {}\n", ".gpuvet.yaml:1:12: workloads takes a list of rows, such as [{group: example.com, kind: Trainer, ...}]"),
        (
            "workloads:\n  - kind: A\n    templates:\n      - {podTemplate: spec.template, podspec: x}\n",
            ".gpuvet.yaml:4:9: workloads[0].templates[0]: unknown key 'podspec'; did you mean 'podSpec'?",
        ),
        (
            "workloads:\n  - kind: A\n    templates: [{podSpec: '[]'}]\n",
            ".gpuvet.yaml:3:27: workloads[0].templates[0].podSpec: '[]' is not a place",
        ),
        ("ruleFiles: [none.yaml]\n", "none.yaml: cannot be read: No such file or directory"),
        ("bundle: a\nbundle: b\n", ".gpuvet.yaml:2:1: "),
        ("bundle: [\n", ".gpuvet.yaml:1:10: "),
        ("bundle: strict\n---\nbundle: default\n", ".gpuvet.yaml:3:1: a second document; this file should hold one"),
    ],
)
def test_error(text: str, message: str) -> None:
    found = error(text)
    assert found.startswith(message) if message.endswith((": ", " place", " QG0")) else found == message


def test_a_config_that_cannot_be_read() -> None:
    with pytest.raises(ConfigError, match=r"^none\.yaml: cannot be read: No such file or directory$"):
        load_settings(Path("none.yaml"))


@pytest.mark.parametrize(
    ("bundle", "message"),
    [
        ("[]\n", "own.yaml:1:1: a bundle is a mapping"),
        ("severitys: {}\n", "own.yaml:1:1: unknown key 'severitys'; did you mean 'severities'?"),
        ("severities: []\n", "own.yaml:1:13: severities takes a mapping of rules"),
        ("severities: {QG004: loud}\n", "own.yaml:1:21: a severity is one of off, on, error, warning, info, not 'loud'"),
        ("name: own\nseverities:\n  QG999: off\n", "own.yaml:3:3: there is no rule 'QG999'; "),
        ("parameters: {QG004: 5}\n", "own.yaml:1:21: the parameters of a rule are a mapping"),
        ("parameters: {QG004: {a: 5}}\n", "own.yaml:1:22: QG004 has no parameter 'a'; it has none"),
        ("extends: [default]\n", "own.yaml:1:10: extends takes the name or path of one bundle"),
        ("extends: defaults\n", "own.yaml:1:10: there is no bundle 'defaults'; did you mean 'default'?"),
        ("extends: ./own.yaml\n", "own.yaml:1:10: bundle ./own.yaml extends itself"),
        ("extends: ./none.yaml\n", "none.yaml: cannot be read: No such file or directory"),
    ],
)
def test_error_in_a_bundle_file(bundle: str, message: str) -> None:
    Path("own.yaml").write_text(bundle, encoding="utf-8")
    assert error("bundle: ./own.yaml\n").startswith(message)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("{largst: 5}", ".gpuvet.yaml:2:31: ACM001 has no parameter 'largst'; it has largest, words, note"),
        ("{largest: '5'}", ".gpuvet.yaml:2:31: parameter largest of ACM001 takes a whole number, such as 8"),
        ("{largest: true}", ".gpuvet.yaml:2:31: parameter largest of ACM001 takes a whole number, such as 8"),
        ("{words: b}", ".gpuvet.yaml:2:31: parameter words of ACM001 takes a list, such as a"),
    ],
)
def test_error_in_a_parameter(parameters: str, message: str) -> None:
    own_rule()
    assert error(f"ruleFiles: [rules.yaml]\nrules: {{ACM001: {{parameters: {parameters}}}}}\n") == message


def test_own_ids_may_not_be_ours() -> None:
    own_rule(RULE.replace("ACM001", "QG004"))
    assert error("ruleFiles: [rules.yaml]\n") == ".gpuvet.yaml:1:12: rule QG004 is one of gpuvet's own; give yours another id"


def test_own_ids_are_used_once_over_all_files() -> None:
    own_rule()
    Path("more.yaml").write_text(RULE, encoding="utf-8")
    assert error("ruleFiles: [rules.yaml, more.yaml]\n") == "more.yaml:2: rule ACM001 stands at rules.yaml:2 too; ids are never reused"


# What counts.


def test_without_a_config_every_field_has_a_value() -> None:
    of = load_settings(None)
    assert of == of._replace(platform={}, exclude=(), context_paths=(), context_complete=(), rule_files=(), workloads=None, source=None)
    assert of.severities == {"IN008": "off"}


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "rules:\nplatform:\nexclude:\ncontext:\nworkloads:\n", "context: {paths: null}\n"])
def test_an_empty_config_is_none(text: str) -> None:
    assert settings(text)._replace(source=None, folder=Path.cwd()) == load_settings(None)


def test_every_field_arrives() -> None:
    of = settings(
        """\
bundle: strict
rules: {QG004: warning, KM*: off}
platform: {tensorFusion: v1.48.4, koordinator: 1.8, qgpu: "1.1.1", kubernetes: 1.30}
domains: {tensorFusion: gpu.example.com}
usageKey: example.com/usage
productTaints: [example.com/product]
gpuModels: [NVIDIA-H20]
namespace: team
exclude: [vendor/]
context: {paths: [profiles], complete: [WorkloadProfile]}
workloads: [{group: example.com, kind: Trainer, templates: [{podTemplate: spec.template}]}]
ruleFiles: [rules.yaml]
opa: {url: "http://localhost:8181", packages: [company.gpu]}
"""
    )
    assert set(FIELDS) == {
        *("bundle", "rules", "platform", "domains", "usageKey", "productTaints", "gpuModels", "namespace", "exclude", "context"),
        *("workloads", "ruleFiles", "opa"),
    }
    assert of.opa is not None
    assert (of.opa.url, of.opa.packages) == ("http://localhost:8181", ("company.gpu",))
    assert (of.severities["QG004"], of.severities["KM*"]) == ("warning", "off")
    assert of.platform == {"tensorFusion": "v1.48.4", "koordinator": "1.8", "qgpu": "1.1.1", "kubernetes": "1.30"}
    assert of.domains == {"tensorFusion": "gpu.example.com"}
    assert (of.usage_key, of.product_taints, of.gpu_models) == ("example.com/usage", ("example.com/product",), ("NVIDIA-H20",))
    assert (of.namespace, of.exclude) == ("team", ("vendor/",))
    assert (of.context_paths, of.context_complete) == (("profiles",), ("WorkloadProfile",))
    assert [row.kind for row in of.workloads["example.com", "Trainer"]] == ["Trainer"]
    assert (of.rule_files, of.source) == (("rules.yaml",), FILE_NAME)


@pytest.mark.parametrize("written", ["off", "'off'", "false", "no"])
def test_off_needs_no_quotes(written: str) -> None:
    if written == "no":
        assert error("rules: {QG004: 'no'}\n").endswith("not 'no'")
    assert severity(settings(f"rules: {{QG004: {written}}}\n"), "QG004") == "off"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("{}", "error"),
        ("{QG004: info}", "info"),
        ("{QG004: {severity: warning}}", "warning"),
        ("{QG004: {parameters: {}}}", "error"),
        ("{'QG*': info}", "info"),
        ("{'*': off}", "off"),
        ("{'*': off, 'QG*': on}", "error"),
        ("{'QG*': off, QG004: on}", "error"),
        ("{QG004: info, 'QG*': off, '*': error}", "info"),
        ("{'KM*': off}", "error"),
    ],
)
def test_the_narrowest_pattern_wins(rules: str, expected: str) -> None:
    assert severity(settings(f"rules: {rules}\n"), "QG004") == expected


@pytest.mark.parametrize(
    ("own", "config", "expected"),
    [
        ("QG004: warning", "QG004: info", "info"),
        ("QG004: warning", "'QG*': off", "off"),
        ("QG004: warning", "'*': off", "off"),
        ("QG004: warning", "'QG*': on", "warning"),
        ("'QG*': info", "QG004: on", "error"),
        ("'*': off", "KM032: on", "off"),
    ],
)
def test_the_configuration_is_laid_over_the_bundle(own: str, config: str, expected: str) -> None:
    Path("own.yaml").write_text(f"severities: {{{own}}}\n", encoding="utf-8")
    assert severity(settings(f"bundle: ./own.yaml\nrules: {{{config}}}\n"), "QG004") == expected


def test_a_bundle_is_laid_over_what_it_extends() -> None:
    Path("below").mkdir()
    Path("below/base.yaml").write_text("extends: default\nseverities: {QG004: info, KM032: info}\n", encoding="utf-8")
    Path("own.yaml").write_text("extends: below/base.yaml\nseverities: {QG004: warning}\n", encoding="utf-8")
    of = settings("bundle: ./own.yaml\n")
    assert (severity(of, "QG004"), severity(of, "KM032"), severity(of, "IN008")) == ("warning", "info", "off")


def test_the_command_line_names_the_bundle() -> None:
    assert severity(settings("bundle: default\n", "tensor-fusion"), "QG004") == "off"
    with pytest.raises(ConfigError, match=r"^--bundle: there is no bundle 'tensorfusion'; did you mean 'tensor-fusion'\?"):
        load_settings(None, "tensorfusion")


def test_a_path_on_the_command_line_starts_there() -> None:
    Path("far").mkdir()
    Path("far", FILE_NAME).write_text("namespace: a\n", encoding="utf-8")
    Path("own.yaml").write_text("severities: {QG004: info}\n", encoding="utf-8")
    assert severity(load_settings(Path("far", FILE_NAME), "own.yaml"), "QG004") == "info"


def test_parameters_are_laid_over_each_other() -> None:
    own_rule()
    of = settings("ruleFiles: [rules.yaml]\nrules: {ACM001: {parameters: {largest: 20}}}\n")
    (rule,) = (bound for bound in rule_set(of).rules if bound.info.id == "ACM001")
    assert (rule.parameters["largest"], rule.parameters["words"], rule.severity) == (20, ["a"], "warning")


def test_parameters_reach_the_rule() -> None:
    own_rule()
    Path("pod.yaml").write_text(POD.replace("qgpu-memory: 8", "qgpu-memory: 10"), encoding="utf-8")

    def found(config: str) -> list[str]:
        return [f.rule for f in scan(Scan(["pod.yaml"], settings(config))).findings if f.rule == "ACM001"]

    assert found("ruleFiles: [rules.yaml]\n") == ["ACM001"]
    assert found("ruleFiles: [rules.yaml]\nrules: {ACM001: {parameters: {largest: 10}}}\n") == []


# Bundles of ours.


def test_every_bundle_is_whole() -> None:
    assert set(BUNDLES) >= {"default", "strict", "tensor-fusion", "koordinator-metax", "qgpu", "placement"}
    for name, bundle in BUNDLES.items():
        assert (bundle["name"], set(bundle) <= {"name", "description", "extends", "severities", "parameters"}) == (name, True)
        assert bundle["description"].endswith(".")
        rule_set(load_settings(None, name))


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("default", {"K8S", "TF", "KM", "QG", "PL", "VJ", "IN"}),
        ("strict", {"K8S", "TF", "KM", "QG", "PL", "VJ", "IN"}),
        ("tensor-fusion", {"K8S", "TF", "IN"}),
        ("koordinator-metax", {"K8S", "KM", "IN"}),
        ("qgpu", {"K8S", "QG", "IN"}),
        ("placement", {"K8S", "PL", "VJ", "IN"}),
    ],
)
def test_what_a_bundle_enforces(name: str, families: set[str]) -> None:
    default = {bound.info.id: bound.severity for bound in rule_set(load_settings(None)).rules}
    of_bundle = {bound.info.id: bound.severity for bound in rule_set(load_settings(None, name)).rules}
    assert {rule[:-3] for rule in of_bundle} <= families
    assert {rule for rule in default if rule[:-3] in families} <= set(of_bundle)
    if name != "strict":
        assert of_bundle == {rule: chosen for rule, chosen in default.items() if rule[:-3] in families}


def test_strict_is_never_milder() -> None:
    order = ("off", "info", "warning", "error")
    default, strict = (
        {bound.info.id: bound.severity for bound in rule_set(load_settings(None, name)).rules} for name in ("default", "strict")
    )
    assert [rule for rule, mild in default.items() if order.index(strict.get(rule, "off")) < order.index(mild)] == []


# Finding the file, and what it does to a run.


def test_the_nearest_config_above_is_found() -> None:
    inner = Path("a/b/c")
    inner.mkdir(parents=True)
    Path("a", FILE_NAME).write_text("", encoding="utf-8")
    assert find_config(inner) == Path("a", FILE_NAME).resolve()
    Path("a/b", FILE_NAME).write_text("", encoding="utf-8")
    assert find_config(inner) == Path("a/b", FILE_NAME).resolve()
    Path("a/b/c", FILE_NAME).mkdir()
    assert find_config(inner) == Path("a/b", FILE_NAME).resolve(), "a folder of that name is none"


def names(**of: Any) -> list[str]:
    return sorted({finding.location.file for finding in scan(Scan(["."], settings(of["config"]))).findings})


def test_exclude_is_gitignore_syntax_from_the_config_on() -> None:
    for name in ("keep/a.yaml", "charts/x/templates/a.yaml", "charts/x/templates/b.yaml", "a.yaml"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(POD, encoding="utf-8")
    assert len(names(config="")) == 4
    assert names(config="exclude: ['charts/*/templates/', '!b.yaml', '/a.yaml']\n") == ["./keep/a.yaml"]


def test_the_configuration_itself_is_no_input() -> None:
    result = scan(Scan(["."], settings("namespace: team\n")))
    assert result.counts.files == 0


def test_own_workload_row() -> None:
    Path("pod.yaml").write_text(
        "apiVersion: example.com/v1\nkind: Trainer\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      containers:\n"
        "        - {name: m, image: i, resources: {limits: {tke.cloud.tencent.com/qgpu-core: 33, tke.cloud.tencent.com/qgpu-memory: 8}}}\n",
        encoding="utf-8",
    )
    assert scan(Scan(["pod.yaml"], settings(""))).counts.not_covered == 1
    row = "workloads:\n  - {group: example.com, kind: Trainer, templates: [{podTemplate: spec.template}]}\n"
    result = scan(Scan(["pod.yaml"], settings(row)))
    assert (result.counts.not_covered, "QG004" in {finding.rule for finding in result.findings}) == (0, True)


def test_platform_versions_decide_about_a_rule() -> None:
    own_rule(RULE.replace("    parameters:", "    platform: {name: kubernetes, versions: '>=1.30'}\n    parameters:"))
    for version, expected in (("1.30", "warning"), ("1.3", "off"), ("1.31.2", "warning"), ("'1.29'", "off")):
        assert severity(settings(f"ruleFiles: [rules.yaml]\nplatform: {{kubernetes: {version}}}\n"), "ACM001") == expected
    assert severity(settings("ruleFiles: [rules.yaml]\n"), "ACM001") == "off"


@pytest.mark.parametrize(("unnamed", "expected"), [("skip", "off"), ("apply", "warning"), ("info", "info"), ("warning", "warning")])
def test_a_rule_says_what_to_do_without_a_version(unnamed: str, expected: str) -> None:
    own_rule(
        RULE.replace("    parameters:", f"    platform: {{name: kubernetes, versions: '>=1.30', unnamed: {unnamed}}}\n    parameters:")
    )
    assert severity(settings("ruleFiles: [rules.yaml]\n"), "ACM001") == expected
    assert severity(settings("ruleFiles: [rules.yaml]\nrules: {ACM001: off}\n"), "ACM001") == "off", "off is off"
    assert severity(settings("ruleFiles: [rules.yaml]\nrules: {'ACM*': off}\n"), "ACM001") == "off"


def test_what_is_said_of_a_rule_itself_counts_without_a_version_too() -> None:
    own_rule(RULE.replace("    parameters:", "    platform: {name: kubernetes, versions: '>=1.30', unnamed: info}\n    parameters:"))
    assert severity(settings("ruleFiles: [rules.yaml]\nrules: {ACM001: error}\n"), "ACM001") == "error"
    assert severity(settings("ruleFiles: [rules.yaml]\nrules: {ACM001: on}\n"), "ACM001") == "info"
    assert severity(settings("ruleFiles: [rules.yaml]\nrules: {ACM001: error}\nplatform: {kubernetes: '1.29'}\n"), "ACM001") == "off"


def test_every_rule_is_in_a_known_family() -> None:
    from gpuvet.values.rule import FAMILIES

    assert {info.id[:-3] for info in RULES} <= set(FAMILIES)


@pytest.mark.parametrize("name", BUNDLES)
def test_no_bundle_of_ours_turns_own_rules_off(name: str) -> None:
    own_rule()
    assert severity(settings(f"bundle: {name}\nruleFiles: [rules.yaml]\n"), "ACM001") == "warning"
