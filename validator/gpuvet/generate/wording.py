"""The sentences that describe a key or member in schemas and documents."""

from gpuvet.models.base import PLATFORM, KeyDeclaration
from gpuvet.models.structures import Member

PLATFORM_NAMES = {
    "tensorFusion": "TensorFusion",
    "koordinator": "Koordinator",
    "qgpu": "qGPU",
    "gpuFeatureDiscovery": "GPU Feature Discovery",
    "volcano": "Volcano",
}
"""How people write the platforms whose versions are counted."""


GROUPS = {
    "tensor-fusion.ai": "TensorFusion",
    "scheduling.koordinator.sh": "Koordinator",
    "config.koordinator.sh": "Koordinator",
    "batch.volcano.sh": "Volcano",
}
"""API groups whose members say since which version of what they are read."""


def member_text(member: Member, platform: str = "") -> str:
    """What a member is: description, unit, default, versions."""
    parts = [member.description]
    if member.unit:
        parts.append(f"In {member.unit}.")
    if member.default:
        parts.append(f"Default {member.default}.")
    parts.append(versions_text(member.since, member.until, platform))
    return " ".join(filter(None, parts))


def key_text(key: KeyDeclaration) -> str:
    """What a key is: description, unit, default, versions, and what to write instead."""
    parts = [key.description]
    if key.unit:
        parts.append(f"In {key.unit}.")
    if key.default:
        parts.append(f"Default {key.default}.")
    parts.append(versions_text(key.since, key.until, PLATFORM_NAMES.get(PLATFORM[key.vocabulary], "")))
    if key.owner == "system":
        parts.append("Written by the platform, never by people.")
    parts.append(deprecation_text(key))
    return " ".join(filter(None, parts))


def deprecation_text(key: KeyDeclaration) -> str:
    """Why a key should not be used any more, and what to write instead; empty when it may be used."""
    instead = f"write {key.replaced_by} instead" if key.replaced_by else ""
    if key.deprecated:
        return f"Deprecated: {key.deprecated}{'; ' + instead if instead else ''}."
    return f"{instead[0].upper()}{instead[1:]}." if instead else ""


def versions_text(since: str, until: str, platform: str) -> str:
    """From which version to which it counts."""
    name = f"{platform} " if platform else "version "
    if since and until:
        return f"Read from {name}{since} up to, not including, {until}."
    if since:
        return f"Since {name}{since}."
    return f"Read before {name}{until}." if until else ""
