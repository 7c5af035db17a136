"""gpuvet vets Kubernetes manifests that ask for shared or virtual GPUs."""

__version__ = "0.1.0"
