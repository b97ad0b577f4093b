"""Pure decisions on identity and access."""
