"""Routes of the fleet, below the public base."""

from automation.agent_settings.views import AgentSettingsViewSet
from automation.agents.views import AgentViewSet
from automation.desired_state.views import (
    AutomationConfigViewSet,
    AutomationSchemaViewSet,
    RevisionViewSet,
)
from automation.hosts.views import ClusterViewSet, DatabaseViewSet, HostViewSet
from automation.measurements.views import FleetMeasurementViewSet, MeasurementViewSet, MetricViewSet
from automation.turns.views import AutomationStatusViewSet, PauseViewSet
from opsapi.api.views import route

_HOSTS = "groups/<group_id>/hosts"
_HOST = f"{_HOSTS}/<host_id>"
_CONFIG = "groups/<group_id>/automationConfig"
_REVISION = f"{_CONFIG}/revisions/<path:revision>"
_DATABASE = f"{_HOST}/databases/<path:database_name>"

urlpatterns = [
    route(_HOSTS, HostViewSet, get="index", post="create"),
    route(f"{_HOSTS}/byName/<path:host_name>", HostViewSet, get="by_name"),
    route(_HOST, HostViewSet, get="retrieve", patch="update", delete="destroy"),
    route(f"{_HOST}/measurements", MeasurementViewSet, get="of_host"),
    route(f"{_HOST}/databases", DatabaseViewSet, get="index"),
    # Database names can contain slashes, so the longer path comes first.
    route(f"{_DATABASE}/measurements", MeasurementViewSet, get="of_database"),
    route(_DATABASE, DatabaseViewSet, get="retrieve"),
    route("groups/<group_id>/measurements", FleetMeasurementViewSet, get="of_group"),
    route("groups/<group_id>/clusters", ClusterViewSet, get="index"),
    route("groups/<group_id>/clusters/<cluster_id>", ClusterViewSet, get="retrieve"),
    route("groups/<group_id>/agents", AgentViewSet, get="index"),
    route("groups/<group_id>/agents/settings", AgentSettingsViewSet, get="retrieve", put="replace"),
    route("groups/<group_id>/agents/<agent_type>", AgentViewSet, get="of_type"),
    route(
        "groups/<group_id>/agents/<agent_type>/<path:agent_name>",
        AgentViewSet,
        get="retrieve",
        delete="destroy",
    ),
    route(_CONFIG, AutomationConfigViewSet, get="retrieve", put="replace"),
    route(f"{_CONFIG}/pause", PauseViewSet, post="pause"),
    route(f"{_CONFIG}/resume", PauseViewSet, post="resume"),
    route(f"{_CONFIG}/revisions", RevisionViewSet, get="index"),
    route(f"{_REVISION}/restore", RevisionViewSet, post="restore"),
    route(_REVISION, RevisionViewSet, get="retrieve"),
    route("groups/<group_id>/automationStatus", AutomationStatusViewSet, get="retrieve"),
    route("automationConfig/schema", AutomationSchemaViewSet, get="retrieve"),
    route("metricNames", MetricViewSet, get="index"),
]
