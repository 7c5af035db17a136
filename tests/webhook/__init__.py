"""What tests of the webhook share: reviews as the API server sends them, and the server as a subprocess."""
