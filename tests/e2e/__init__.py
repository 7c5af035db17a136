"""The webhook behind a real API server."""
