"""URLs of agents: download and reports, below the agents' base."""

from django.urls import path

from automation.agent_file import NAME
from automation.views import agent_file
from automation.views.reports import ReportViewSet
from opsapi.api.views import route

urlpatterns = [
    route("groups/<group_id>/reports", ReportViewSet, post="create"),
    path(NAME, agent_file.download),
    path(f"{NAME}.sha256", agent_file.checksum),
    path("opsapi-agent.json", agent_file.facts),
    path(agent_file.UNIT.name, agent_file.unit),
]
