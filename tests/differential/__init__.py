"""The same verdict everywhere: the Python rules against what is generated from them."""
