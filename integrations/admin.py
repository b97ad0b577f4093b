"""Registers the pages of all slices with the console."""

from integrations.credentials.console import IntegrationAdmin

__all__ = ["IntegrationAdmin"]
