"""Registers the integrations with the platform."""

from django.apps import AppConfig

from integrations import checks  # noqa: F401 - registers its checks


class IntegrationsConfig(AppConfig):
    """The integrations."""

    name = "integrations"
    verbose_name = "Integrations"
