"""Derives events from reports and the previous state. Pure."""
