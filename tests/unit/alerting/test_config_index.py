"""The configurations under which an observation may begin an alert are found without trying each."""

from hypothesis import given
from hypothesis import strategies as st

from alerting.configs.rules import CountThreshold, MetricThreshold, ThresholdOperator
from alerting.engine.config_index import ConfigIndex
from alerting.engine.observations import Condition, Observation
from alerting.engine.transition import AlertAction, ConfigView, step
from automation.metrics import Metric
from automation.units import Unit
from events.types import EventType
from tests.hostile.budget import tries

METRICS = (Metric.CONNECTIONS, Metric.MEMORY_RESIDENT)
FACTS = {"hostname": "db1", "port": 27017}
numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(allow_nan=False, allow_infinity=False))


@st.composite
def config_views(draw: st.DrawFn) -> list[ConfigView]:
    """Configurations with thresholds, with counts, and without either."""
    configs = []
    for number in range(draw(st.integers(0, 8))):
        operator = draw(st.sampled_from(ThresholdOperator))
        metric = draw(st.sampled_from(METRICS))
        units = draw(st.sampled_from((Unit.RAW, Unit.BYTES, Unit.KILOBYTES)))
        threshold = MetricThreshold(metric, operator, draw(numbers), units)
        configs.append(
            draw(
                st.sampled_from(
                    (
                        ConfigView(f"c{number}", EventType.HOST_DOWN),
                        ConfigView(
                            f"c{number}",
                            EventType.TOO_FEW_HEALTHY_MEMBERS,
                            threshold=CountThreshold(operator, 2),
                        ),
                        ConfigView(f"c{number}", EventType.OUTSIDE_METRIC_THRESHOLD, threshold=threshold),
                    )
                )
            )
        )
    return configs


observations = st.one_of(
    st.sampled_from(Condition).map(lambda condition: Observation(EventType.HOST_DOWN, condition, FACTS)),
    st.integers(0, 4).map(
        lambda count: Observation(EventType.TOO_FEW_HEALTHY_MEMBERS, Condition.MEASURED, FACTS, count=count)
    ),
    st.dictionaries(st.sampled_from([metric.value for metric in METRICS]), st.lists(numbers, max_size=3)).map(
        lambda said: Observation(EventType.OUTSIDE_METRIC_THRESHOLD, Condition.MEASURED, FACTS, said)
    ),
)


@tries(63)
@given(config_views(), observations)
def test_where_it_finds_none_there_is_nothing_to_do(
    configs: list[ConfigView], observation: Observation
) -> None:
    configs = [config for config in configs if config.event_type is observation.event_type]
    found = [config.id for config in ConfigIndex(configs).candidates(observation)]
    assert len(found) == len(set(found))
    for config in configs:
        if config.id not in found:
            assert step(config, observation, None).action is AlertAction.NOTHING


def test_thresholds_that_a_value_does_not_cross_are_not_tried() -> None:
    limits = range(100)
    configs = [
        ConfigView(
            f"{operator}{limit}",
            EventType.OUTSIDE_METRIC_THRESHOLD,
            threshold=MetricThreshold(Metric.CONNECTIONS, operator, limit, Unit.RAW),
        )
        for operator in ThresholdOperator
        for limit in limits
    ]
    seen = Observation(
        EventType.OUTSIDE_METRIC_THRESHOLD, Condition.MEASURED, FACTS, {"CONNECTIONS": [1.0, 3.0]}
    )
    found = {config.id for config in ConfigIndex(configs).candidates(seen)}
    over = {f"{ThresholdOperator.GREATER_THAN}{limit}" for limit in limits if limit < 2}
    under = {f"{ThresholdOperator.LESS_THAN}{limit}" for limit in limits if limit > 2}
    assert found == over | under
