"""The platform as a Django app."""

from django.apps import AppConfig

from opsapi import checks  # noqa: F401 - registers its check


class OpsapiConfig(AppConfig):
    """The kernel, which collects the contributions of the other apps."""

    name = "opsapi"
    verbose_name = "Platform"
    root_links = {"errorCodes": "/errorCodes"}
