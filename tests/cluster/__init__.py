"""A real API server for tests: `build` makes the components, `server` starts and stops them."""
