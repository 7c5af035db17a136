"""Parts that Kubernetes itself defines and that CRDs embed."""

from typing import Literal

from gpuvet.models.scalars import CrdQuantity, Timestamp
from gpuvet.models.structures import Integer64, Structure, attribute

_CONDITION = "koordinator-metax.md 5"

ConditionStatus = Literal["True", "False", "Unknown"]
"""Texts: an unquoted `True` is a boolean and refused."""

SelectorOperator = Literal["In", "NotIn", "Exists", "DoesNotExist"]
"""Operators of a label selector; case counts."""

ResourceList = dict[str, CrdQuantity]
"""Resource names and amounts in a CRD."""


class Condition(Structure):
    """metav1.Condition: all of type, status, reason, message and lastTransitionTime are required."""

    type: str = attribute(
        "Type of the condition, a label-key-like name.",
        required=True,
        max_length=316,
        pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        example="Healthy",
        source=_CONDITION,
    )
    status: ConditionStatus = attribute("Status, a quoted text.", required=True, example="True", source=_CONDITION)
    reason: str = attribute(
        "Reason in CamelCase, not empty.",
        required=True,
        min_length=1,
        max_length=1024,
        pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        example="DeviceHealthy",
        source=_CONDITION,
    )
    message: str = attribute("Message for people; may be empty.", required=True, max_length=32768, source=_CONDITION)
    last_transition_time: Timestamp = attribute(
        "Time of the last change.", required=True, example="2025-03-15T10:00:00Z", source=_CONDITION
    )
    observed_generation: Integer64 | None = attribute("Generation of the object that the condition is about.", minimum=0, source=_CONDITION)


class SelectorRequirement(Structure):
    """One expression of a label selector."""

    key: str = attribute("Label key.", required=True)
    operator: SelectorOperator = attribute("How the label is compared; case counts.", required=True, enforced=False)
    values: list[str] | None = attribute("Values; needed by In and NotIn, forbidden with Exists and DoesNotExist.")


class LabelSelector(Structure):
    """metav1.LabelSelector."""

    match_labels: dict[str, str] | None = attribute("Labels that must be equal.")
    match_expressions: list[SelectorRequirement] | None = attribute("Expressions that must all hold.")
