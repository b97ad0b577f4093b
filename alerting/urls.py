"""Routes of alerting, below the public base."""

from alerting.configs.views import (
    AlertConfigViewSet,
    GlobalAlertConfigViewSet,
    MatcherFieldViewSet,
    PresetViewSet,
)
from alerting.incidents.views import (
    AlertViewSet,
    EventNotificationViewSet,
    GlobalAlertViewSet,
    ResendingViewSet,
)
from alerting.insight.views import (
    AlertExplanationViewSet,
    ConfigInsightViewSet,
    GlobalAlertExplanationViewSet,
    GlobalConfigNoiseViewSet,
)
from alerting.windows.views import WindowViewSet
from opsapi.api.views import route

urlpatterns = [
    route("groups/<group_id>/alerts", AlertViewSet, get="index"),
    route("groups/<group_id>/alerts/<alert_id>", AlertViewSet, get="retrieve", patch="acknowledge"),
    route("groups/<group_id>/alerts/<alert_id>/alertConfigs", AlertViewSet, get="configs"),
    route("groups/<group_id>/alerts/<alert_id>/explanation", AlertExplanationViewSet, get="explanation"),
    route("groups/<group_id>/alerts/<alert_id>/notifications", AlertViewSet, get="notifications"),
    route(
        "groups/<group_id>/alerts/<alert_id>/notifications/<notification_id>/resend",
        ResendingViewSet,
        post="resend",
    ),
    route("groups/<group_id>/events/<event_id>/notifications", EventNotificationViewSet, get="index"),
    route("globalAlerts", GlobalAlertViewSet, get="index"),
    route("globalAlerts/<global_alert_id>", GlobalAlertViewSet, get="retrieve", patch="acknowledge"),
    route("globalAlerts/<global_alert_id>/alertConfigs", GlobalAlertViewSet, get="configs"),
    route("globalAlerts/<global_alert_id>/explanation", GlobalAlertExplanationViewSet, get="explanation"),
    route("globalAlerts/<global_alert_id>/notifications", GlobalAlertViewSet, get="notifications"),
    route("groups/<group_id>/alertConfigs", AlertConfigViewSet, get="index", post="create"),
    # Before the configurations, whose IDs they cannot be.
    route("groups/<group_id>/alertConfigs/presets", PresetViewSet, get="index", post="create"),
    route("groups/<group_id>/alertConfigs/dryRun", ConfigInsightViewSet, post="dry_run"),
    route(
        "groups/<group_id>/alertConfigs/<config_id>",
        AlertConfigViewSet,
        get="retrieve",
        put="replace",
        patch="update",
        delete="destroy",
    ),
    route("groups/<group_id>/alertConfigs/<config_id>/alerts", AlertConfigViewSet, get="alerts"),
    route("groups/<group_id>/alertConfigs/<config_id>/noise", ConfigInsightViewSet, get="noise"),
    route("groups/<group_id>/alertConfigs/<config_id>/test", AlertConfigViewSet, post="test"),
    route("groups/<group_id>/alertConfigs/<config_id>/explain", ConfigInsightViewSet, post="explain"),
    route("globalAlertConfigs", GlobalAlertConfigViewSet, get="index", post="create"),
    route(
        "globalAlertConfigs/<global_config_id>",
        GlobalAlertConfigViewSet,
        get="retrieve",
        put="replace",
        patch="update",
        delete="destroy",
    ),
    route("globalAlertConfigs/<global_config_id>/alerts", GlobalAlertConfigViewSet, get="alerts"),
    route("globalAlertConfigs/<global_config_id>/noise", GlobalConfigNoiseViewSet, get="noise"),
    route("globalAlertConfigs/<global_config_id>/test", GlobalAlertConfigViewSet, post="test"),
    route("groups/<group_id>/maintenanceWindows", WindowViewSet, get="index", post="create"),
    # Before the windows, whose IDs it cannot be.
    route("groups/<group_id>/maintenanceWindows/preview", WindowViewSet, post="preview"),
    route(
        "groups/<group_id>/maintenanceWindows/<window_id>",
        WindowViewSet,
        get="retrieve",
        patch="update",
        delete="destroy",
    ),
    route("alertConfigs/matchers/fieldNames", MatcherFieldViewSet, get="index"),
]
