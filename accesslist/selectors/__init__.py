"""Reading identity and access."""
