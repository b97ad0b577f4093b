"""The configurations under which an observation may start an alert, found without trying each. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from alerting.rules.observations import Condition, Observation
from alerting.rules.thresholds import ThresholdOperator, limit_of, mean_of
from alerting.rules.transition import ConfigView
from automation.metrics import Metric
from events.types import EventType

Place = int
"""The position of a configuration in the index."""


@dataclass(slots=True)
class _Bounds:
    """The limits of one metric on one side, in its base unit and ascending, and their configurations."""

    limits: list[float] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)

    @classmethod
    def of(cls, pairs: Iterable[tuple[float, Place]]) -> "_Bounds":
        ordered = sorted(pairs)
        return cls([limit for limit, _ in ordered], [place for _, place in ordered])

    def below(self, value: float) -> Sequence[Place]:
        return self.places[: bisect_left(self.limits, value)]

    def above(self, value: float) -> Sequence[Place]:
        return self.places[bisect_right(self.limits, value) :]


_NONE = _Bounds()


class ConfigIndex:
    """Configurations by event type, and thresholds of a metric by their limits."""

    def __init__(self, configs: Sequence[ConfigView]) -> None:
        """`configs` cover one project; an observation is compared with them in this order."""
        self.configs = configs
        self._places: Mapping[str, Place] = {config.id: place for place, config in enumerate(configs)}
        self._metrics: dict[EventType, set[Metric | None]] = {}
        self._always: dict[EventType, list[Place]] = {}
        """The configurations without a limit in `_bounds`."""
        bounds: dict[tuple[ThresholdOperator, str], list[tuple[float, Place]]] = {}
        for place, config in enumerate(configs):
            threshold, limit = config.metric_threshold, _limit(config)
            self._metrics.setdefault(config.event_type, set()).add(threshold.metric if threshold else None)
            if threshold is None or limit is None:
                self._always.setdefault(config.event_type, []).append(place)
            else:
                bounds.setdefault((threshold.operator, threshold.metric.value), []).append((limit, place))
        self._bounds = {key: _Bounds.of(pairs) for key, pairs in bounds.items()}

    def place(self, config_id: str, event_type: EventType) -> Place | None:
        """Return the place of a configuration of an event type; None if the index does not have it."""
        place = self._places.get(config_id)
        return place if place is not None and self.configs[place].event_type is event_type else None

    def metrics(self, observation: Observation) -> list[Metric | None]:
        """Return the metrics that alerts about the observation can be about; None means no metric."""
        asked = self._metrics.get(observation.event_type, set())
        return [metric for metric in asked if metric is None or metric.value in observation.samples]

    def beginning(self, observation: Observation) -> Iterator[Place]:
        """Yield the configurations under which it may start an alert or notify, in any order, each once.

        For every other configuration, `transition.step` does nothing unless there is an active alert.
        """
        if observation.condition in {Condition.ENDED, Condition.GONE}:
            return
        yield from self._always.get(observation.event_type, ())
        for metric, samples in observation.samples.items():
            if samples:
                value = mean_of(samples)
                yield from self._bound(ThresholdOperator.GREATER_THAN, metric).below(value)
                yield from self._bound(ThresholdOperator.LESS_THAN, metric).above(value)

    def _bound(self, operator: ThresholdOperator, metric: str) -> _Bounds:
        return self._bounds.get((operator, metric), _NONE)


def _limit(config: ConfigView) -> float | None:
    """Return the limit of a threshold on a metric; None if `transition.step` has to evaluate it."""
    if config.metric_threshold is None or config.event_type is not EventType.OUTSIDE_METRIC_THRESHOLD:
        return None
    try:
        return limit_of(config.metric_threshold)
    except (ValueError, ArithmeticError):
        return None  # `transition.step` raises it again
