"""Which presets a project has."""

from collections.abc import Mapping

from alerting.models import AlertConfig
from alerting.rules.presets import Preset
from alerting.selectors.config_views import config_view


def configs_of_presets(group_id: str) -> Mapping[Preset, AlertConfig]:
    """The project's configuration of each preset that it has, the oldest; disabled ones count."""
    configs = AlertConfig.objects.filter(group_id=group_id, deleted=None).order_by("created", "id")
    types = {preset.spec.event_type.value for preset in Preset}
    views = [(config, config_view(config)) for config in configs.filter(event_type__in=types)]
    found = ((preset, [config for config, view in views if preset.spec.is_of(view)]) for preset in Preset)
    return {preset: same[0] for preset, same in found if same}
