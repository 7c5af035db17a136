"""Looks at an installed webhook through the API server and says what to do."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from gpuvet.cluster.access import Cluster
from gpuvet.cluster.watch import KINDS
from gpuvet.values.errors import EngineError

Ask = Callable[[str, str, Any], tuple[int, Any]]
"""(method, path, body or None) -> (HTTP status, decoded answer); status 0 without an answer, and `message` says why."""
Trust = Callable[[bytes, bytes, str], tuple[str, float]]
"""(CA bundle, serving certificate, host) -> (what is wrong or empty, days that are left). Both in PEM."""

_AMOUNTS = {"tke.cloud.tencent.com/qgpu-core": "7", "tke.cloud.tencent.com/qgpu-memory": "1", "koordinator.sh/gpu-core": "150"}
PROBE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "gpuvet-doctor",
        "labels": {"tensor-fusion.ai/enabled": "true"},
        "annotations": {"tensor-fusion.ai/tflops-request": "2", "tensor-fusion.ai/tflops-limit": "1"},
    },
    "spec": {
        "nodeSelector": {"maip.mxsf.io/node.usage": "trainning"},
        "containers": [{"name": "main", "image": "example.invalid/none", "resources": {"limits": _AMOUNTS, "requests": _AMOUNTS}}],
    },
}
"""A Pod that breaks TF013, QG004, KM009 and PL104: one of them is an error in every bundle."""


class Diagnosis(NamedTuple):
    """One thing that was looked at."""

    state: Literal["ok", "warning", "error"]
    text: str
    cure: str = ""


def diagnose(ask: Ask, trust: Trust, namespace: str, name: str, version: str) -> Iterator[Diagnosis]:
    """Everything that can be seen from outside."""
    server = _server(ask)
    yield server
    if server.text == _SILENT:
        return
    status, found = ask("GET", f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{name}", None)
    if status != 200:
        cure = "apply the output of `gpuvet webhook manifests`" if status == 404 else "run as somebody who may read it"
        yield Diagnosis("error", f"the ValidatingWebhookConfiguration {name} cannot be read ({status})", cure)
        return
    entries = found.get("webhooks") or []
    yield Diagnosis("ok" if entries else "error", f"the configuration {name} has {len(entries)} entries")
    yield from _policies(entries, namespace)
    outside = [entry["clientConfig"]["url"] for entry in entries if "url" in entry["clientConfig"]]
    if outside:
        yield Diagnosis("ok", f"the webhook runs outside the cluster, at {outside[0]}: its replicas and its certificate are not looked at")
    else:
        yield from _certificates(ask, trust, entries, namespace, name)
        yield from _workload(ask, namespace, name, version)
    if entries:
        yield _trial(ask)


_SILENT = "the API server does not answer"


def _server(ask: Ask) -> Diagnosis:
    status, found = ask("GET", "/version", None)
    if status == 0:
        return Diagnosis("error", _SILENT, f"see `kubectl cluster-info`; {found['message']}")
    if status != 200:
        return Diagnosis("error", f"the API server does not tell its version ({status})")
    minor = int("".join(filter(str.isdigit, str(found.get("minor")))) or 0)
    if minor < 31:
        return Diagnosis("error", f"the API server is {found.get('gitVersion')}", "match conditions of this kind need Kubernetes 1.31")
    return Diagnosis("ok", f"the API server is {found.get('gitVersion')}")


def _policies(entries: Iterable[dict[str, Any]], namespace: str) -> Iterator[Diagnosis]:
    failing = [entry for entry in entries if entry.get("failurePolicy", "Fail") == "Fail"]
    for entry in failing:
        excluded = {
            value
            for expression in (entry.get("namespaceSelector") or {}).get("matchExpressions") or ()
            if expression.get("key") == "kubernetes.io/metadata.name" and expression.get("operator") == "NotIn"
            for value in expression.get("values") or ()
        }
        missing = {"kube-system", namespace} - excluded
        if missing:
            text = f"{entry['name']} fails closed, and does not exclude {', '.join(sorted(missing))}"
            yield Diagnosis("error", text, "a cluster whose webhook is down could not be mended: print the configuration again")
        asked = {operation for rule in entry.get("rules") or () for operation in rule.get("operations") or ()}
        below = sorted({name for rule in entry.get("rules") or () for name in rule.get("resources") or () if "/" in name or name == "*"})
        if asked - {"CREATE", "UPDATE"} or below:
            text = f"{entry['name']} fails closed for {', '.join(sorted(asked - {'CREATE', 'UPDATE'}) + below)}"
            yield Diagnosis("error", text, "deleting, scaling and status are nobody's to refuse: print the configuration again")
        if not entry.get("matchConditions"):
            yield Diagnosis("error", f"{entry['name']} fails closed for every object of its kinds", "print the configuration again")
    slow = [entry["name"] for entry in entries if entry.get("timeoutSeconds", 10) > 5]
    if slow:
        yield Diagnosis("warning", f"timeout above five seconds: {', '.join(slow)}", "set timeoutSeconds: 2")
    count = len(failing)
    yield Diagnosis("ok", f"{count} entries fail closed" if count else "every entry fails open: while the webhook is down all is let in")


def _certificates(ask: Ask, trust: Trust, entries: list[dict[str, Any]], namespace: str, name: str) -> Iterator[Diagnosis]:
    bundles = {entry["clientConfig"].get("caBundle") or "" for entry in entries}
    if bundles == {""}:
        yield Diagnosis("error", "no entry has a caBundle", "pass --ca to `gpuvet webhook manifests`, or see whether cert-manager runs")
        return
    if len(bundles) > 1:
        yield Diagnosis("warning", "entries have different CA bundles", "apply the whole configuration again")
    status, secret = ask("GET", f"/api/v1/namespaces/{namespace}/secrets/{name}-webhook-tls", None)
    if status != 200:
        cure = "create it with `kubectl create secret tls`, or see whether cert-manager runs"
        yield Diagnosis("error", f"the secret {namespace}/{name}-webhook-tls cannot be read ({status})", cure)
        return
    serving = b64decode((secret.get("data") or {}).get("tls.crt") or "")
    for bundle in sorted(bundles - {""}):
        wrong, days = trust(b64decode(bundle), serving, f"{name}-webhook.{namespace}.svc")
        if wrong:
            yield Diagnosis("error", f"the serving certificate: {wrong}", "run `gpuvet webhook certs` and renew secret and caBundle")
        elif days < 30:
            yield Diagnosis(
                "warning", f"the serving certificate ends in {days:.0f} days", "rotate it: `gpuvet webhook certs` into the same folder"
            )
        else:
            yield Diagnosis("ok", f"the CA bundle trusts the serving certificate, for {days:.0f} more days")


def _workload(ask: Ask, namespace: str, name: str, version: str) -> Iterator[Diagnosis]:
    status, deployment = ask("GET", f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}-webhook", None)
    if status != 200:
        yield Diagnosis("error", f"the Deployment {namespace}/{name}-webhook cannot be read ({status})", "apply the manifests again")
        return
    yield from _service(ask, namespace, name, deployment)
    yield from _deployment(deployment, version)
    containers = deployment["spec"]["template"]["spec"]["containers"]
    if any("--cluster" in (container.get("args") or ()) for container in containers):
        account = deployment["spec"]["template"]["spec"].get("serviceAccountName") or "default"
        yield from _permissions(ask, f"system:serviceaccount:{namespace}:{account}")


def _service(ask: Ask, namespace: str, name: str, deployment: dict[str, Any]) -> Iterator[Diagnosis]:
    """Whether what the API server calls leads to the Pods."""
    status, service = ask("GET", f"/api/v1/namespaces/{namespace}/services/{name}-webhook", None)
    if status != 200:
        yield Diagnosis("error", f"the Service {namespace}/{name}-webhook cannot be read ({status})", "apply the manifests again")
        return
    labels = deployment["spec"]["template"]["metadata"].get("labels") or {}
    selector = service["spec"].get("selector")
    if selector and not selector.items() <= labels.items():
        yield Diagnosis("error", f"the Service {namespace}/{name}-webhook does not select the Pods", "apply the manifests again")


def _trial(ask: Ask) -> Diagnosis:
    """Whether a wrong Pod is denied: nothing is stored."""
    status, found = ask("POST", "/api/v1/namespaces/default/pods?dryRun=All", PROBE)
    said = str(found.get("message") or "")
    if status == 0:
        return Diagnosis("warning", f"nothing can be tried: {said}", "try again")
    if "admission.gpuvet" in said and "denied the request: [" in said:
        return Diagnosis("ok", "a Pod that breaks rules is denied (a dry run)")
    if "failed calling webhook" in said and "admission.gpuvet" in said:
        reason = said.partition("failed to call webhook: ")[2] or said
        return Diagnosis(
            "error", f"the API server does not reach the webhook: {reason}", "see Service, NetworkPolicy and the log of the Pods"
        )
    if status < 300:
        cure = "does the API server reach the Service (its metric apiserver_admission_webhook_fail_open_count), and which rules are on?"
        return Diagnosis("warning", "a Pod that breaks TF013, QG004, KM009 and PL104 is let in (a dry run)", cure)
    return Diagnosis("warning", f"whether a wrong Pod is denied cannot be tried ({status}): {said}", "run as somebody who may create Pods")


def _deployment(deployment: dict[str, Any], version: str) -> Iterator[Diagnosis]:
    wanted = deployment["spec"].get("replicas", 1)
    ready = (deployment.get("status") or {}).get("readyReplicas") or 0
    if ready == 0:
        yield Diagnosis("error", f"none of {wanted} replicas is ready", "see `kubectl describe` and the log of its Pods")
    elif ready < 2:
        yield Diagnosis("warning", f"{ready} replica is ready", "two or more, so that a drained node is not noticed")
    else:
        yield Diagnosis("ok", f"{ready} of {wanted} replicas are ready")
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        if container.get("name") != "webhook":
            continue
        image = str(container.get("image", "")).partition("@")[0]
        tag = image.rpartition("/")[2].partition(":")[2]
        if not tag:
            cure = f"see that it is gpuvet {version}, and name the image with its tag, too: IMAGE:TAG@DIGEST"
            yield Diagnosis("warning", f"the version of the image {container.get('image')} cannot be told", cure)
        elif tag != version:
            cure = "print the configuration with the gpuvet that runs in the cluster: match conditions follow the rules"
            yield Diagnosis("warning", f"the webhook runs {tag}, and this is gpuvet {version}", cure)
        else:
            yield Diagnosis("ok", f"the webhook runs {tag}")


def _permissions(ask: Ask, user: str) -> Iterator[Diagnosis]:
    missing = []
    for kind in KINDS:
        group, resource = kind.resource
        for verb in ("list", "watch"):
            spec = {"user": user, "resourceAttributes": {"group": group, "resource": resource, "verb": verb}}
            review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
            status, found = ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
            if status >= 300:
                yield Diagnosis("warning", f"permissions cannot be asked for ({status})", "run as somebody who may")
                return
            if not (found.get("status") or {}).get("allowed"):
                missing.append(f"{verb} {resource}")
    if missing:
        yield Diagnosis("error", f"{user} may not {', '.join(missing)}: these kinds are unknown to rules", "apply the ClusterRole again")
    else:
        yield Diagnosis("ok", f"{user} may read what rules look up")


def asking(cluster: Cluster) -> Ask:
    """Asks that cluster."""

    def ask(method: str, path: str, body: Any) -> tuple[int, Any]:
        try:
            answer = cluster.ask(method, path, body=body)
        except EngineError as error:
            return 0, {"message": str(error)}
        return answer.status, answer.body

    return ask
