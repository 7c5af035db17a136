"""The validating admission webhook: the same verdict at `kubectl apply`, from a server that cannot hurt the cluster."""
