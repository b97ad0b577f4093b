"""The platform as a Django app."""

from django.apps import AppConfig

from opsapi import checks  # noqa: F401 - registers its check


class OpsapiConfig(AppConfig):
    """The kernel; collects from the other apps what they contribute."""

    name = "opsapi"
    verbose_name = "Platform"
    root_links = {"errorCodes": "/errorCodes"}
