"""Presets of alert configurations: the list, and adding them to a project."""

from rest_framework.request import Request
from rest_framework.response import Response

from alerting.rules.presets import Preset, presets_of
from alerting.selectors.configs import configs_of, configs_of_presets
from alerting.serializers.configs import AlertConfigDocument
from alerting.serializers.presets import (
    PresetDocument,
    PresetsMadeDocument,
    PresetsRequest,
    present_existing,
    present_preset,
)
from alerting.services.presets import presets_create
from alerting.views.configs import AlertConfigViewSet
from automation.metrics import Engine
from opsapi.api.catalogue import ErrorCode
from opsapi.api.paging import PlainRows
from opsapi.api.query import LISTING
from opsapi.api.views import ApiViewSet


class PresetViewSet(ApiViewSet):
    """`/groups/{id}/alertConfigs/presets`, under the roles of alert configurations."""

    access = {name: AlertConfigViewSet.access[name] for name in ("index", "create")}
    parameters = {"index": LISTING}
    bodies = {"create": PresetsRequest}
    answers = {"index": [PresetDocument], "create": PresetsMadeDocument}
    statuses = {"create": 201}
    refusals = {"create": [ErrorCode.LIMIT_REACHED]}

    def index(self, request: Request, group_id: str) -> Response:
        """List all presets, and whether the project has them."""
        there = configs_of_presets(self.group.id)
        rows = PlainRows([present_preset(preset, there.get(preset)) for preset in Preset])
        return self.list(rows, lambda row: row)

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
        configs = configs_of(self.group.id).filter(id__in=[config.id for config in done.created])
        facts = map(AlertConfigDocument.facts, AlertConfigDocument.rows(configs))
        created = [AlertConfigDocument.present(fact, self.links) for fact in facts]
        document = {
            "results": created,
            "totalCount": len(created),
            "existing": present_existing(done.existing),
        }
        path = f"/groups/{self.group.id}/alertConfigs/presets"
        return Response({**document, "links": self.links.related(path, {})})
