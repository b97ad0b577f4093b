"""URLs of agents: download and reports, below the agents' base."""

from django.urls import path

from automation.agent_file import NAME
from automation.views import agents
from automation.views.reports import ReportViewSet
from opsapi.api.views import route

urlpatterns = [
    route("groups/<group_id>/reports", ReportViewSet, post="create"),
    path(NAME, agents.download),
    path(f"{NAME}.sha256", agents.checksum),
    path("opsapi-agent.json", agents.facts),
    path(agents.UNIT.name, agents.unit),
]
