"""The configurations under which an observation may begin an alert, found without trying each. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from alerting.rules.observations import Condition, Observation
from alerting.rules.thresholds import ThresholdOperator, limit_of, mean_of
from alerting.rules.transition import ConfigView
from automation.metrics import Metric
from automation.units import UnitsMismatch
from events.types import EventType

Place = int
"""The place of a configuration among those of the index."""


@dataclass(slots=True)
class _Bounds:
    """The limits of one metric on one side, in its base unit and ascending, and whose limits they are."""

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


class ConfigIndex:
    """Configurations by event type, and thresholds of a metric by their limits."""

    def __init__(self, configs: Sequence[ConfigView]) -> None:
        """`configs` are those that cover a project, in the order in which they are to be held against it."""
        self.configs = configs
        self._places: Mapping[str, Place] = {config.id: place for place, config in enumerate(configs)}
        self._of_type: dict[EventType, list[Place]] = {}
        self._metrics: dict[EventType, set[Metric | None]] = {}
        self._tried: dict[EventType, list[Place]] = {}
        """Those with a threshold that no bound stands for."""
        bounds: dict[tuple[ThresholdOperator, str], list[tuple[float, Place]]] = {}
        for place, config in enumerate(configs):
            threshold = config.metric_threshold
            self._of_type.setdefault(config.event_type, []).append(place)
            self._metrics.setdefault(config.event_type, set()).add(threshold.metric if threshold else None)
            limit = _limit(config)
            if threshold is None or limit is None:
                self._tried.setdefault(config.event_type, []).append(place)
            else:
                bounds.setdefault((threshold.operator, threshold.metric.value), []).append((limit, place))
        self._bounds = {key: _Bounds.of(pairs) for key, pairs in bounds.items()}

    def place(self, config_id: str, event_type: EventType) -> Place | None:
        """The place of a configuration for an event type; None if it is not among those of the index."""
        place = self._places.get(config_id)
        return place if place is not None and self.configs[place].event_type is event_type else None

    def metrics(self, observation: Observation) -> list[Metric | None]:
        """The metrics that alerts about the observation can be about; None is for those without a metric."""
        asked = self._metrics.get(observation.event_type, set())
        return [metric for metric in asked if metric is None or metric.value in observation.samples]

    def beginning(self, observation: Observation) -> Iterator[Place]:
        """The configurations under which it may begin an alert or be told, in any order, each once.

        For every other one `transition.step` has nothing to do, unless there is an alert already.
        """
        if observation.condition in {Condition.ENDED, Condition.GONE}:
            return
        if observation.condition is not Condition.MEASURED:
            yield from self._of_type.get(observation.event_type, ())
            return
        yield from self._tried.get(observation.event_type, ())
        if observation.event_type is not EventType.OUTSIDE_METRIC_THRESHOLD:
            return
        for metric, samples in observation.samples.items():
            if not samples:
                continue
            value = mean_of(samples)
            if over := self._bounds.get((ThresholdOperator.GREATER_THAN, metric)):
                yield from over.below(value)
            if under := self._bounds.get((ThresholdOperator.LESS_THAN, metric)):
                yield from under.above(value)


def _limit(config: ConfigView) -> float | None:
    """The limit of a threshold on a metric; None where `transition.step` has to judge."""
    if config.metric_threshold is None or config.event_type is not EventType.OUTSIDE_METRIC_THRESHOLD:
        return None
    try:
        return limit_of(config.metric_threshold)
    except UnitsMismatch:
        return None  # and says what is wrong with it
