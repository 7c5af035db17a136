"""Tests of rules: suites of manifests with the findings that they must get, on any engine."""
