"""Finds the configurations under which an observation may start an alert, without trying all. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from alerting.configs.rules import MetricThreshold, ThresholdOperator, mean_of
from alerting.engine.observations import Condition, Observation
from alerting.engine.transition import ConfigView
from automation.metrics import Metric
from events.types import EventType


@dataclass(slots=True)
class _Bounds:
    """The limits of one metric on one side, in its base unit and ascending, and their configurations."""

    limits: list[float] = field(default_factory=list)
    configs: list[ConfigView] = field(default_factory=list)

    @classmethod
    def of(cls, pairs: Iterable[tuple[float, ConfigView]]) -> "_Bounds":
        ordered = sorted(pairs, key=lambda pair: pair[0])
        return cls([limit for limit, _ in ordered], [config for _, config in ordered])

    def below(self, value: float) -> Sequence[ConfigView]:
        return self.configs[: bisect_left(self.limits, value)]

    def above(self, value: float) -> Sequence[ConfigView]:
        return self.configs[bisect_right(self.limits, value) :]


_NONE = _Bounds()


class ConfigIndex:
    """Configurations of one event type by id, and thresholds of a metric by their limits."""

    def __init__(self, configs: Iterable[ConfigView]) -> None:
        self.configs: Mapping[str, ConfigView] = {config.id: config for config in configs}
        self._metrics: set[Metric | None] = set()
        self._always: list[ConfigView] = []
        """The configurations without a limit in `_bounds`."""
        bounds: dict[tuple[ThresholdOperator, str], list[tuple[float, ConfigView]]] = {}
        for config in self.configs.values():
            self._metrics.add(config.metric)
            threshold = config.metric_threshold
            limit = None if threshold is None else _limit(config.event_type, threshold)
            if threshold is None or limit is None:
                self._always.append(config)
            else:
                bounds.setdefault((threshold.operator, threshold.metric.value), []).append((limit, config))
        self._bounds = {key: _Bounds.of(pairs) for key, pairs in bounds.items()}

    def alert_metrics(self, observation: Observation) -> list[Metric | None]:
        """Return the metrics that alerts about the observation can be about; None means no metric."""
        return [metric for metric in self._metrics if metric is None or metric.value in observation.samples]

    def candidates(self, observation: Observation) -> Iterator[ConfigView]:
        """Yield each configuration under which the observation may start an alert or notify, in any order.

        For every other configuration, `transition.step` does nothing unless there is an active alert.
        """
        if observation.condition in {Condition.ENDED, Condition.GONE}:
            return
        yield from self._always
        if not self._bounds:
            return
        for metric, samples in observation.samples.items():
            if samples:
                value = mean_of(samples)
                yield from self._bound(ThresholdOperator.GREATER_THAN, metric).below(value)
                yield from self._bound(ThresholdOperator.LESS_THAN, metric).above(value)

    def _bound(self, operator: ThresholdOperator, metric: str) -> _Bounds:
        return self._bounds.get((operator, metric), _NONE)


NO_CONFIGS = ConfigIndex(())


def _limit(event_type: EventType, threshold: MetricThreshold) -> float | None:
    """Return the limit of a threshold on a metric; None if `transition.step` has to evaluate it."""
    if event_type is not EventType.OUTSIDE_METRIC_THRESHOLD:
        return None
    try:
        return threshold.limit
    except (ValueError, ArithmeticError):
        return None  # `transition.step` raises it again
