"""The closed set of matcher fields."""

from rest_framework.request import Request
from rest_framework.response import Response

from alerting.serializers.configs import MATCHER_FIELDS, MatcherFieldsDocument
from opsapi.api.permissions import ANY_KEY
from opsapi.api.query import PAGING
from opsapi.api.views import ApiViewSet


class MatcherFieldViewSet(ApiViewSet):
    """The closed set of matcher fields."""

    access = {"index": ANY_KEY}
    parameters = {"index": PAGING}
    answers = {"index": MatcherFieldsDocument}
    linked = False

    def index(self, request: Request) -> Response:
        """The name of every field matchers can look at, in one array without pages."""
        return Response(MATCHER_FIELDS)
