"""The handler alone: bytes in, bytes out, in one thread, in seconds of the processor."""

import gc
import time

from gpuvet.admission.review import RuleState, review
from gpuvet.engine.judge import Judge
from gpuvet.engine.ruleset import BoundRule, RuleSet


def rates(data: bytes, state: RuleState, seconds: float, rounds: int) -> list[float]:
    """Reviews a second of the processor, by round; sorted."""
    for _ in range(300):
        review(data, state)
    return sorted(_rate(data, state, seconds) for _ in range(rounds))


def _rate(data: bytes, state: RuleState, seconds: float) -> float:
    count, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        for _ in range(50):
            review(data, state)
        count += 50
    return count / spent


def more_rules(data: bytes, state: RuleState, count: int, rounds: int) -> list[float]:
    """Time of a review with so many rules by that with our own, in turns; sorted."""
    many = _many(state, count)
    for _ in range(300):
        review(data, state), review(data, many)
    gc.collect()
    gc.freeze()
    return sorted(_rate(data, state, 0.2) / _rate(data, many, 0.2) for _ in range(rounds * 3))


def _many(state: RuleState, count: int) -> RuleState:
    """The same set and rules about other keys."""
    rules = list(state.judge.rules.rules)
    origin = [rule for rule in rules if rule.info.keys]
    while len(rules) < count:
        rule = origin[len(rules) % len(origin)]
        info = rule.info._replace(id=f"XX{len(rules)}", keys=(f"example-{len(rules)}.com/key",), supersedes=())
        rules.append(BoundRule(info, rule.severity, rule.parameters))
    return state._replace(judge=Judge(RuleSet(rules, state.judge.rules.usage_key)))
