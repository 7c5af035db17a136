"""The rules on combinations of GPU keys against a second telling of koordinator-metax.md 2.1 to 2.5, over random Pods.

The telling below shares nothing with the rules: it walks containers, rewrites them as the webhook does, sums up and judges the sum.
"""

import random
from typing import Any

import pytest
import yaml

from gpuvet.scan.run import Scan, scan
from gpuvet.settings.config import load_settings

KOORDINATOR = tuple(f"koordinator.sh/{name}" for name in ("gpu", "gpu.shared", "gpu-core", "gpu-memory", "gpu-memory-ratio"))
GPU, SHARED, CORE, MEMORY, RATIO = KOORDINATOR
NVIDIA, AMD, DCU = "nvidia.com/gpu", "amd.com/gpu", "dcu.com/gpu"
NPU, NPU_CPU, DVPP = "huawei.com/npu-core", "huawei.com/npu-cpu", "huawei.com/npu-dvpp"
MI = 1 << 20

ERRORS = {f"KM{number}" for number in ("007", "008", "009", "011", "012", "013", "014", "105", "061")}
WARNINGS = {f"KM{number}" for number in ("015", "106", "055", "155", "107")}

Asks = dict[str, int]


class Case:
    """Regular containers, and init containers with whether they are sidecars."""

    def __init__(self, regular: list[Asks], init: list[tuple[Asks, bool]]) -> None:
        self.regular = regular
        self.init = init

    def manifest(self) -> dict[str, Any]:
        def box(name: str, asks: Asks) -> dict[str, Any]:
            return {"name": name, "image": "ubuntu:22.04", "resources": {"limits": {key: str(value) for key, value in asks.items()}}}

        spec: dict[str, Any] = {"schedulerName": "koord-scheduler"}
        if self.init:
            spec["initContainers"] = [
                box(f"init-{i}", asks) | ({"restartPolicy": "Always"} if sidecar else {}) for i, (asks, sidecar) in enumerate(self.init)
            ]
        spec["containers"] = [box(f"main-{i}", asks) for i, asks in enumerate(self.regular)]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "case"}, "spec": spec}


def mutate(asks: Asks, old: bool) -> Asks:
    """The webhook on one regular container (2.5)."""
    out = dict(asks)
    if GPU in out:
        out[CORE] = out[RATIO] = out.pop(GPU)
    if any(key in asks for key in KOORDINATOR) and SHARED not in out:
        if RATIO in out:
            many = out[RATIO]
            out[SHARED] = many // 100 if many > 100 and many % 100 == 0 else 1
        elif CORE in out and out[CORE] > 100 and out[CORE] % 100 == 0:
            out[SHARED] = 0 if old else out[CORE] // 100
        else:
            out[SHARED] = 1
    return out


def add(one: Asks, other: Asks) -> Asks:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {*one, *other}}


def larger(one: Asks, other: Asks) -> Asks:
    return {key: max(one.get(key, 0), other.get(key, 0)) for key in {*one, *other}}


def pod_sum(regular: list[Asks], init: list[tuple[Asks, bool]]) -> Asks:
    """What the scheduler counts (2.1), zeros dropped."""
    running: Asks = {}
    for asks in regular:
        running = add(running, asks)
    sidecars: Asks = {}
    starting: Asks = {}
    for asks, sidecar in init:
        if sidecar:
            sidecars = add(sidecars, asks)
            running = add(running, asks)
            starting = larger(starting, sidecars)
        else:
            starting = larger(starting, add(sidecars, asks))
    return {key: value for key, value in larger(running, starting).items() if value > 0}


def placeable(total: Asks) -> bool:
    """The table of 2.2 and the impossible case of 2.4, for GPU keys."""

    def off(key: str) -> bool:
        return total[key] > 100 and total[key] % 100 != 0

    def split(key: str) -> bool:
        return total[key] % total[SHARED] == 0 and total[key] // total[SHARED] <= 100

    keys = frozenset(total)
    if SHARED not in keys and CORE in keys:
        ratio = total.get(RATIO, 0)
        count = ratio // 100 if ratio > 100 and ratio % 100 == 0 else 1
        if total[CORE] > 100 * count:
            return False
    if keys in ({}, {NVIDIA}, {AMD}, {DCU}, {MEMORY}, frozenset()):
        return True
    if keys == {GPU}:
        return not off(GPU)
    if keys == {RATIO}:
        return not off(RATIO)
    if keys == {CORE, MEMORY}:
        return not off(CORE)
    if keys == {CORE, RATIO}:
        return not off(CORE) and not off(RATIO)
    if keys == {NPU, RATIO}:
        return not off(RATIO)
    if keys == {SHARED, MEMORY}:
        return True
    if keys == {SHARED, RATIO}:
        return split(RATIO)
    if keys == {SHARED, CORE, MEMORY}:
        return split(CORE)
    if keys == {SHARED, CORE, RATIO}:
        return split(CORE) and split(RATIO)
    if keys == {SHARED, NPU, NPU_CPU, MEMORY}:
        return total[SHARED] == 1
    if keys == {SHARED, NPU, NPU_CPU, DVPP, MEMORY}:
        return total[SHARED] == 1 and total[DVPP] <= 100
    return False


def verdicts(case: Case) -> tuple[bool, bool, bool]:
    """Placeable without the webhook, with it, and with that of v1.8.0."""
    return (
        placeable(pod_sum(case.regular, case.init)),
        placeable(pod_sum([mutate(asks, False) for asks in case.regular], case.init)),
        placeable(pod_sum([mutate(asks, True) for asks in case.regular], case.init)),
    )


AMOUNTS = {
    GPU: (0, 1, 50, 60, 100, 150, 200, 250),
    SHARED: (0, 1, 1, 1, 2, 3, 4),
    CORE: (0, 10, 15, 50, 60, 100, 150, 200, 300),
    MEMORY: (0, 1024 * MI, 8192 * MI),
    RATIO: (0, 10, 25, 50, 60, 100, 150, 200, 300),
    NVIDIA: (0, 1, 2),
    AMD: (1,),
    DCU: (1,),
    NPU: (0, 1, 4, 100),
    NPU_CPU: (0, 2),
    DVPP: (0, 50, 100, 101),
}
COMMON = (SHARED, CORE, MEMORY, RATIO)


def random_asks(dice: random.Random) -> Asks:
    shape = dice.random()
    if shape < 0.6:
        keys = [key for key in COMMON if dice.random() < 0.55]
    elif shape < 0.8:
        keys = [key for key in (GPU, *COMMON) if dice.random() < 0.4]
    elif shape < 0.9:
        keys = [key for key in (NPU, NPU_CPU, DVPP, SHARED, MEMORY, RATIO) if dice.random() < 0.6]
    else:
        keys = [key for key in AMOUNTS if dice.random() < 0.25]
    return {key: dice.choice(AMOUNTS[key] if dice.random() < 0.3 else [n for n in AMOUNTS[key] if n] or AMOUNTS[key]) for key in keys}


def random_case(dice: random.Random) -> Case:
    regular = [random_asks(dice) for _ in range(dice.choice((1, 1, 1, 2, 2, 3)))]
    init = [(random_asks(dice), dice.random() < 0.5) for _ in range(dice.choice((0, 0, 0, 0, 1, 2)))]
    return Case(regular, init)


def judged(cases: list[Case], koordinator: str | None = None) -> list[dict[str, set[str]]]:
    """Rule -> severities, for each case; all cases in one stream."""
    settings = load_settings(None)
    if koordinator:
        settings = settings._replace(platform={"koordinator": koordinator})
    text = ""
    starts = []
    for case in cases:
        starts.append(text.count("\n") + 1)
        text += yaml.safe_dump(case.manifest()) + "---\n"
    result = scan(Scan(["-"], settings, stdin=text.encode(), stdin_name="-", jobs=1))
    assert not result.crashed
    found: list[dict[str, set[str]]] = [{} for _ in cases]
    place = 0
    for finding in sorted(result.findings, key=lambda finding: finding.location.span.line):
        while place + 1 < len(starts) and finding.location.span.line >= starts[place + 1]:
            place += 1
        found[place].setdefault(finding.rule, set()).add(finding.severity)
    return found


def check(case: Case, found: dict[str, set[str]], koordinator: str | None) -> None:
    """One case: errors exactly where no webhook helps, warnings exactly where it hangs on the webhook."""
    plain, hooked, hooked_old = verdicts(case)
    about = f"{case.manifest()['spec']} without {plain}, with {hooked}, with v1.8.0's {hooked_old}: {found}"
    errors = {rule for rule, severities in found.items() if rule in ERRORS | WARNINGS and "error" in severities}
    warnings = {rule for rule, severities in found.items() if rule in ERRORS | WARNINGS and "warning" in severities}
    if not plain and not hooked and not hooked_old:
        assert errors, about
        assert errors <= ERRORS, about
        assert not warnings, about
        classes = {rule[:5] for rule in errors} - {"KM011", "KM012", "KM013", "KM014"}
        assert len(classes) <= 1, about
    elif plain and (hooked or hooked_old):
        assert not errors | warnings, about
    elif koordinator == "1.8.0" and not plain and hooked and not hooked_old and "KM015" not in warnings:
        assert errors == {"KM055"}, about
        assert not warnings, about
    else:
        assert len(warnings) == 1, about
        assert not errors, about
        assert warnings == {"KM107"} if plain else warnings <= WARNINGS - {"KM107"}, about


@pytest.mark.parametrize(("seed", "koordinator"), [(0, None), (1, None), (2, None), (3, "1.8.0"), (4, "1.9.0")])
def test_rules_agree_with_the_table(seed: int, koordinator: str | None) -> None:
    dice = random.Random(seed)
    cases = [random_case(dice) for _ in range(1000)]
    found = judged(cases, koordinator)
    for case, each in zip(cases, found, strict=True):
        check(case, each, koordinator)
    seen = {rule for each in found for rule in each}
    assert seen >= ERRORS, f"the cases never broke {ERRORS - seen}"


def test_every_set_of_keys() -> None:
    """Each subset of the GPU keys with amounts that suit each other, in one container with gpu.shared given or left out."""
    keys = tuple(AMOUNTS)
    amounts = {GPU: 50, SHARED: 1, CORE: 50, MEMORY: 8192 * MI, RATIO: 50, NVIDIA: 1, AMD: 1, DCU: 1, NPU: 4, NPU_CPU: 2, DVPP: 100}
    cases = [Case([{key: amounts[key] for place, key in enumerate(keys) if number >> place & 1}], []) for number in range(1 << len(keys))]
    for case, each in zip(cases, judged(cases), strict=True):
        check(case, each, None)
