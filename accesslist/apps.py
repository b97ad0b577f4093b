"""What identity and access contribute to the platform."""

from django.apps import AppConfig


class AccesslistConfig(AppConfig):
    """Identity and access."""

    name = "accesslist"
    root_links = {"groups": "/groups", "admin/apiKeys": "/admin/apiKeys"}
