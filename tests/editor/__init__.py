"""A real yaml-language-server for tests."""
