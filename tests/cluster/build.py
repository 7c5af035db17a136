"""Builds the real components (etcd, the servers of Kubernetes, kubectl) from the Go modules of `go.mod`, once per `go.sum`.

As a script it builds what is missing and prints the folder. The binaries stay in the user's cache folder, so that a clean checkout reuses
them; some five minutes on two cores the first time, 375 MB.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
}


def cache_folder() -> Path:
    """Where gpuvet's tests keep what is expensive to make."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpuvet"


def kubernetes_version() -> str:
    """`1.36.3`, from go.mod."""
    found = re.search(r"^\s*(?:require )?k8s\.io/kubernetes v(\S+)", (HERE / "go.mod").read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]


def components() -> Path:
    """The folder of the binaries; builds them when they are not there yet."""
    digest = hashlib.sha256((HERE / "go.mod").read_bytes() + (HERE / "go.sum").read_bytes()).hexdigest()[:16]
    folder = cache_folder() / f"cluster-{digest}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Two test runs at once: the second waits for the first.
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _build(folder)
    return folder


def _build(folder: Path) -> None:
    if shutil.which("go") is None:
        raise RuntimeError("building kube-apiserver needs Go (https://go.dev/dl)")
    version = kubernetes_version()
    major, minor, _ = version.split(".")
    flags = [f"-X k8s.io/component-base/version.git{name}={value}" for name, value in (("Major", major), ("Minor", minor))]
    flags.append(f"-X k8s.io/component-base/version.gitVersion=v{version}")
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        for name, package in TOOLS.items():
            print(f"building {name}", file=sys.stderr, flush=True)
            output = ["-o", str(Path(work) / "bin" / name)]
            subprocess.run(["go", "build", "-trimpath", "-ldflags", " ".join(("-s -w", *flags)), *output, package], cwd=HERE, check=True)
        (Path(work) / "bin").rename(folder)


if __name__ == "__main__":
    print(components())
