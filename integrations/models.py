"""The models of all slices, as Django and other apps import them."""

from integrations.credentials.models import Integration

__all__ = ["Integration"]
