"""Processes: start, watch, restart and end them in order. `manage.py serve` is built from these parts."""
