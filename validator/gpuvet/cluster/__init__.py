"""What a live cluster knows, as a context for rules. The only floor that imports the `kubernetes` package."""
