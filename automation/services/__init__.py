"""Writes of the fleet, each in a transaction together with its events."""
