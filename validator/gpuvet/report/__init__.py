"""Outputs, one module a format."""
