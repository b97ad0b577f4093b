"""English, the only language."""
