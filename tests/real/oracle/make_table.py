"""The oracle of the reader: what sigs.k8s.io/yaml, which kubectl uses, makes of YAML texts.

As a script it writes `tests/fixtures/reader/oracle.json` anew, so that the fast tests need no Go.
An answer is {"text": ..., "json": ...} or {"text": ..., "error": ...}; the library reads the first document of a text only.
"""

import hashlib
import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TABLE = HERE.parent.parent / "fixtures" / "reader" / "oracle.json"
RANDOM_CASES = 400
SEED = 20240607

SCALARS = """
y Y yes Yes YES yEs n N no No NO nO on On ON oN off Off OFF oFF true True TRUE tRUE false False FALSE t f T F yess
~ null Null NULL nULL none nil ~~
0 1 -1 +1 -0 +0 00 01 007 017 0777 -017 +017 08 09 018 -08 0o17 0O17 -0o17 0o8 0o 0x1F 0X1f -0x1F +0x1F 0x 0xg 0b11 0B11 -0b11 0b12 0b 0b+1 0b-1 -0b-1
1_000 _1 1_ 1__0 0x_1F 0_7 1_0.5 1_0e1_0 -_1 0b_1
1.0 1.5 -1.5 +1.5 .5 -.5 +.5 5. 5.e1 1.e 1.0.0 1..0 . .. ... .e1 .5e3 .5_0 ._5 .5_ 5._5 0.1 00.5 01.5 1.50 1.7976931348623157e308
1e3 1E3 1e+3 1e-3 12e03 1e 1e+ e3 -1e3 0e0 -0.0 1e20 1e21 1e22 1e400 -1e400 1e-400 1.5e300 1e-7 123456789012345678 0.1e1 1e1.5 5e-1
9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 18446744073709551615 18446744073709551616
99999999999999999999999 0x7fffffffffffffff 0xffffffffffffffff 0x10000000000000000 98e17 5191604122197722_0. +9223372036854775808
.inf .Inf .INF .iNF +.inf -.inf -.INF .nan .NaN .NAN .nAN inf nan +inf Infinity NaN
1:20 12:30:45 1:60 -1:20 190:20:30.15 0:0 1:2:3:4 20:30
2001-12-14 2001-1-1 2001-12-14T21:59:43.10-05:00 2001-13-45 12024-01-01 2001-12-14t21:59:43.10Z 0001-01-01
= << <<< == * & ! % @ ` - ? : -- -- a:b a:b:c a#b ?a -a :a %a a? 1a 0a a1 1Gi 500m 10% 1,5 1.5Gi v1 1.2.3 0.0.0.0 10.0.0.0/8 1/2
+ - +- -+1 ++1 --1 0- 0+ 1+1 1-1 1e3e3 0x1p4 0x1.8p1 1f 1d 1L 0xFFL é 😀 ０ １２ ١ ½ ² 1² _ __ -_ +_ 0_ 0__ ._ 0._ 0x_ 1e_3 1e3_ 1_e3
""".split()

TAGGED = [
    "!!str 123", "!!str", "!!str yes", "!!str ~", "!!int 12", "!!int '12'", "!!int abc", "!!int 1.5", "!!int", "!!int 0x1F",
    "!!int 18446744073709551615", "!!float 1", "!!float '1.5'", "!!float abc", "!!float 18446744073709551615", "!!float .inf", "!!float 1e3",
    "!!bool yes", "!!bool 'on'", "!!bool 1", "!!bool maybe", "!!null ~", "!!null ''", "!!null x", "!!binary aGVsbG8=", "!!binary '*'",
    "!!binary /w==", "!!binary 4pyT", "!!binary aGVs", "!!binary a", "!!binary ''", "!!timestamp 2001-12-14", "!!timestamp x", "!!timestamp '2001-12-14'",
    "!!timestamp 2001-13-14", "!!timestamp 2001-12-14T21:59:43Z", "!!timestamp 2001-12-14 21:59:43", "!!timestamp 2001-12-14T25:00:00Z",
    "!foo bar", "!foo 12", "!foo [1]", "!!foo 12", "! 12", "! '12'", "! yes", "!<tag:yaml.org,2002:int> 5", "!<tag:example.org,2000:x> 5",
    "!!map {a: 1}", "!!seq [1]", "!!set {a, b}", "!!omap [a: 1]", "!!str [1]", "!!merge x", "!e!x 1",
]  # fmt: skip

QUOTED = [
    "'1'", '"1"', "'yes'", '"~"', "''", '""', "'it''s'", r'"a\nb"', r'"\x41\u00e9\U0001F600"', r'"\ud83d\ude00"', r'"\/"', r'"\q"', r'"\ "', r'"\0"',
    r'"\N\_\L\P\e\a"', "'a\n  b'", '"a\n\n  b"', '"a\\\n  b"', "'# no comment'", "a # comment", "a#b", "'a: b'", '"unclosed', "'unclosed", "'x' y",
]  # fmt: skip

TEXTS = [
    "", "\n", "# only a comment\n", "---\n", "---\n---\na: 1\n", "null\n", "~", "a\n", "- 1\n- 2\n", "[]", "{}", "a: 1\n", "a:\n", "a: \n- b\n",
    "a: 1\na: 2\n", "a: 1\n'a': 2\n", "1: a\n'1': b\n", "a: {b: 1, b: 2}\n",
    "y: 1\n", "n: 1\n", "yes: 1\nno: 2\n", "on:\n  push: 1\n", "true: 1\n", "True: 1\n", "1: x\n", "1.5: x\n", "1e3: x\n", "1e6: x\n", "1e21: x\n",
    "1234567.5: x\n", "0.1: x\n", "1e-5: x\n", "0.0001: x\n", "1e300: x\n", "-1e300: x\n", "3.4028235e38: x\n", "16777217.0: x\n", "0x1F: x\n",
    "017: x\n", "08: x\n", "~: x\n", "null: x\n", ": x\n", "'': x\n", ".inf: x\n", ".nan: x\n", "2001-12-14: x\n", "9223372036854775807: x\n",
    "9223372036854775808: x\n", "18446744073709551616: x\n", "? a\n: b\n", "? [a]\n: b\n", "? {a: 1}\n: b\n", "? - a\n: b\n", "? |\n  x\n: b\n", "? a\n",
    "!!str 1: x\n", "!!int '1': x\n", "!!float 1: x\n", "!!binary aGk=: x\n", "!!int x: 1\n", "!foo 1: x\n", "- ? a\n", "{a, b: 1}\n", "{? a : 1}\n",
    "b: &b {x: 1}\nc: {<<: *b}\n", "b: &b {x: 1, y: 2}\nc:\n  <<: *b\n  x: 3\n", "b: &b {x: 1, y: 2}\nc:\n  x: 3\n  <<: *b\n",
    "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n", "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*b, *a], z: 1}\n", "c: {<<: {x: 1}, y: 2}\n",
    "c: {<<: [{x: 1}, {x: 2}]}\n", "a: &a [1]\nc: {<<: *a}\n", "c: {<<: 1}\n", "c: {<<: ~}\n", "c: {<<: [1]}\n", "c: {'<<': 1}\n", "c: {\"<<\": {x: 1}}\n",
    "c: {!!merge <<: {x: 1}}\n", "c: {!!str <<: {x: 1}}\n", "a: &a {x: 1}\nc: {<<: *a, <<: {y: 2}}\n", "a: &a [{x: 1}]\nc: {<<: *a}\n",
    "a: &a {x: {p: 1}}\nc: {<<: *a, x: {q: 1}}\n", "a: &a\n  <<: {x: 1}\n  y: 2\nb:\n  <<: *a\n", "- <<\n- a: <<\n",
    "a: &x 1\nb: *x\n", "a: &x 1\nb: &x 2\nc: *x\n", "a: *x\n", "a: &x [*x]\n", "a: &x {b: *x}\n", "a: &x [1]\nb: [*x, *x]\n", "&k a: 1\nb: *k\n",
    "a: &x key\n*x : 1\n", "a: &x 1e6\n*x : 1\n", "a: &x yes\n*x : 1\n", "a: &x [1]\n*x : 1\n", "a: &x\nb: *x\n", "&r\na: 1\n", "&r {a: 1}\n",
    "&a <<: *a\n", "a: &a [&a 1, *a]\n", "a: &x 1\n---\nb: *x\n",
    "a: |\n  x\n  y\n", "a: |-\n  x\n", "a: |+\n  x\n\n", "a: >\n  x\n  y\n\n  z\n", "a: >-\n  x\n    y\n  z\n", "a: |2\n    x\n   y\n", "a: |\n\n  x\n", "a: |\nb: 1\n",
    "a: |\n  1\n", "a: >\n  yes\n", "- |\n  x\n- >\n  y\n", "a: |\n  x\n b: 1\n", "a: |\n  \tx\n", "a: x\n  y\n", "a: x\n\n  y\n", "a:\n  1\n", "a:\n  b\n  c\n",
    "a: 1\n\tb: 2\n", "a:\n\tb: 2\n", "a:\tb\n", "a: b\t\n", "a: 1\n\t\nb: 2\n", "\ta: 1\n", "a: [\n\t1,\n\t2\n]\n", "- a\n-\tb\n", "a: 'x\n\ty'\n",
    "\ufeffa: 1\n", "a: 1\r\nb:\r\n- 2\r\n", "a: 1\rb: 2\r", "a: |\r\n  x\r\n  y\r\n", "a: \"x\u2028y\"\n", "a: x\u2028b: y\n", "a: x\x85b: y\n", "a: |\n  x\u2028  y\n",
    "a: \x00\n", "a: \x07\n", "a: \x7f\n", "a: \x80\n", "a: \ufffe\n", "a: 😀\n😀: b\n", "a: \xa0\n", "\xa0a: 1\n",
    "%YAML 1.1\n---\na: 1\n", "%YAML 1.2\n---\na: 1\n", "%YAML 2.0\n---\na: 1\n", "%TAG !e! tag:yaml.org,2002:\n---\na: !e!str 1\n", "%FOO x\n---\na: 1\n", "%YAML 1.1\na: 1\n",
    "a: 1\n...\n", "a: 1\n...\n---\nb: 2\n", "--- a\n", "--- {a: 1}\n", "--- |\n  x\n", "---\ta: 1\n", "---a: 1\n", "a: 1\n--- # c\nb: 2\n", "a: '\n---\n'\n",
    "a: [1, 2\n", "a: {b: 1\n", "a: 1]\n", "a: b: c\n", "a: 'b' c\n", "a\nb: 1\n", "- a\nb: 1\n", "a: 1\n b: 2\n", "a:\n  b: 1\n c: 2\n", "a: - b\n", "a: @b\n", "a: `b\n",
    "a: %b\n", "a: &\n", "a: *\n", "a: !\n", "a: |x\n", "[1, 2,]\n", "[1,, 2]\n", "{a: 1,}\n", "{a: 1,, b: 2}\n", "[a: 1]\n", "[a: 1, b]\n", "{a:1}\n", '{"a":1}\n',
    "{a: }\n", "[-]\n", "[- a]\n", "{a: -1, b: - 1}\n", "[?a]\n", "{x: http://y}\n", "[http://y, z]\n", "a: [\n1\n]\n", "a: {\n}\n", "[\"a\":1]\n", "a:b\n", "a: b:\n",
    '{"a":"\\/"}\n', '{\n\t"a": 1,\n\t"b": [true, null]\n}\n', '{"a":1}\n{"b":2}\n', '{"a": 1e3, "b": 1.0, "c": 12345678901234567890, "d": 1e400}\n',
    "a: {{ .Values.x }}\n", "a: '{{ .Values.x }}'\n", "a: x{{ .Values.x }}\n", "{{- if x }}\na: 1\n{{- end }}\n", "a: ${X}\nb: $(Y)\n",
    "x" * 1030 + ": 1\n", '"' + "x" * 1030 + '": 1\n', "? " + "x" * 1030 + "\n: 1\n",
    "a: " + "[" * 50 + "]" * 50 + "\n", "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(6)
    ),
]  # fmt: skip


def cases() -> list[str]:
    """The texts of the committed table; the same every time."""
    texts = list(TEXTS)
    for scalar in SCALARS:
        texts += [f"v: {scalar}\n", f"{scalar}: v\n"]
    texts += [f"v: {scalar}\n" for scalar in (*TAGGED, *QUOTED)]
    texts += ["2001-12-14 21:59:43.10: v\n", "v: 2001-12-14 21:59:43.10\n", "v: 1 2\n", "v: yes no\n", "v: - 1\n"]
    texts += random_scalars(random.Random(SEED), RANDOM_CASES)
    return list(dict.fromkeys(texts))


def random_scalars(source: random.Random, count: int) -> list[str]:
    """`count` one-line documents with a scalar that is nearly a number, a word or a date."""
    alphabets = ("0123456789_.e+-", "01.+-_xXobB8", "0123456789:-T Z.", "yYnNoOfFtTrueals~.Ii", "0123456789aAfFeExX_")
    out = []
    for _ in range(count):
        alphabet = source.choice(alphabets)
        scalar = "".join(source.choice(alphabet) for _ in range(source.choice((1, 2, 3, 4, 5, 6, 8, 12, 20))))
        out.append(f"v: {scalar}\n" if source.random() < 0.7 else f"{scalar}: v\n")
    return out


def normal(value: Any) -> Any:
    """`value` with numbers as Kubernetes ends up with them: whole numbers within int64 are integers, everything else is a float64."""
    if isinstance(value, dict):
        return {key: normal(member) for key, member in value.items()}
    if isinstance(value, list):
        return [normal(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if isinstance(value, float) and value.is_integer() and -(2**63) <= value < 2**63:
        return int(value)
    return value if isinstance(value, float) or -(2**63) <= value < 2**63 else float(value)


def same(ours: Any, theirs: Any) -> bool:
    """Whether two values are the same to Kubernetes, types included."""
    return json.dumps(normal(ours), sort_keys=True) == json.dumps(normal(theirs), sort_keys=True)


def build() -> Path:
    """The oracle program, built once per source and kept in the user's cache folder."""
    key = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in ("go.mod", "go.sum", "main.go"))).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpuvet"
    program = cache / f"yaml-oracle-{key}"
    if not program.exists():
        cache.mkdir(parents=True, exist_ok=True)
        fresh = cache / f"{program.name}.{os.getpid()}"
        subprocess.run(["go", "build", "-trimpath", "-o", str(fresh), "."], cwd=HERE, check=True)
        fresh.replace(program)
    return program


def ask(texts: list[str]) -> list[dict[str, Any]]:
    """The library's answer to each text."""
    result = subprocess.run([build()], input=json.dumps(texts), capture_output=True, text=True, check=True)
    answers = []
    for text, answer in zip(texts, json.loads(result.stdout), strict=True):
        said = {"error": answer["error"]} if "error" in answer else {"json": json.loads(answer["json"])}
        answers.append({"text": text, **said})
    return answers


def main() -> None:
    answers = ask(cases())
    lines = ",\n".join(json.dumps(answer) for answer in answers)
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"{len(answers)} answers -> {TABLE}")


if __name__ == "__main__":
    main()
