"""Endpoints 3, 4, 8 to 10 and the other routes of alert configurations."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.utils.functional import cached_property
from rest_framework.request import Request
from rest_framework.response import Response

from alerting.access import READ, READ_GLOBAL, WRITE, WRITE_GLOBAL
from alerting.configs.changes import (
    alert_config_create,
    alert_config_delete,
    alert_config_replace,
    alert_config_update,
)
from alerting.configs.matchers import CONFIG_FIELDS
from alerting.configs.models import AlertConfig
from alerting.configs.notification_tests import alert_config_test
from alerting.configs.preset_configs import configs_of_presets, presets_create
from alerting.configs.preset_documents import (
    ExistingPresetDocument,
    PresetDocument,
    PresetsMadeDocument,
    PresetsRequest,
)
from alerting.configs.presets import Preset, presets_of
from alerting.configs.recipients import unreachable
from alerting.configs.resource import (
    AlertConfigChange,
    AlertConfigDocument,
    AnyAlertConfigDocument,
    GlobalAlertConfigDocument,
    GlobalAlertConfigSwitch,
    MatcherFieldsDocument,
    config_document,
    found_facts,
)
from alerting.configs.store import alert_config, config_found, configs_named, configs_of
from alerting.engine.resource import AlertConfigTestDocument, NotificationTestDocument
from alerting.incidents.choices import AlertStatus
from alerting.incidents.resource import GLOBAL_ALERTS, AlertDocument
from alerting.incidents.store import AlertRows
from alerting.incidents.views import SEVERITY
from automation.metrics import Engine
from events.types import EVENT_TYPES, EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.paging import PlainRows
from opsapi.api.permissions import ANY_KEY
from opsapi.api.query import LISTING, PAGING, identifier_parameter
from opsapi.api.resources import Facts
from opsapi.api.views import ApiViewSet

_NOTIFICATION_ID = identifier_parameter("notificationId", "Test only this notification of the configuration.")


_READING = ("index", "retrieve", "alerts")
_WRITING = ("create", "replace", "update", "destroy", "test")


def _answers(document: type[AnyAlertConfigDocument]) -> dict[str, Any]:
    return {
        "index": [document],
        **dict.fromkeys(("retrieve", "create", "replace", "update"), document),
        "alerts": [AlertDocument],
        "test": AlertConfigTestDocument,
    }


class AnyConfigViewSet(ApiViewSet):
    """Alert configurations; subclasses define which configurations."""

    parameters = {
        "index": (*LISTING, SEVERITY),
        "retrieve": PAGING,
        "alerts": (*LISTING, SEVERITY),
        "test": [_NOTIFICATION_ID],
    }
    refusals = {"test": [ErrorCode.NOTIFICATION_NOT_FOUND]}
    statuses = {"create": 201, "destroy": 204}
    id_name: ClassVar[str]
    among: ClassVar[str | None] = None
    """The path of the list that shows their alerts; None for the list of the alert's project."""

    config: Facts

    def load(self) -> None:
        if self.id_name in self.kwargs:
            self.config = found_facts(self.kwargs[self.id_name], self.scope)

    def index(self, request: Request, **_: str) -> Response:
        """List configurations, in the order of creation."""
        configs = configs_of(self.scope, self.query["severity"])
        return self.list_of(config_document(self.scope), configs)

    def retrieve(self, request: Request, **_: str) -> Response:
        """Get a configuration."""
        return self.alone(config_document(self.scope), self.config)

    def create(self, request: Request, **_: str) -> Response:
        """Create a configuration. If its condition is already true, alerts open at once."""
        stored = {} if self.scope is None else {"groupId": self.scope}
        values = self.body(stored=stored, group_id=self.scope)
        config = alert_config_create(group_id=self.scope, values=values, actor=self.actor, now=self.now)
        return self._written(config)

    def replace(self, request: Request, **_: str) -> Response:
        """Replace a configuration. A missing `enabled` keeps its value."""
        alert_config_replace(config=self.stored, read=self._read, actor=self.actor, now=self.now)
        return self._written(self.stored)

    def update(self, request: Request, **_: str) -> Response:
        """Change the given fields. Disabling a configuration cancels its alerts."""
        alert_config_update(config=self.stored, read=self._read, actor=self.actor, now=self.now)
        return self._written(self.stored)

    def destroy(self, request: Request, **_: str) -> Response:
        """Delete a configuration and cancel its alerts."""
        alert_config_delete(config=self.stored, actor=self.actor, now=self.now)
        return Response()

    def alerts(self, request: Request, **_: str) -> Response:
        """List the open alerts of the configuration, newest first."""
        rows = AlertRows(
            self.scope, AlertStatus.OPEN.value, self.config["id"], severities=self.query["severity"]
        )
        return self.list(
            rows, lambda row: AlertDocument.present(row, self.links, now=self.now, among=self.among)
        )

    def test(self, request: Request, **_: str) -> Response:
        """Send the notifications of the configuration, or one of them, as a test. No body is needed."""
        tests = alert_config_test(
            config=self.stored,
            notification_id=self.query["notificationId"],
            actor=self.actor,
            now=self.now,
        )
        return Response({"results": [NotificationTestDocument.of(test) for test in tests]})

    @property
    def scope(self) -> str | None:
        """The project of the configurations; None for global configurations."""
        return None

    @cached_property
    def stored(self) -> AlertConfig:
        return config_found(alert_config(self.config["id"]), self.config["id"], self.scope)

    def _read(self, stored: AlertConfig) -> Mapping[str, Any]:
        """The body, validated against the current configuration."""
        facts = found_facts(stored.id, self.scope)
        return self.body(stored=facts, group_id=self.scope, settings=list(stored.settings.all()))

    def _written(self, config: AlertConfig) -> Response:
        """The configuration, with a warning for each notification without recipients (RFC 7234 5.5.7)."""
        answer = self.alone(config_document(self.scope), found_facts(config.id, self.scope))
        warnings = [f'299 - "notifications[{place}]: {why}"' for place, why in unreachable(config).items()]
        if not EVENT_TYPES[EventType(config.event_type)].produced:
            warnings.insert(0, f'299 - "eventTypeName: nothing makes {config.event_type} events"')
        if warnings:
            answer["Warning"] = ", ".join(warnings)
        return answer


class AlertConfigViewSet(AnyConfigViewSet):
    """Endpoints 8, 9 and 10, and writing configurations."""

    access = {**dict.fromkeys(_READING, READ), **dict.fromkeys(_WRITING, WRITE)}
    bodies = {
        "create": AlertConfigDocument,
        "replace": AlertConfigDocument,
        "update": AlertConfigChange,
    }
    answers = _answers(AlertConfigDocument)
    refusals = {**AnyConfigViewSet.refusals, "create": [ErrorCode.LIMIT_REACHED]}
    identifiers = {"config_id": ErrorCode.INVALID_ALERT_CONFIG_ID}
    id_name = "config_id"

    @property
    def scope(self) -> str:
        return self.group.id


class MatcherFieldViewSet(ApiViewSet):
    """The closed set of matcher fields."""

    access = {"index": ANY_KEY}
    parameters = {"index": PAGING}
    answers = {"index": MatcherFieldsDocument}
    linked = False

    def index(self, request: Request) -> Response:
        """List the names of all fields that matchers can compare, in a single array."""
        return Response(CONFIG_FIELDS)


class GlobalAlertConfigViewSet(AnyConfigViewSet):
    """`/globalAlertConfigs`: configurations over all projects or some of them."""

    access = {**dict.fromkeys(_READING, READ_GLOBAL), **dict.fromkeys(_WRITING, WRITE_GLOBAL)}
    bodies = {
        "create": GlobalAlertConfigDocument,
        "replace": GlobalAlertConfigDocument,
        "update": GlobalAlertConfigSwitch,
    }
    answers = _answers(GlobalAlertConfigDocument)
    identifiers = {"global_config_id": ErrorCode.INVALID_GLOBAL_ALERT_CONFIG_ID}
    id_name = "global_config_id"
    among = GLOBAL_ALERTS


class PresetViewSet(ApiViewSet):
    """`/groups/{id}/alertConfigs/presets`, under the roles of alert configurations."""

    access = {"index": READ, "create": WRITE}
    parameters = {"index": LISTING}
    bodies = {"create": PresetsRequest}
    answers = {"index": [PresetDocument], "create": PresetsMadeDocument}
    statuses = {"create": 201}
    refusals = {"create": [ErrorCode.LIMIT_REACHED]}

    def index(self, request: Request, group_id: str) -> Response:
        """List all presets, and whether the project has them."""
        there = configs_of_presets(self.group.id)
        ids = {preset: config.id for preset, config in there.items()}
        return self.list(PlainRows(Preset), lambda row: PresetDocument.of_project(row, ids.get(row)))

    def create(self, request: Request, group_id: str) -> Response:
        """Add all or some presets of an engine. Existing presets are listed and not added again."""
        asked = self.body()
        every = [preset.value for preset in presets_of(Engine(asked["engine"]))]
        done = presets_create(
            group_id=self.group.id,
            presets=[Preset(name) for name in asked.get("presets", every)],
            actor=self.actor,
            now=self.now,
        )
        configs = configs_named([config.id for config in done.created], self.group.id)
        facts = map(AlertConfigDocument.facts, AlertConfigDocument.rows(configs))
        created = [AlertConfigDocument.present(fact, self.links) for fact in facts]
        document = {
            "results": created,
            "totalCount": len(created),
            "existing": [
                ExistingPresetDocument.of(config, preset=preset) for preset, config in done.existing.items()
            ],
        }
        path = f"/groups/{self.group.id}/alertConfigs/presets"
        return Response({**document, "links": self.links.related(path, {})})
