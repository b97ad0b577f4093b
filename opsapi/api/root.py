"""The root resource (endpoint 16), and the error catalogue."""

from django.conf import settings
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from opsapi.api.catalogue import CATALOGUE, ErrorCode
from opsapi.api.documents import Document, LinkDocument, self_link
from opsapi.api.links import link
from opsapi.api.paging import PlainRows
from opsapi.api.permissions import ANY_KEY
from opsapi.api.query import LISTING, PAGING
from opsapi.api.registry import root_links
from opsapi.api.views import ApiViewSet

APP_NAME = "Ops API"


class RootDocument(Document):
    """The root resource."""

    deprecated_fields = frozenset({"throttling"})
    example = {
        "appName": APP_NAME,
        "build": "a6f97c850963fc73a6f97c850963fc73a6f97c85",
        "throttling": False,
        "links": self_link(""),
    }

    appName = serializers.CharField()
    build = serializers.CharField(help_text="Commit hash of the build.")
    throttling = serializers.BooleanField(help_text="Obsolete, always false.")
    links = LinkDocument(many=True)


class ErrorCodeDocument(Document):
    """An entry of the error catalogue."""

    example = {
        "errorCode": ErrorCode.GROUP_NOT_FOUND.value,
        "status": 404,
        "message": CATALOGUE[ErrorCode.GROUP_NOT_FOUND].message,
    }

    errorCode = serializers.CharField()
    status = serializers.IntegerField()
    message = serializers.CharField(help_text="{0} stands for the first parameter of the error.")


class RootViewSet(ApiViewSet):
    """Endpoint 16: the start, with links to all other resources."""

    access = {"retrieve": ANY_KEY}
    parameters = {"retrieve": PAGING}
    answers = {"retrieve": RootDocument}

    def retrieve(self, request: Request) -> Response:
        """Get the root resource, which is the same for every key."""
        links = self.links.self_only("")
        links += [link(name, self.links.to(path)) for name, path in root_links().items()]
        return Response(
            {"appName": APP_NAME, "build": settings.OPSAPI_BUILD, "throttling": False, "links": links}
        )


class ErrorCodeViewSet(ApiViewSet):
    """The published error catalogue."""

    access = {"index": ANY_KEY}
    parameters = {"index": LISTING}
    answers = {"index": [ErrorCodeDocument]}

    def index(self, request: Request) -> Response:
        """List the errors of the API."""
        rows = [
            {"errorCode": code.value, "status": spec.status, "message": spec.message}
            for code, spec in CATALOGUE.items()
        ]
        return self.list(PlainRows(rows), lambda row: row)
