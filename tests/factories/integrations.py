"""Integrations."""

from typing import Any

from accesslist.models import Project
from integrations.credentials.changes import integration_create
from integrations.credentials.resource import IntegrationDocument
from integrations.models import Integration
from integrations.types import INTEGRATION_TYPES
from opsapi import clock
from opsapi.api.principal import SYSTEM


def make_integration(project: Project, integration_type: str = "SCRAPER", **changes: Any) -> Integration:
    """An integration of the project: the example of its type with these changes."""
    sent = {**INTEGRATION_TYPES[integration_type].example, **changes}
    values = IntegrationDocument(context={"type": integration_type}).read(sent)
    integration_create(
        group_id=project.id, integration_type=integration_type, values=values, actor=SYSTEM, now=clock.now()
    )
    return Integration.objects.get(group=project, type=integration_type)
