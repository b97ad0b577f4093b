"""Routes of identity and access."""
