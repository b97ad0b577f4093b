"""Presets: what they ask for, and which configurations are as good."""

from pathlib import Path
from typing import Any

from alerting.configs.matchers import Matcher, MatcherField, MatcherOperator
from alerting.configs.models import LONGEST_NAME
from alerting.configs.presets import Preset, PresetSubject, presets_of
from alerting.configs.rules import CountThreshold, MetricThreshold, ThresholdOperator
from alerting.engine.transition import ConfigView
from automation.metrics import Engine, Metric, allowed_units
from automation.units import Unit
from events.types import EVENT_TYPES, EventType, Needs
from tests.each import each

_RUNBOOKS = Path(__file__).resolve().parents[3] / "docs" / "runbooks"
_MATCHERS = (Matcher(MatcherField.HOSTNAME, MatcherOperator.STARTS_WITH, "db"),)


def config(preset: Preset, **changes: Any) -> ConfigView:
    """A configuration of the preset."""
    asked = {
        "event_type": preset.spec.event_type,
        "threshold": preset.spec.threshold,
    }
    return ConfigView("c", **(asked | changes))


def threshold(limit: float, units: Unit, metric: Metric = Metric.OPLOG_MASTER_TIME) -> MetricThreshold:
    """A lower limit."""
    return MetricThreshold(metric, ThresholdOperator.LESS_THAN, limit, units)


@each("preset", Preset)
def test_a_preset_can_be_a_configuration_of_its_engines(preset: Preset) -> None:
    spec = preset.spec
    assert (preset.name, spec.name) == (preset.value, preset.value)
    assert spec.meaning.endswith(".")
    event_type = EVENT_TYPES[spec.event_type]
    assert event_type.alertable
    assert not event_type.global_only
    assert (event_type.needs is Needs.METRIC_THRESHOLD) is (spec.metric_threshold is not None)
    assert (event_type.needs is Needs.THRESHOLD) is isinstance(spec.threshold, CountThreshold)
    if spec.metric_threshold:
        metric = spec.metric_threshold.metric
        assert spec.metric_threshold.units in allowed_units(metric)
        assert set(spec.engines) <= set(metric.spec.engines)
        assert not metric.spec.deprecated


def test_presets_have_names_of_their_own() -> None:
    titles = [preset.spec.title for preset in Preset]
    assert len(set(titles)) == len(titles)
    assert all(0 < len(title) <= LONGEST_NAME for title in titles)


@each("preset", [preset for preset in Preset if preset.spec.metric_threshold is None])
def test_a_preset_without_metric_has_the_severity_of_its_event_type(preset: Preset) -> None:
    assert preset.spec.severity is EVENT_TYPES[preset.spec.event_type].severity


@each("preset", Preset)
def test_the_runbook_of_a_preset_exists_and_names_it(preset: Preset) -> None:
    assert f"`{preset}`" in (_RUNBOOKS / f"{preset.spec.runbook}.md").read_text()


@each("engine", Engine)
def test_every_engine_has_presets_each_of_which_asks_for_something_else(engine: Engine) -> None:
    presets = presets_of(engine)
    assert {Preset.HOST_DOWN, Preset.CONNECTIONS} < set(presets)
    for preset in presets:
        assert [other for other in Preset if other.spec.is_of(config(preset))] == [preset]


@each(
    ("changes", "is_same"),
    [
        ({}, True),
        ({"threshold": threshold(60, Unit.MINUTES)}, True),
        ({"threshold": threshold(3600, Unit.SECONDS)}, True),
        ({"threshold": threshold(61, Unit.MINUTES)}, False),
        ({"threshold": threshold(1, Unit.HOURS, Metric.OPLOG_MASTER_LAG_TIME_DIFF)}, False),
        (
            {
                "threshold": MetricThreshold(
                    Metric.OPLOG_MASTER_TIME, ThresholdOperator.GREATER_THAN, 1, Unit.HOURS
                )
            },
            False,
        ),
        ({"threshold": None, "event_type": EventType.HOST_DOWN}, False),
        ({"matchers": _MATCHERS}, False),
    ],
)
def test_a_configuration_is_a_preset_by_its_event_and_threshold(
    changes: dict[str, Any], is_same: bool
) -> None:
    assert Preset.OPLOG_WINDOW.spec.is_of(config(Preset.OPLOG_WINDOW, **changes)) is is_same


def test_a_configuration_of_another_number_of_members_is_no_preset() -> None:
    other = CountThreshold(ThresholdOperator.GREATER_THAN, 1)
    assert not Preset.UNHEALTHY_MEMBERS.spec.is_of(config(Preset.UNHEALTHY_MEMBERS, threshold=other))


@each("engine", Engine)
def test_every_subject_has_presets_of_every_engine(engine: Engine) -> None:
    """The page shows the headings of all subjects."""
    assert {preset.spec.subject for preset in presets_of(engine)} == set(PresetSubject)
