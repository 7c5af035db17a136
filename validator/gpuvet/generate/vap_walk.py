"""CEL that looks into a whole object, whatever its types: which keys stand in it, and whether one calls for a rule.

CEL has no recursion, so each level is written out. The reference is `gpuvet.engine.shown`.
"""

import re

from gpuvet.engine.conditions import Triggers, key_test
from gpuvet.language.printers import cel_totals as total

_KEYS_DEPTH = 10
"""Levels of the kinds without Pod templates: none of them has half as many."""
_CONDITION_DEPTH = 16
"""Levels of a Pod template in a Job in a CronJob, down to the keys of its node affinity. What is deeper counts as something that may
concern a rule."""

PASSED_OVER = (
    *("args", "command", "env", "envFrom", "lifecycle", "livenessProbe", "ports", "readinessProbe", "securityContext", "startupProbe"),
    *("status", "volumeMounts", "volumes"),
)
"""Where much stands in a Pod and nothing that calls for a rule: without it a condition costs a fifth, and its budget is small."""


def keys_of(root: str) -> str:
    """The keys with a slash in a value, and the texts under `key`, as `engine.shown.all_keys` finds them: a list of texts."""
    text = "''"
    for level in range(_KEYS_DEPTH - 1, -1, -1):
        pair = f"p{level}"
        key, item = f"string({pair}[0])", f"{pair}[1]"
        of_quota = f"{key}.startsWith('requests.') || {key}.startsWith('limits.')"
        slashed = f"{key} + '\\n' + ({of_quota} ? {key}.substring({key}.indexOf('.') + 1) + '\\n' : '')"
        word = f"({key}.contains('/') ? {slashed} : {key} == 'key' && type({item}) == string ? string({item}) + '\\n' : '')"
        text = f"{_pairs(root if level == 0 else f'p{level - 1}[1]')}.map({pair}, {word} + {text}).join('')"
    return f"{text}.split('\\n')"


def may_concern(wanted: Triggers) -> str | None:
    """Whether something in an object may call for a rule: total, and true rather than false. None when every object may."""
    if wanted.whole:
        return None
    text = f"(type(p{_CONDITION_DEPTH - 1}[1]) == map || type(p{_CONDITION_DEPTH - 1}[1]) == list)"
    key = key_test("t", wanted)
    for level in range(_CONDITION_DEPTH - 1, -1, -1):
        pair, above = f"p{level}", f"p{level - 1}"
        tests = []
        if key:
            named = f"{pair}[0] in ['key', 'name'] && type({pair}[1]) == string ? {pair}[1] : ''"
            tests.append(f"[{pair}[0], {named}].exists(t, {key})")
        if wanted.images:
            names = "|".join(re.escape(name).replace("\\-", "-") for name in wanted.images)
            pattern = total.quoted(f"^(.*/)?({names})([:@].*)?$")
            tests.append(f"({pair}[0] == 'image' && type({pair}[1]) == string && {pair}[1].matches({pattern}))")
        if level == 0:
            below = f"!({pair}[0] in {total.literal(list(PASSED_OVER))}) && {text}"
        else:
            # In metadata every map counts, whatever it is called; but who wrote which field is long, and no map.
            below = (
                f"({above}[0] == 'metadata' ? {pair}[0] != 'managedFields' : !({pair}[0] in {total.literal(list(PASSED_OVER))})) && {text}"
            )
        text = f"{_pairs('dyn(object)' if level == 0 else f'p{level - 1}[1]')}.exists({pair}, {' || '.join([*tests, f'({below})'])})"
    called = f"dyn(object).metadata.?name.orValue('') in {total.literal(list(wanted.called))}"
    return " || ".join([*([called] if wanted.called else []), *([text] if key or wanted.images else [])]) or "false"


def _pairs(value: str) -> str:
    """[key, item] of a map, ['', item] of a list."""
    return f"(type({value}) == map ? {value}.map(k, [dyn(k), {value}[k]]) : type({value}) == list ? {value}.map(e, [dyn(''), e]) : [])"
