"""The condition language: every operator and function, what binds tighter, and errors with their column."""

from typing import Any

import pytest

from gpuvet.engine.subject import parse_text
from gpuvet.language import ir
from gpuvet.language.expression import FUNCTIONS, ExpressionError, Scope, parse, parse_template
from gpuvet.language.printers.python import print_module, print_rule
from gpuvet.values.total import UNKNOWN, pod_sum

POD = {
    "metadata": {"name": "app", "annotations": {"a/text": "10", "a/version": "v1.2.3", "a/empty": ""}, "labels": {"a/label": "yes"}},
    "spec": {
        "initContainers": [{"name": "init", "resources": {"limits": {"x.io/gpu": 1}}}],
        "containers": [
            {"name": "one", "resources": {"limits": {"x.io/gpu": "2", "x.io/memory": "4Gi"}, "requests": {"x.io/gpu": "1"}}},
            {"name": "two", "resources": {"requests": {"x.io/gpu": 3}}, "on": True, "zero": 0, "none": None, "half": 0.5},
        ],
    },
}
CONTAINERS = POD["spec"]["containers"]  # type: ignore[index]


class Subject:
    """What printed code asks."""

    fragment = False

    def __init__(self, value: Any, pod: Any = None) -> None:
        self.value = value
        self.pod = pod
        self.object = {"kind": "Pod", "metadata": {"name": "app"}}
        self.template = {"replicas": 3, "kind": "Pod", "name": ""}

    def effective(self, field: str) -> Any:
        return {"tflops-request": "60", "vram-request": UNKNOWN}.get(field)

    def source(self, field: str) -> Any:
        return {"tflops-request": "annotation"}.get(field)

    def find(self, kind: str, name: Any, namespace: Any) -> Any:
        return {"spec": {"from": f"{kind}/{namespace or 'own'}/{name}"}} if name == "there" else None

    def find_all(self, kind: str) -> Any:
        return [{"kind": kind}] if kind == "Node" else UNKNOWN

    def located_all(self, kind: str) -> Any:
        return [(("found", (kind, "n", None)), {"kind": kind})] if kind == "Node" else []

    def pod_sum(self, key: Any) -> Any:
        return pod_sum(self.pod, key)

    def parsed(self, value: Any, format: str) -> Any:
        return parse_text(value, format) if type(value) is str else None


def scope(on: str = "pod", **definitions: ir.Expr) -> Scope:
    return Scope(on, definitions, frozenset())


def run(check: ir.Check, subject: Subject, parameters: Any = None) -> list[tuple[Any, ...]]:
    """The violations that the printed check gives."""
    namespace: dict[str, Any] = {}
    exec(print_module([print_rule("T001", "t", (check,))]), namespace)
    found: list[tuple[Any, ...]] = []
    namespace["T001"](subject, parameters or {}, found.append)
    return found


def evaluate(text: str, value: Any = POD, on: str = "pod", parameters: Any = None) -> Any:
    """The value of an expression, computed by the code that is printed for it: once as it is, once shared with the condition."""
    expr = parse(text, scope(on))
    subject = Subject(value, POD if on in ("pod", "container") else None)
    check = ir.Check(when=ir.Constant(True), at=ir.Root("self"), message=("m",), actual=expr)
    ((_, _, _, _, plain, _, _, _),) = run(check, subject, parameters)
    shared = ir.Check(when=ir.Or((ir.Constant(True), ir.Equal(expr, expr))), at=ir.Root("self"), message=("m",), actual=expr)
    ((_, _, _, _, again, _, _, _),) = run(shared, subject, parameters)
    assert plain == again
    return plain


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-5", -5),
        ("'a'", "a"),
        ('"a"', "a"),
        (r"'it\'s \\ \n \t \d'", "it's \\ \n \t \\d"),
        ("true", True),
        ("false", False),
        ("null", None),
        ("['a', 'b']", ("a", "b")),
        ("[]", []),
        ("(1)", 1),
        # paths
        ("self.metadata.name", "app"),
        ("self['metadata']['name']", "app"),
        ("pod.spec.containers[0].name", "one"),
        ("pod.spec.containers[-1].name", None),
        ("pod.spec.containers[2].name", None),
        ("pod.spec.containers.name", None),
        ("pod.metadata.name.first", None),
        ("self.nothing.at.all", None),
        ("object.kind", "Pod"),
        ("template.replicas", 3),
        # equality
        ("1 == 1", True),
        ("'a' != 'b'", True),
        ("null == self.nothing", True),
        ("self.nothing != 'a'", True),
        ("pod.spec.containers[1].on == true", True),
        ("pod.spec.containers[1].on == 1", False),
        ("pod.spec.containers[1].zero == false", False),
        ("pod.spec.containers.map(c, c.name) == ['one', 'two']", True),
        ("pod.spec.containers.map(c, c.name) == ['one']", False),
        # order
        ("int('2') < int('10')", True),
        ("quantity('1Gi') > quantity('1G')", True),
        ("quantity('1Gi') <= '1024Mi'", True),
        ("quantity('2') >= 2", True),
        ("version('1.10') > '1.9'", True),
        ("version('470.161.03') <= version('470.161.3')", True),
        ("quantity(self.nothing) < 5", False),
        ("quantity(self.nothing) >= 5", False),
        ("int('x') < 5", False),
        ("int('5') < int(self.nothing)", False),
        # arithmetic
        ("int('7') + 2", 9),
        ("int('7') - 9", -2),
        ("int('7') * 3", 21),
        ("int('7') / 2", 3),
        ("int('-7') / 2", -4),
        ("int('7') % 4", 3),
        ("int('7') / 0", None),
        ("int('7') % 0", None),
        ("int('x') + 1", None),
        ("int('9223372036854775807') * 2", None),
        ("quantity('1500m') + '500m' == 2", True),
        ("quantity('1') - '1500m' == '-500m'", True),
        # logic
        ("true && false", False),
        ("true || false", True),
        ("!true", False),
        ("!!true", True),
        ("true ? 'a' : 'b'", "a"),
        ("false ? 'a' : true ? 'b' : 'c'", "b"),
        ("has(self.nothing) ? int('1') : null", None),
        # membership
        ("'a' in ['a', 'b']", True),
        ("'c' in ['a', 'b']", False),
        ("self.nothing in ['a']", False),
        ("'name' in self.metadata", True),
        ("'x' in self.nothing", False),
        ("1 in pod.spec.containers.map(c, c.on)", False),
        # macros
        ("pod.spec.containers.exists(c, c.name == 'two')", True),
        ("pod.spec.containers.all(c, c.name == 'two')", False),
        ("self.nothing.all(c, false)", True),
        ("self.nothing.exists(c, true)", False),
        ("pod.spec.containers.filter(c, c.on == true).map(c, c.name)", ["two"]),
        ("self.metadata.annotations.exists(v, key(v) == 'a/text' && v == '10')", True),
        ("self.metadata.annotations.map(v, key(v))", ["a/text", "a/version", "a/empty"]),
        ("pod.spec.containers.map(c, key(c))", [0, 1]),
        ("pod.spec.containers.exists(c, c.resources.exists(r, r.exists(v, key(v) == 'x.io/memory' && v == '4Gi')))", True),
        ("concat(pod.spec.initContainers, pod.spec.containers).map(c, c.name)", ["init", "one", "two"]),
        ("size(concat())", 0),
        # folds
        ("sum(['1', '2'].map(x, int(x)))", 3),
        ("max(['1', '2', 'x'].map(x, int(x)))", 2),
        ("min(['1', '2'].map(x, int(x)))", 1),
        ("max(self.nothing)", None),
        ("sum(self.nothing)", 0),
        ("max(pod.spec.containers)", None),
        ("sum(containers().map(c, quantity(asked(c, 'x.io/gpu')))) == 6", True),
        # types and numbers
        ("has(self.metadata)", True),
        ("has('a')", True),
        ("has(null)", False),
        ("has(quantity('1'))", True),
        ("has(pod.spec.containers[1].none)", False),
        ("isText(self.metadata.name)", True),
        ("isText(pod.spec.containers[1].zero)", False),
        ("isNumber(pod.spec.containers[1].zero)", True),
        ("isNumber(pod.spec.containers[1].half)", True),
        ("isNumber(pod.spec.containers[1].on)", False),
        ("isBool(pod.spec.containers[1].on)", True),
        ("isMap(self.metadata)", True),
        ("isList(pod.spec.containers)", True),
        ("isQuantity('10x')", False),
        ("isQuantity('10Gi')", True),
        ("isInt('010')", True),
        ("isInt('1.0')", False),
        ("isInt(quantity('1500m'))", False),
        ("int(quantity('2k'))", 2000),
        ("isVersion('1.2')", True),
        ("isVersion('latest')", False),
        # texts
        ("matches('abc', 'a.c')", True),
        ("matches('abcd', 'a.c')", False),
        ("matches(5, '5')", False),
        ("size('abc')", 3),
        ("size(self.metadata.annotations)", 3),
        ("size(5)", 0),
        ("split('a,b', ',')", ["a", "b"]),
        ("split(5, ',')", []),
        ("split('a', '')", []),
        ("trim(' a\t')", "a"),
        ("trim(5)", None),
        ("lower('ÄB')", "Äb"),
        ("startsWith('abc', 'ab')", True),
        ("endsWith('abc', 'bc')", True),
        ("contains('abc', 'b')", True),
        ("contains(5, '5')", False),
        ("'abc'.startsWith('ab')", True),
        ("'a-b'.split('-').exists(p1, p1 == 'b')", True),
        ("nearest('hihg', ['low', 'high'])", "high"),
        ("nearest('HIGH', ['low', 'high'])", "high"),
        ("nearest('zzz', ['low', 'high'])", None),
        ("append('5', 'Gi')", "5Gi"),
        ("append(5, 'Gi')", "5Gi"),
        ("append(self.nothing, 'Gi')", None),
        ("first(['a', 'b'].filter(c, c == 'b')).map(c, c)", ["b"]),
        ("size(first(self.nothing))", 0),
        ("either(self.nothing, 'x')", "x"),
        ("either(self.metadata.name, 'x')", "app"),
        # Pods
        ("annotation('a/text')", "10"),
        ("annotation('a/none')", None),
        ("annotation('a/empty')", ""),
        ("label('a/label')", "yes"),
        ("containers().map(c, c.name)", ["init", "one", "two"]),
        ("containers().map(c, limit(c, 'x.io/gpu'))", [1, "2", None]),
        ("containers().map(c, request(c, 'x.io/gpu'))", [None, "1", 3]),
        ("containers().map(c, asked(c, 'x.io/gpu'))", [1, "2", 3]),
        ("podSum('x.io/gpu') == 4", True),
        ("has(podSum('x.io/none'))", False),
        ("podSum('x.io/gpu', c, quantity('5')) == 10", True),
        ("effective('tflops-request')", "60"),
        ("source('tflops-request')", "annotation"),
        ("effective('qos')", None),
        # other objects
        ("find('WorkloadProfile', 'there').spec.from", "WorkloadProfile/own/there"),
        ("find('WorkloadProfile', 'there', 'ns').spec.from", "WorkloadProfile/ns/there"),
        ("has(find('WorkloadProfile', 'not'))", False),
        ("findAll('Node').exists(n, n.kind == 'Node')", True),
        # inside texts
        ("json('{\"a\": [1]}').a[0]", 1),
        ("yaml('a: {b: no}').a.b", False),
        ("json('{')", None),
        ("json(5)", None),
        ("yaml('a: b: c')", None),
    ],
)
def test_value(text: str, value: Any) -> None:
    found = evaluate(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("limit('x.io/gpu')", "2"),
        ("request('x.io/gpu')", "1"),
        ("asked('x.io/memory')", "4Gi"),
        ("self.name", "one"),
        ("pod.metadata.name", "app"),
    ],
)
def test_a_container_sees_itself_and_its_pod(text: str, value: Any) -> None:
    assert evaluate(text, CONTAINERS[0], "container") == value


@pytest.mark.parametrize(("on", "of"), [("metadata", POD["metadata"]), ("object", POD), ("container", CONTAINERS[0])])
def test_annotations_are_those_of_the_subject(on: str, of: Any) -> None:
    assert evaluate("annotation('a/text')", of, on) == "10"


def test_parameters_and_facts() -> None:
    assert evaluate("param('n') == 'x'", parameters={"n": "x"}) is True
    assert evaluate("fact('tensor-fusion-precedence').dialects.seed") == "1.34.7"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("true || false && false", "true || (false && false)"),
        ("!true || true", "(!true) || true"),
        ("!'a' == 'b'", "(!'a') == 'b'"),
        ("int('1') + 2 * 3 == 7", "(int('1') + (2 * 3)) == 7"),
        ("int('8') / 4 * 2", "(int('8') / 4) * 2"),
        ("int('8') - 4 - 2", "(int('8') - 4) - 2"),
        ("true ? 'a' : false ? 'b' : 'c'", "true ? 'a' : (false ? 'b' : 'c')"),
        ("false || true ? 'a' : 'b'", "(false || true) ? 'a' : 'b'"),
        ("int('1') + 1 < 3 && true", "((int('1') + 1) < 3) && true"),
        ("'a' in ['a'] == true", "'a' in ['a']"),
    ],
)
def test_what_binds_tighter(text: str, same: str) -> None:
    if text.endswith("== true"):
        with pytest.raises(ExpressionError, match="unexpected '=='"):
            parse(text, scope())
        return
    assert parse(text, scope()) == parse(same, scope())


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "the expression ends too early"),
        ("self.", 6, "expected a name"),
        ("self.5", 6, "expected a name"),
        ("self[", 6, "the expression ends too early"),
        ("self['a'", 9, "expected ']'"),
        ("(true", 6, "expected ')'"),
        ("true false", 6, "unexpected 'false'"),
        ("true ? 1", 9, "expected ':'"),
        ("  nope", 3, "unknown name 'nope'"),
        ("true && nope.a", 9, "unknown name 'nope'"),
        ("nope(1)", 1, "there is no function 'nope'"),
        ("true || size(1, 2)", 9, "size does not take 2 arguments"),
        ("size()", 1, "size does not take 0 arguments"),
        ("limit('a', 'b', 'c')", 1, "limit does not take 3 arguments"),
        ("annotation('a').nope()", 17, "there is no function 'nope'"),
        ("'a", 1, 'cannot read "\'a"'),
        ("1 # 2", 3, "cannot read '# 2'"),
        ("-x", 2, "expected a number"),
        ("[annotation('a')]", 17, "a list holds constants only"),
        ("['a' 'b']", 6, "expected ','"),
        ("key(c)", 5, "key() takes a bound variable, and 'c' is none"),
        ("self.a.exists(5, true)", 15, "expected a variable"),
        ("self.a.exists(c true)", 17, "expected ','"),
        ("self.a.exists(c, self.b.all(c, true))", 29, "the variable 'c' is bound already"),
        ("annotation('a') < 5", 17, "< compares quantity(), int() or version() of something, not any and integer"),
        ("quantity('1') < version('1')", 15, "< compares"),
        ("int('1') == '1'", 10, "a text is never equal to integer"),
        ("version('1') == int('1')", 14, "integer and version are never equal"),
        ("quantity('1') == '1x'", 15, "'1x' is not a quantity"),
        ("version('1') > 'new'", 14, "'new' is not a version"),
        ("quantity('1') * 2", 15, "* takes int() values"),
        ("annotation('a') + 1", 17, "+ takes int() values or quantity() values"),
        ("int('1') + 1 - 'a'", 14, "- takes int() values"),
        ("true ? int('1') : version('1')", 6, "both values must be of one type, not integer and version"),
        ("matches('a', '(')", 1, "matches: bad regular expression: missing )"),
        ("matches('a', '(?=a)')", 1, "matches: bad regular expression: RE2 has no '(?='"),
        (r"matches('a', '(a)\\1')", 1, "matches: bad regular expression: RE2 has no"),
        ("matches('a', 'a++')", 1, "matches: bad regular expression: RE2 has no"),
        ("find(annotation('a'), 'b')", 1, "find: takes a text in quotes"),
        ("param(5)", 1, "param: takes a text in quotes"),
    ],
)
def test_error(text: str, column: int, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text, scope())
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(f"at column {column} of {text!r}")
    assert caught.value.column == column


@pytest.mark.parametrize("pattern", ["a+", "(?:a|b)*", "(?P<n>a)", r"a\++", "[(?=]+", r"\\1x", "[a+]+", "a{2}", "(?i:a)", r"[\]+]+"])
def test_regular_expressions_that_every_engine_knows(pattern: str) -> None:
    assert isinstance(parse("matches('a', " + repr(pattern) + ")", scope()), ir.Matches)


@pytest.mark.parametrize("on", ["object", "metadata"])
@pytest.mark.parametrize("text", ["pod.spec", "template.replicas", "containers()", "podSum('a')", "effective('qos')", "source('qos')"])
def test_what_only_pods_have(on: str, text: str) -> None:
    parse(text, scope("container"))
    with pytest.raises(ExpressionError, match=f"in a rule on: {on}"):
        parse(text, scope(on))


def test_every_function_is_tried() -> None:
    import inspect
    import sys

    tried = inspect.getsource(sys.modules[__name__])
    assert [name for name in FUNCTIONS if f"{name}(" not in tried and name not in _ELSEWHERE] == []


_ELSEWHERE = {"flatten", "repaired", "nearQuantity"}
"""tests/unit/test_language_lists.py and test_facts.py."""


def test_definitions_stand_for_their_expression() -> None:
    name = parse("self.metadata.name", scope())
    assert parse("n == 'app'", scope(n=name)) == parse("self.metadata.name == 'app'", scope())


def test_a_wrong_definition_is_told_where_it_is_used() -> None:
    wrong = Scope("object", {"n": ExpressionError("no pod", 1)}, frozenset())
    assert parse("true", wrong) == ir.Constant(True)
    with pytest.raises(ExpressionError, match=r"^the definition of 'n' is wrong here: no pod at column 9 of 'true && n'$"):
        parse("true && n", wrong)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("plain", ("plain",)),
        ("{{literal}}", ("{literal}",)),
        ("a {'b}'} c", ("a ", ir.Constant("b}"), " c")),
        ("{1}{2}", (ir.Constant(1), ir.Constant(2))),
        ("", ()),
    ],
)
def test_template(text: str, parts: Any) -> None:
    assert parse_template(text, scope()) == parts


@pytest.mark.parametrize(
    ("text", "message"), [("a {nope", "a { has no closing }"), ("{nope}", "unknown name 'nope'"), ("{}", "the expression ends")]
)
def test_template_error(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        parse_template(text, scope())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{quantity('1500m')}", "1.5"),
        ("{version('v1.20.0')}", "1.20"),
        ("{int('7') + 1}", "8"),
        ("{annotation('a/empty')}", '""'),
        ("{annotation('a/none')}", "nothing"),
        ("{pod.spec.containers[1].on}", "true"),
        ("{['a', 'b']}", "a, b"),
        ("{containers().map(c, c.name)}", "init, one, two"),
    ],
)
def test_what_people_see_in_a_message(text: str, shown: str) -> None:
    check = ir.Check(when=ir.Constant(True), at=ir.Root("self"), message=parse_template(text, scope()))
    assert run(check, Subject(POD, POD))[0][2] == shown
