"""Makes manifests as large repositories have them, the same ones every time: what `run.py` measures on.

`dense`: every document asks for a shared GPU or describes one. `mixed`: one file in ten does, the rest is what any cluster needs.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

NAMESPACES = ("ml-platform", "search", "ads", "speech", "vision", "nlp", "risk", "recsys")
MODELS = ("A100", "H20", "L40S", "T4", "V100")
SIZES = ((5, 10, 4), (10, 20, 8), (20, 40, 16), (30, 60, 24), (15, 15, 12), (40, 60, 40), (8, 16, 6), (25, 50, 20))
"""TFLOPS reserved, TFLOPS at most, GiB of video memory: like shirts, slices of cards come in sizes."""
TEAMS = ("atlas", "borealis", "cygnus", "draco", "eridanus", "fornax", "gemini", "hydra")


class Shape(NamedTuple):
    """What a corpus is like."""

    files: int
    documents: int = 5
    """Documents in a file."""
    mistakes: float = 0.03
    """Share of the documents that hold one mistake."""
    profiles: int = 200
    """Distinct profiles that pods of other files refer to; more files do not bring more."""
    seed: int = 7


CONFIG = """\
# What a company tells gpuvet of its clusters.
platform: {tensorFusion: 2.17.1, kubernetes: 1.31.2}
usageKey: maip.mxsf.io/node.usage
productTaints: [nvidia.com/gpu.product]
"""


def write_dense(folder: Path, shape: Shape) -> int:
    """Writes the files; returns the number of documents."""
    return _write(folder, shape, lambda number, dice: _dense_file(number, shape, dice))


def write_mixed(folder: Path, shape: Shape) -> int:
    """Writes the files; returns the number of documents."""
    return _write(
        folder, shape, lambda number, dice: _dense_file(number, shape, dice) if number % 10 == 3 else _plain_file(number, shape, dice)
    )


def _write(folder: Path, shape: Shape, make: Callable[[int, random.Random], list[str]]) -> int:
    documents = 0
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gpuvet.yaml").write_text(CONFIG, "utf-8")
    for number in range(shape.files):
        listed = make(number, random.Random(shape.seed * 1_000_003 + number))
        documents += len(listed)
        path = folder / f"team-{number % 40:02}" / f"app-{number:05}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\n".join(listed), "utf-8")
    return documents


def _dense_file(number: int, shape: Shape, dice: random.Random) -> list[str]:
    """As repositories are laid out: what describes the cluster in files of its own, and applications, some with a profile of their own."""

    def wrong() -> bool:
        return dice.random() < shape.mistakes

    def name(place: int) -> str:
        return f"{dice.choice(TEAMS)}-{number:05}-{place}"

    places = range(shape.documents)
    shared = number // 10 * shape.documents
    if number % 10 == 0 and shared < shape.profiles:
        return [_profile(f"shared-{shared + place}", dice, wrong(), NAMESPACES[(shared + place) % len(NAMESPACES)]) for place in places]
    if number % 100 == 1 and number < 300:
        return [_pool(f"pool-{number // 100 * shape.documents + place}", dice) for place in places]
    if number % 12 == 5:
        cluster = [dice.choice((_node, _node, _device))(name(place), dice, wrong()) for place in places]
        return cluster if number > 40 else [_device_config(f"cluster-{number}", dice, wrong()), *cluster[1:]]
    makers = dice.choices([make for make, _ in _APPLICATIONS], weights=[weight for _, weight in _APPLICATIONS], k=shape.documents)
    listed = [make(name(place), dice, wrong()) for place, make in enumerate(makers)]
    if number % 8 == 3:
        own = name(0)
        listed[:2] = [_tf_deployment(own, dice, wrong(), profile=own), _profile(own, dice, wrong(), NAMESPACES[0])]
    return listed


def _plain_file(number: int, shape: Shape, dice: random.Random) -> list[str]:
    makers = dice.choices((_service, _plain_deployment, _settings, _role), k=shape.documents)
    return [make(f"{dice.choice(TEAMS)}-{number:05}-{place}", dice) for place, make in enumerate(makers)]


# Parts of manifests. `at` is the indentation in blanks.


def _block(text: str, at: int) -> str:
    return "".join(f"{' ' * at}{line}\n" if line else "\n" for line in text.strip("\n").split("\n"))


def _head(api: str, kind: str, name: str, dice: random.Random, namespace: str | None = "") -> str:
    where = "" if namespace is None else f"\n  namespace: {namespace or dice.choice(NAMESPACES)}"
    return f"""\
# Maintained by {dice.choice(TEAMS)}; reviewed in change {dice.randrange(10_000, 99_999)}.
apiVersion: {api}
kind: {kind}
metadata:
  name: {name}{where}
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: {dice.choice(("training", "serving", "batch"))}
    team: {dice.choice(TEAMS)}
"""


def _env(dice: random.Random, many: int) -> str:
    out = "env:\n"
    for number in range(many):
        if number % 4 == 3:
            out += f"  - name: SECRET_{number}\n    valueFrom:\n      secretKeyRef:\n        name: credentials-{dice.randrange(50)}\n        key: token\n"  # noqa: E501
        else:
            out += f'  - name: OPTION_{number}\n    value: "{dice.randrange(100_000)}"\n'
    return out


_PROBES = """\
livenessProbe:
  httpGet:
    path: /healthz
    port: http
  initialDelaySeconds: 30
  periodSeconds: 10
readinessProbe:
  httpGet: {path: /ready, port: http}
  failureThreshold: 3
"""


def _container(name: str, image: str, resources: str, dice: random.Random, env: int = 4) -> str:
    out = f"""\
- name: {name}
  image: {image}
  imagePullPolicy: IfNotPresent
  command: ["/bin/sh", "-c"]
  args:
    - |
      set -eu
      exec python -m serve --port 8080 \\
        --workers {dice.randrange(1, 9)}
  ports:
    - name: http
      containerPort: 8080
      protocol: TCP
"""
    out += _block(_env(dice, env), 2) + _block(_PROBES, 2) + _block(resources, 2)
    return (
        out
        + "  volumeMounts:\n    - name: models\n      mountPath: /models\n      readOnly: true\n    - name: scratch\n      mountPath: /tmp\n"  # noqa: E501
    )


_VOLUMES = """\
volumes:
  - name: models
    persistentVolumeClaim:
      claimName: models
  - name: scratch
    emptyDir:
      medium: Memory
      sizeLimit: 2Gi
"""


def _resources(limits: dict[str, str], requests: dict[str, str] | None = None) -> str:
    def lines(entries: dict[str, str]) -> str:
        return "".join(f"    {key}: {value}\n" for key, value in entries.items())

    plain = {"cpu": "'4'", "memory": "16Gi"}
    return "resources:\n  limits:\n" + lines(plain | limits) + "  requests:\n" + lines(plain | (limits if requests is None else requests))


def _workload(kind: str, name: str, dice: random.Random, annotations: str, labels: str, spec: str, namespace: str = "") -> str:
    service = f"  serviceName: {name}\n" if kind == "StatefulSet" else ""
    metadata = f"      labels:\n        app: {name}\n{_block(labels, 8) if labels else ''}"
    if annotations:
        metadata += "      annotations:\n" + _block(annotations, 8)
    return (
        _head("apps/v1", kind, name, dice, namespace)
        + f"spec:\n  replicas: {dice.randrange(1, 9)}\n{service}  selector:\n    matchLabels:\n      app: {name}\n  template:\n    metadata:\n"  # noqa: E501
        + metadata
        + "    spec:\n"
        + _block(spec, 6)
    )


# TensorFusion


def _tf_annotations(dice: random.Random, wrong: bool, profile: str = "") -> str:
    tflops, most, memory = dice.choice(SIZES)
    entries = {
        "inject-container": "main",
        "tflops-request": f'"{tflops}"',
        "tflops-limit": f'"{most}"',
        "vram-request": f"{memory}Gi",
        "vram-limit": f"{memory}Gi",
        "qos": dice.choice(("low", "medium", "high", "critical")),
        "gpu-count": '"1"',
        "is-local-gpu": "'true'",
    }
    way = dice.random()
    if way < 0.5:
        entries["gpupool"] = f"pool-{dice.randrange(12)}"
    if profile:
        # What the profile gives is not repeated.
        entries = {key: entries[key] for key in ("inject-container", "is-local-gpu")} | {"workload-profile": profile}
    elif way > 0.8:
        entries["gpu-model"] = dice.choice(MODELS)
    if wrong:
        entries |= dice.choice(
            (
                {"qos": "hihg"},
                {"tflops-request": f'"{most + tflops}"', "tflops-limit": f'"{most}"'},
                {"vram-limit": "16GB"},
                {"gpu-count": "2"},
                {"is-local-gpu": "'yes'"},
            )
        )
    return "".join(f"tensor-fusion.ai/{key}: {value}\n" for key, value in entries.items())


def _tf_spec(dice: random.Random) -> str:
    return "containers:\n" + _block(_container("main", "registry.example.com/ml/pytorch:2.6.0", _resources({}), dice), 2) + _VOLUMES


def _shared(dice: random.Random) -> tuple[str, str]:
    """A profile of another file, for one Pod in three, and its namespace."""
    number = dice.randrange(600)
    return (f"shared-{number}", NAMESPACES[number % len(NAMESPACES)]) if number < 200 else ("", dice.choice(NAMESPACES))


def _tf_deployment(name: str, dice: random.Random, wrong: bool, profile: str = "") -> str:
    profile, namespace = (profile, NAMESPACES[0]) if profile else _shared(dice)
    return _workload(
        "Deployment", name, dice, _tf_annotations(dice, wrong, profile), 'tensor-fusion.ai/enabled: "true"', _tf_spec(dice), namespace
    )


def _tf_pod(name: str, dice: random.Random, wrong: bool) -> str:
    profile, namespace = _shared(dice)
    head = _head("v1", "Pod", name, dice, namespace) + '    tensor-fusion.ai/enabled: "true"\n  annotations:\n'
    head += _block(_tf_annotations(dice, wrong, profile), 4)
    return head + "spec:\n" + _block(_tf_spec(dice), 2)


def _profile(name: str, dice: random.Random, wrong: bool, namespace: str = "") -> str:
    tflops, limit, memory = dice.choice(SIZES)
    out = _head("tensor-fusion.ai/v1", "WorkloadProfile", name, dice, namespace)
    tflops = limit * 2 if wrong else tflops
    return out + _block(
        f"""
spec:
  qos: {dice.choice(("low", "medium", "high"))}
  isLocalGPU: true
  gpuCount: 1
  gpuModel: {dice.choice(MODELS)}
  resources:
    requests:
      tflops: "{tflops}"
      vram: {memory}Gi
    limits:
      tflops: "{limit}"
      vram: {memory}Gi
  autoScalingConfig:
    autoSetResources:
      enable: true
      targetResource: all
""",
        0,
    )


def _pool(name: str, dice: random.Random) -> str:
    return _head("tensor-fusion.ai/v1", "GPUPool", name, dice, None) + _block(
        f"""
spec:
  defaultUsingLocalGPU: true
  capacityConfig:
    minResources:
      tflops: 1000
      vram: 1000Gi
    oversubscription:
      tflopsOversellRatio: {dice.randrange(100, 500)}
      vramExpandToHostDisk: 70
      vramExpandToHostMem: 50
  nodeManagerConfig:
    provisioningMode: AutoSelect
    nodeSelector:
      nodeSelectorTerms:
        - matchExpressions:
            - key: nvidia.com/gpu.present
              operator: In
              values: ["true"]
  qosConfig:
    defaultQoS: medium
""",
        0,
    )


# Koordinator with MetaX


def _sgpu(dice: random.Random, wrong: bool) -> str:
    limits = {
        "koordinator.sh/gpu.shared": '"1"',
        "koordinator.sh/gpu-core": f'"{dice.choice((10, 20, 25, 40, 50, 75))}"',
        "koordinator.sh/gpu-memory": f"{dice.choice((2, 4, 8, 12, 16, 24, 32))}Gi",
        "metax-tech.com/sgpu": '"1"',
    }
    requests = dict(limits)
    if wrong:
        if dice.random() < 0.5:
            requests["koordinator.sh/gpu-core"] = '"1"'
        else:
            limits["koordinator.sh/gpu-core"] = requests["koordinator.sh/gpu-core"] = '"130"'
    return _resources(limits, requests)


def _sgpu_spec(dice: random.Random, wrong: bool) -> str:
    container = _container("main", "registry.example.com/metax/maca:2.29", _sgpu(dice, wrong), dice)
    return "schedulerName: koord-scheduler\ncontainers:\n" + _block(container, 2) + _VOLUMES


def _sgpu_pod(name: str, dice: random.Random, wrong: bool) -> str:
    policy = dice.choice(("best-effort", "fixed-share", "burst-share"))
    head = _head("v1", "Pod", name, dice) + f'  annotations:\n    metax-tech.com/sgpu-qos-policy: "{policy}"\n'
    return head + "spec:\n" + _block(_sgpu_spec(dice, wrong), 2)


def _sgpu_deployment(name: str, dice: random.Random, wrong: bool) -> str:
    annotations = f'metax-tech.com/sgpu-qos-policy: "{dice.choice(("best-effort", "fixed-share", "burst-share"))}"'
    return _workload("Deployment", name, dice, annotations, "", _sgpu_spec(dice, wrong))


def _device(name: str, dice: random.Random, wrong: bool) -> str:
    out = f"""\
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: Device
metadata:
  name: {name}
  labels:
    node.koordinator.sh/gpu-model: C500
    node.koordinator.sh/gpu-vendor: metax
spec:
  devices:
"""
    for minor in range(4):
        when = "2025-03-15 10:00" if wrong and minor == 2 else "2025-03-15T10:00:00Z"
        out += f"""\
    - type: gpu
      id: 89033010-2354-0000-0000-{dice.randrange(10**12):012}
      minor: {minor}
      health: true
      resources:
        koordinator.sh/gpu-core: "100"
        koordinator.sh/gpu-memory: 64Gi
        koordinator.sh/gpu-memory-ratio: "100"
      topology:
        busID: 0000:{dice.randrange(16, 99)}:00.0
        nodeID: {minor % 2}
        pcieID: pci0000:{dice.randrange(16, 99)}
        socketID: -1
      conditions:
        - type: Healthy
          status: "True"
          reason: DeviceHealthy
          message: device is healthy
          lastTransitionTime: "{when}"
"""
    return out


def _node(name: str, dice: random.Random, wrong: bool) -> str:
    cards = dice.choice((1, 2, 4, 8))
    usage = "trainning" if wrong else dice.choice(("training", "inference", "hybrid"))
    amounts = f"""\
    cpu: "128"
    memory: 1056748812Ki
    pods: "110"
    ephemeral-storage: 1855289124Ki
    koordinator.sh/gpu.shared: "{cards * 100}"
    koordinator.sh/gpu-core: "{cards * 100}"
    koordinator.sh/gpu-memory: {cards * 64}Gi
    koordinator.sh/gpu-memory-ratio: "{cards * 100}"
    metax-tech.com/sgpu: "{cards * 16}"
"""
    return f"""\
apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels:
    kubernetes.io/arch: amd64
    kubernetes.io/hostname: {name}
    kubernetes.io/os: linux
    node.kubernetes.io/instance-type: gpu.8xlarge
    topology.kubernetes.io/zone: zone-{dice.choice("abc")}
    maip.mxsf.io/node.usage: {usage}
    nvidia.com/gpu.product: NVIDIA-H20
    node.koordinator.sh/gpu-model: C500
  annotations:
    node.alpha.kubernetes.io/ttl: "0"
    volumes.kubernetes.io/controller-managed-attach-detach: "true"
spec:
  podCIDR: 10.{dice.randrange(256)}.0.0/24
  taints:
    - key: maip.mxsf.io/node.usage
      value: {usage}
      effect: NoSchedule
status:
  allocatable:
{amounts}  capacity:
{amounts}  conditions:
    - type: Ready
      status: "True"
      reason: KubeletReady
      message: kubelet is posting ready status
      lastHeartbeatTime: "2025-03-15T10:00:00Z"
      lastTransitionTime: "2025-03-15T09:00:00Z"
  nodeInfo:
    architecture: amd64
    containerRuntimeVersion: containerd://1.7.13
    kernelVersion: 5.15.0-101-generic
    kubeletVersion: v1.31.2
    osImage: Ubuntu 22.04.4 LTS
"""


def _device_config(name: str, dice: random.Random, wrong: bool) -> str:
    nodes = "".join(f'    - nodeName: "{name}-{number}"\n      mode: "{dice.choice(("native", "sgpu"))}"\n' for number in range(24))
    mode = "natve" if wrong else "native"
    head = _head("v1", "ConfigMap", "metax-device-config", dice)
    return head + f'data:\n  version: v1\n  cluster-config: |\n    mode: "{mode}"\n  nodes-config: |\n{nodes}'


# qGPU


def _qgpu(dice: random.Random, wrong: bool) -> str:
    core = dice.choice((10, 15, 20, 25, 30, 40, 50, 60, 80))
    memory = f'"{dice.choice((2, 4, 5, 8, 10, 14))}"'
    limits = {"tke.cloud.tencent.com/qgpu-core": f'"{core}"', "tke.cloud.tencent.com/qgpu-memory": memory}
    requests = dict(limits)
    if wrong:
        if dice.random() < 0.5:
            limits["tke.cloud.tencent.com/qgpu-core"] = requests["tke.cloud.tencent.com/qgpu-core"] = '"33"'
        else:
            requests["tke.cloud.tencent.com/qgpu-memory"] = '"16"'
    return _resources(limits, requests)


def _qgpu_workload(kind: str) -> Callable[[str, random.Random, bool], str]:
    def make(name: str, dice: random.Random, wrong: bool) -> str:
        sidecar = _container("proxy", "registry.example.com/mesh/envoy:1.30", _resources({}), dice, 1) if dice.random() < 0.2 else ""
        main = _container("main", "registry.example.com/serve/triton:24.05", _qgpu(dice, wrong), dice, 3)
        return _workload(kind, name, dice, "", "", "containers:\n" + _block(main + sidecar, 2) + _VOLUMES)

    return make


# Placement and Volcano


def _placement(usage: str) -> str:
    tolerations = "".join(
        f"  - key: maip.mxsf.io/node.usage\n    operator: Equal\n    value: {value}\n    effect: NoSchedule\n"
        for value in (usage, "hybrid")
    )
    return f"""\
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions:
            - key: maip.mxsf.io/node.usage
              operator: In
              values: [{usage}, hybrid]
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        preference:
          matchExpressions:
            - key: maip.mxsf.io/node.usage
              operator: In
              values: [{usage}]
tolerations:
{tolerations}  - key: nvidia.com/gpu.product
    operator: Equal
    value: NVIDIA-H20
    effect: NoSchedule
"""


def _volcano_job(name: str, dice: random.Random, wrong: bool) -> str:
    usage = "trainning" if wrong else "training"
    workers = dice.randrange(1, 9)
    out = _head("batch.volcano.sh/v1alpha1", "Job", name, dice)
    out += f"""\
spec:
  schedulerName: volcano
  queue: default
  minAvailable: {workers}
  maxRetry: 3
  plugins:
    svc: []
    env: []
  policies:
    - event: PodEvicted
      action: RestartJob
    - event: TaskCompleted
      action: CompleteJob
  tasks:
    - name: worker
      replicas: {workers}
      template:
        metadata:
          labels:
            app: {name}
        spec:
          restartPolicy: Never
"""
    container = f"""\
containers:
  - name: main
    image: registry.example.com/ml/trainer:{dice.randrange(1, 99)}
    command: [python, train.py, --epochs, "{dice.randrange(3, 40)}"]
    resources:
      requests: {{cpu: 8, memory: 64Gi, nvidia.com/gpu: 1}}
      limits: {{cpu: 8, memory: 64Gi, nvidia.com/gpu: 1}}
"""
    return out + _block(_placement(usage), 10) + _block(container, 10) + _block(_VOLUMES, 10)


def _hybrid_deployment(name: str, dice: random.Random, wrong: bool) -> str:
    usage = "inferrence" if wrong else "inference"
    container = _container("main", "registry.example.com/serve/vllm:0.6", _resources({"nvidia.com/gpu": "1"}), dice, 2)
    return _workload("Deployment", name, dice, "", "", _placement(usage) + "containers:\n" + _block(container, 2) + _VOLUMES)


_APPLICATIONS: tuple[tuple[Callable[[str, random.Random, bool], str], int], ...] = (
    (_tf_deployment, 24),
    (_tf_pod, 8),
    (_sgpu_pod, 10),
    (_sgpu_deployment, 8),
    (_qgpu_workload("Deployment"), 14),
    (_qgpu_workload("StatefulSet"), 5),
    (_volcano_job, 12),
    (_hybrid_deployment, 8),
)


# What has nothing to do with shared GPUs


def _service(name: str, dice: random.Random) -> str:
    return _head("v1", "Service", name, dice) + _block(
        f"""
spec:
  type: ClusterIP
  selector:
    app: {name}
  ports:
    - name: http
      port: 80
      targetPort: http
    - name: metrics
      port: {dice.randrange(9000, 9999)}
      targetPort: metrics
""",
        0,
    )


def _plain_deployment(name: str, dice: random.Random) -> str:
    container = _container("main", "registry.example.com/web/frontend:1.2.3", _resources({}), dice)
    return _workload("Deployment", name, dice, 'prometheus.io/scrape: "true"', "", "containers:\n" + _block(container, 2) + _VOLUMES)


def _settings(name: str, dice: random.Random) -> str:
    lines = "".join(f"    option.{number} = {dice.randrange(10**6)}\n" for number in range(40))
    return _head("v1", "ConfigMap", name, dice) + "data:\n  application.properties: |\n" + lines


def _role(name: str, dice: random.Random) -> str:
    rules = "".join(
        f'  - apiGroups: ["{group}"]\n    resources: ["{kind}"]\n    verbs: ["get", "list", "watch"]\n'
        for group, kind in (
            ("", "pods"),
            ("", "configmaps"),
            ("apps", "deployments"),
            ("batch", "jobs"),
            ("networking.k8s.io", "ingresses"),
        )
    )
    return _head("rbac.authorization.k8s.io/v1", "Role", name, dice) + "rules:\n" + rules * 3
