"""What is known of a rule without its constraint: enough to list, select, dispatch and run it."""

from typing import Any, NamedTuple

from gpuvet.values.finding import Consequence, Severity

FAMILIES = ("K8S", "TF", "KM", "QG", "PL", "VJ", "IN")
"""The letters of gpuvet's own rules."""

PLATFORMS = ("tensorFusion", "koordinator", "qgpu", "kubernetes")
"""What the configuration may name the version of."""

COMMON_PARAMETERS = (
    *("usageKey", "usagePattern", "productTaints", "gpuModels", "namespace"),
    *(f"platform.{name}" for name in PLATFORMS),
)
"""Parameters that every rule may read: what the configuration says of the company's clusters."""


class RuleInfo(NamedTuple):
    """One rule of the catalogue. `function` is `module:name` of the printed check."""

    id: str
    name: str
    vocabulary: str
    severity: Severity
    consequence: Consequence
    kind: str
    on: str
    sees: str
    keys: tuple[str, ...]
    kinds: tuple[str, ...]
    names: tuple[str, ...]
    images: tuple[str, ...]
    why: str
    implements: tuple[str, ...]
    sources: tuple[str, ...]
    supersedes: tuple[str, ...]
    platform: tuple[str, str, str] | None
    """Platform, version range, and what to do when the platform's version is not named: skip, apply, info or warning."""
    parameters: dict[str, Any]
    finds: tuple[str, ...]
    """Kinds of other objects that the rule looks up."""
    exports: dict[str, Any]
    function: str
    needs: tuple[tuple[str, ...], ...] = ()
    """Keys without which the rule has nothing to say: all keys of one of these sets must be shown. None: it may always speak."""
    reads: str = ""
    """resources, placement, amounts, configuration or named: a part of the subject that alone can tell that the rule has nothing to say."""
