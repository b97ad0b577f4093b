"""A valid object from nothing, per app."""
