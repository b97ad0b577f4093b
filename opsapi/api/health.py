"""Liveness and readiness (product, "health"): for supervisors and load balancers, open to everybody."""

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from opsapi.api.documents import Document
from opsapi.api.errors import UNAVAILABLE_RETRY_SECONDS
from opsapi.api.permissions import OPEN
from opsapi.api.registry import readiness
from opsapi.api.views import ApiViewSet


class HealthDocument(Document):
    """`ok`, and when it is false what is missing."""

    example = {"ok": True}

    ok = serializers.BooleanField()
    missing = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="Check → what is wrong."
    )


class HealthViewSet(ApiViewSet):
    """`/health/live` and `/health/ready`."""

    authentication_classes = []
    access = {"live": OPEN, "ready": OPEN}
    answers = {"live": HealthDocument, "ready": HealthDocument}
    also_answers = {"ready": {503: HealthDocument}}
    linked = False

    def live(self, request: Request) -> Response:
        """The process answers."""
        return Response({"ok": True})

    def ready(self, request: Request) -> Response:
        """Database reachable, migrations applied, and what the apps add; 503 with what is missing."""
        missing = _missing()
        if not missing:
            return Response({"ok": True})
        retry = {"Retry-After": str(UNAVAILABLE_RETRY_SECONDS)}
        return Response({"ok": False, "missing": missing}, status=503, headers=retry)


def _missing() -> dict[str, str]:
    try:
        if _has_unapplied_migrations():
            return {"migrations": "not all are applied"}
        found = {name: check() for name, check in readiness().items()}
    except Error:
        return {"database": "cannot be reached"}
    return {name: fault for name, fault in found.items() if fault}


def _has_unapplied_migrations() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
