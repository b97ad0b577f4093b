"""URLs of agents: download, reports, settings, automation, turns and observations, below the agents' base."""

from django.urls import path

from automation.agent_file import NAME
from automation.agent_settings.views import FullAgentSettingsViewSet
from automation.agents import views as agents
from automation.observations.views import ObservationViewSet
from automation.reports.views import ReportViewSet
from automation.turns.views import MachineConfigViewSet, TurnViewSet
from opsapi.api.views import route

urlpatterns = [
    route("groups/<group_id>/reports", ReportViewSet, post="create"),
    route("groups/<group_id>/settings", FullAgentSettingsViewSet, get="retrieve"),
    route("groups/<group_id>/automation", MachineConfigViewSet, get="retrieve"),
    route("groups/<group_id>/turns", TurnViewSet, post="create"),
    route("groups/<group_id>/turns/<turn_id>", TurnViewSet, patch="update"),
    route("groups/<group_id>/observations", ObservationViewSet, post="create"),
    path(NAME, agents.download),
    path(f"{NAME}.sha256", agents.checksum),
    path("opsapi-agent.json", agents.facts),
    path(agents.UNIT.name, agents.unit),
]
