"""Where agents report, below the agents' base."""

from automation.views.reports import ReportViewSet
from opsapi.api.routing import route

urlpatterns = [route("groups/<group_id>/reports", ReportViewSet, post="create")]
