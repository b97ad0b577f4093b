"""The closed set of matcher fields (decisions 1 "closed sets")."""

from rest_framework.request import Request
from rest_framework.response import Response

from alerting.serializers.configs import MATCHER_FIELD_ROWS, MatcherFieldDocument
from opsapi.api.paging import PlainRows
from opsapi.api.permissions import ANY_KEY
from opsapi.api.query import LISTING
from opsapi.api.views import ApiViewSet


class MatcherFieldViewSet(ApiViewSet):
    """The closed set of matcher fields."""

    access = {"index": ANY_KEY}
    parameters = {"index": LISTING}
    answers = {"index": [MatcherFieldDocument]}

    def index(self, request: Request) -> Response:
        """Every field matchers can look at."""
        return self.list(PlainRows(MATCHER_FIELD_ROWS), lambda row: row)
