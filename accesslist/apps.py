"""What identity and access contribute to the platform."""

from django.apps import AppConfig


class AccesslistConfig(AppConfig):
    """Identity and access."""

    name = "accesslist"
    verbose_name = "Identity and access"
    root_links = {"groups": "/groups", "admin/apiKeys": "/admin/apiKeys"}
