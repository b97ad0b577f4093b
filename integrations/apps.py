"""What integrations contributes to the platform."""

from django.apps import AppConfig

from integrations import checks  # noqa: F401 - registers its checks


class IntegrationsConfig(AppConfig):
    """The outside."""

    name = "integrations"
    verbose_name = "Integrations"
