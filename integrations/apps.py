"""What integrations contributes to the platform."""

from django.apps import AppConfig


class IntegrationsConfig(AppConfig):
    """The outside."""

    name = "integrations"
    verbose_name = "Integrations"
