"""Alerting as the API shows and takes it."""
