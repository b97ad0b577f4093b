"""Every path: the three API bases, health, the schema, the console; the apps are named by dotted string."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView

from opsapi.api.root import ErrorCodeViewSet, HealthViewSet, RootViewSet, docs_page, metrics_page, schema_page
from opsapi.api.views import UnknownPath, route
from opsapi.documents.pages import documents
from opsapi.page_paths import CONSOLE_PATH, DOCUMENTS_PATH, INVITATION_PATH, KIOSK_PATH, SETUP_PATH

admin.autodiscover()  # the pages of the console
_APPS = ("accesslist", "events", "automation", "integrations", "alerting")
_unknown = UnknownPath.as_view({"get": "refuse"}, schema=None)
_public: list[URLPattern | URLResolver] = [
    route("", RootViewSet, get="retrieve"),
    route("/errorCodes", ErrorCodeViewSet, get="index"),
    *[path("/", include(f"{app}.urls")) for app in _APPS],
]

urlpatterns = [
    path("", RedirectView.as_view(url=CONSOLE_PATH)),
    path(CONSOLE_PATH.strip("/"), RedirectView.as_view(url=CONSOLE_PATH)),
    path(f"{CONSOLE_PATH[1:]}account/", include("accesslist.login.pages")),
    path(SETUP_PATH[1:], include("accesslist.login.first_run")),
    path(INVITATION_PATH[1:], include("accesslist.invitations.pages")),
    path(f"{CONSOLE_PATH[1:]}channels/", include("alerting.destinations.channel_pages")),
    path(f"{CONSOLE_PATH[1:]}quiet-times/", include("alerting.windows.week_page")),
    path(f"{CONSOLE_PATH[1:]}mail-server/", include("integrations.mail_server")),
    path(f"{CONSOLE_PATH[1:]}alert-timeline/", include("alerting.overview.alert_timeline_page")),
    path(f"{CONSOLE_PATH[1:]}shift-report/", include("alerting.overview.shift_page")),
    path(f"{CONSOLE_PATH[1:]}automation-plan/", include("automation.turns.plan_page")),
    path(f"{CONSOLE_PATH[1:]}system-health/", include("opsapi.console.system_health")),
    path(f"{CONSOLE_PATH[1:]}retention/", include("alerting.retention.console")),
    path(CONSOLE_PATH[1:], admin.site.urls),
    path(KIOSK_PATH[1:], include("alerting.overview.kiosk_page")),
    path("api/public/v1.0", include(_public)),
    path("agents/v1.0/", include("automation.agent_urls")),
    path("prometheus/v1.0/", include("integrations.discovery_urls")),
    # [\s\S] and not (?s), with which Django could reverse no path at all.
    re_path(r"^(?:api/public/v1\.0|agents/v1\.0|prometheus/v1\.0)(?:/[\s\S]*)?\Z", _unknown),
    path("api/docs", docs_page),
    path("api/schema", schema_page, name="openapi"),
    route("health/live", HealthViewSet, get="live"),
    route("health/ready", HealthViewSet, get="ready"),
    path("metrics", metrics_page),
    re_path(rf"^{DOCUMENTS_PATH.strip('/')}(?:/|\Z)", documents),
]

handler400 = "opsapi.console.error_pages.bad_request"
handler403 = "opsapi.console.error_pages.permission_denied"
handler404 = "opsapi.console.error_pages.not_found"
handler500 = "opsapi.console.error_pages.server_error"
