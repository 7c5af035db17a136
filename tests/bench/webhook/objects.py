"""What is reviewed: Deployments of 4 KB as the API server sends them."""

from typing import Any

from webhook.reviews import body, deployment, pod, quiet

SIZE = 4096


def padded(value: dict[str, Any]) -> dict[str, Any]:
    """The object, with environment variables as real ones have them until its review takes 4 KB."""
    container = value["spec"].get("template", value)["spec"]["containers"][0]
    container["env"] = []
    while len(body(value)) < SIZE:
        container["env"].append({"name": f"SETTING_{len(container['env'])}", "value": "some value of the application"})
    return value


QUIET = padded(quiet())
PLAIN = padded({**quiet(), "metadata": {"name": "plain", "namespace": "team-a"}})
PLAIN["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}}
OBJECTS = {
    "qGPU, allowed": QUIET,
    "TensorFusion, warned": padded(deployment()),
    "TensorFusion, denied": padded(deployment("20", "10")),
    "a Pod without our keys": padded({**pod(), "metadata": {"name": "p", "namespace": "team-a"}}),
}
