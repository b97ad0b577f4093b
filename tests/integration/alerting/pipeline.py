"""The pipeline run by hand, with a stand-in for the outside."""

from datetime import datetime

from alerting.answering import Answering
from alerting.models import Alert, AlertConfig
from alerting.pipeline import deliver_due, evaluate_signals
from integrations.choices import ChannelType, DeliveryStatus, MessageKind
from integrations.delivery import Outcome
from integrations.messages import Message
from opsapi import clock


class Outside:
    """Stands at the seam to the outside: keeps what was sent, answers what it is told."""

    def __init__(self) -> None:
        self.sent: list[tuple[ChannelType, dict[str, str], Message]] = []
        self.outcome = Outcome(DeliveryStatus.DELIVERED, None, 7)

    def deliver(
        self, channel: ChannelType, config: dict[str, str], message: Message, *, now: datetime
    ) -> Outcome:
        """In place of `integrations.delivery.deliver`."""
        self.sent.append((channel, config, message))
        return self.outcome

    @property
    def kinds(self) -> list[MessageKind]:
        """What was told, in order."""
        return [message.kind for _, _, message in self.sent]


def evaluate(now: datetime | None = None) -> None:
    """Evaluate everything there is."""
    for _ in range(1000):
        if not evaluate_signals(now=now or clock.now()):
            return
    raise AssertionError("evaluating brings forth signals without end")


def deliver_one(now: datetime | None = None) -> bool:
    """Deliver what is due longest, knowing of no receiver; answers whether anything was due."""
    return deliver_due(clock=lambda: now or clock.now(), answering=Answering())


def deliver_all(now: datetime | None = None) -> int:
    """Deliver everything that is due; answers how many claims there were."""
    count = 0
    while deliver_one(now):
        count += 1
    return count


def statuses(config: AlertConfig) -> list[str]:
    """The states of a configuration's alerts, oldest first."""
    return list(
        Alert.objects.filter(config_id=config.id).order_by("created", "id").values_list("status", flat=True)
    )
