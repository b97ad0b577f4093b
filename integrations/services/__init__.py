"""Writing integrations."""
