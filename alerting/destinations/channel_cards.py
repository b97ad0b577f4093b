"""The channels of projects as cards: their state, what they delivered in a day, and how many rules use them.

Each read is limited, so the page costs the same in an installation with many projects and messages.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from django.conf import settings
from django.db.models import Count, F, Q, QuerySet

from accesslist.models import Project
from alerting.configs.choices import PeopleType
from alerting.configs.models import NotificationSetting
from alerting.destinations.models import Destination
from alerting.engine.choices import NotificationStatus
from integrations.channels import CHANNELS
from integrations.channels.email import EMAIL
from integrations.channels.sms import SMS
from integrations.choices import ChannelType
from integrations.mail_settings import mail_server_is_set, mail_server_url
from integrations.models import Integration
from integrations.types import INTEGRATION_TYPES, SCRAPER
from opsapi.api.principal import VisibleScope
from opsapi.console.widgets import Tone
from opsapi.first_rows import in_visible_scope
from opsapi.sql import fetch_rows

DAY: Final = timedelta(days=1)
MOST_CARDS: Final = 60
MOST_DESTINATIONS: Final = 2_000
"""The most destinations that are read: failing ones first, then the last used."""
MOST_MESSAGES: Final = 20_000
"""The most messages of the last day that are counted, the newest."""

_ADDRESSED = [channel.type for channel in CHANNELS.values() if channel.has_address]


@dataclass(frozen=True, slots=True)
class DayFigures:
    """The messages of a channel in the last day. 95 % of the accepted messages took at most `p95_ms`."""

    delivered: int = 0
    failed: int = 0
    p95_ms: int | None = None

    @property
    def count(self) -> int:
        return self.delivered + self.failed

    @property
    def share(self) -> str:
        """The share that was accepted; 100 % only if all were."""
        percent = 100 * self.delivered / self.count
        return f"{percent:.0f} %" if percent < 99 or not self.failed else f"{min(percent, 99.9):.1f} %"

    @property
    def time(self) -> str:
        if self.p95_ms is None:
            return "–"
        return f"{self.p95_ms} ms" if self.p95_ms < 1_000 else f"{self.p95_ms / 1000:.1f} s"


@dataclass(frozen=True, slots=True)
class ChannelHealth:
    """The destinations of a channel together."""

    count: int = 0
    failing: int = 0
    slowed: int = 0
    failing_since: datetime | None = None
    last_error: str = ""
    answered: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelCard:
    """A service of a project, or e-mail or SMS of the installation.

    `integration`: its stored credentials; None if only notifications have credentials. `setup`: why it
    cannot send, or does not send at all.
    """

    type: str
    label: str
    group: Project | None = None
    integration: Integration | None = None
    address: str = ""
    setup: str = ""
    health: ChannelHealth = field(default_factory=ChannelHealth)
    day: DayFigures = field(default_factory=DayFigures)
    rules: int = 0

    @property
    def key(self) -> str:
        return f"{self.group.id if self.group else ''}:{self.type}"

    @property
    def sends(self) -> bool:
        return self.integration is None or is_receiver(self.integration)

    @property
    def proof(self) -> datetime | None:
        """When it last accepted a message or a test."""
        moments = (self.health.answered, self.integration.tested if self.integration else None)
        return max((moment for moment in moments if moment), default=None)

    @property
    def failed_test(self) -> tuple[datetime, str] | None:
        """When and why it did not accept the last test; None if it accepted anything since.

        An accepted test removes the failed test, so only the time of an accepted message is compared.
        """
        stored, answered = self.integration, self.health.answered
        if stored is None or stored.test_failed is None or (answered and answered > stored.test_failed):
            return None
        return stored.test_failed, stored.test_error or ""

    @property
    def is_changed(self) -> bool:
        """Whether its credentials changed since it last accepted anything."""
        return bool(self.integration and self.proof and self.proof < self.integration.updated)

    @property
    def state(self) -> tuple[str, Tone]:
        """The state in words; never good because nothing is known."""
        if not self.sends:
            return "not a receiver", Tone.PLAIN
        problems = (
            (self.health.failing, "failing", Tone.BAD),
            (self.failed_test, "test failed", Tone.BAD),
            (self.setup, "not set up", Tone.WARNING),
            (self.health.slowed, "slowed down", Tone.WARNING),
        )
        for applies, words, tone in problems:
            if applies:
                return words, tone
        if self.proof is None:
            return "not tried yet", Tone.PLAIN
        return ("changed since", Tone.PLAIN) if self.is_changed else ("healthy", Tone.GOOD)


@dataclass(frozen=True, slots=True)
class ChannelCards:
    """The cards of the installation, and of each project by name; `notes` say what is left out."""

    shared: Sequence[ChannelCard]
    projects: Sequence[tuple[Project, Sequence[ChannelCard]]]
    notes: Sequence[str] = ()


class ChannelPlace(NamedTuple):
    """A channel of a project; the project is None for e-mail and SMS."""

    group_id: str | None
    channel: str


def channel_cards(visible_scope: VisibleScope, now: datetime) -> ChannelCards:
    """Read the cards of the projects in reach."""
    integrations = _integrations(visible_scope)
    destinations = _destinations(visible_scope)
    health = _health(destinations)
    places = {ChannelPlace(row.group_id, row.type): row for row in integrations[:MOST_CARDS]}
    named = [place for place in health if place.group_id and place not in places]
    places_shown = [*places, *sorted(named)][:MOST_CARDS]
    group_ids = {place.group_id for place in places_shown if place.group_id}
    groups = Project.objects.in_bulk(list(group_ids))
    figures, is_cut = _figures(visible_scope, now)
    rules = _rules(visible_scope)
    cards = [
        ChannelCard(
            type=place.channel,
            label=INTEGRATION_TYPES[place.channel].label,
            group=groups[place.group_id or ""],
            integration=places.get(place),
            health=health.get(place, ChannelHealth()),
            day=figures.get(place, DayFigures()),
            rules=rules.get(place, 0),
        )
        for place in places_shown
        if place.group_id in groups
    ]
    by_project: dict[str, list[ChannelCard]] = defaultdict(list)
    for card in sorted(cards, key=lambda card: card.label):
        by_project[card.group.id if card.group else ""].append(card)
    ordered = sorted(groups.values(), key=lambda group: (group.name, group.id))
    return ChannelCards(
        _shared(health, figures, rules),
        [(group, by_project[group.id]) for group in ordered],
        _notes(
            len(integrations) > MOST_CARDS or len({*places, *named}) > len(places_shown),
            len(destinations) >= MOST_DESTINATIONS,
            is_cut,
        ),
    )


def _shared(
    health: Mapping[ChannelPlace, ChannelHealth],
    figures: Mapping[ChannelPlace, DayFigures],
    rules: Mapping[ChannelPlace, int],
) -> list[ChannelCard]:
    """E-mail, and SMS if it is set up or was used."""
    mail, text = ChannelPlace(None, EMAIL.type), ChannelPlace(None, SMS.type)
    cards = [
        ChannelCard(
            type=EMAIL.type,
            label=EMAIL.label,
            address=mail_server_url(),
            # The default mail server may well accept messages.
            setup="" if mail_server_is_set() or mail in health else "No mail server is set.",
            health=health.get(mail, ChannelHealth()),
            day=figures.get(mail, DayFigures()),
            rules=rules.get(mail, 0),
        )
    ]
    if settings.OPSAPI_SMS_ACCOUNT or text in health:
        cards.append(
            ChannelCard(
                type=SMS.type,
                label=SMS.label,
                address=settings.OPSAPI_SMS_BASE_URL,
                setup="" if settings.OPSAPI_SMS_ACCOUNT else "SMS is not configured in this installation.",
                health=health.get(text, ChannelHealth()),
                day=figures.get(text, DayFigures()),
                rules=rules.get(text, 0),
            )
        )
    return cards


def _notes(cards_cut: bool, destinations_cut: bool, messages_cut: bool) -> list[str]:
    notes = []
    if cards_cut:
        notes.append(f"This page shows {MOST_CARDS} channels. Choose a project to see its channels.")
    if destinations_cut:
        notes.append(f"The states are of the {MOST_DESTINATIONS:,} destinations that fail or were used last.")
    if messages_cut:
        notes.append(f"The figures of the last 24 h count only the newest {MOST_MESSAGES:,} messages.")
    return notes


def _integrations(visible_scope: VisibleScope) -> list[Integration]:
    rows = in_visible_scope(Integration.objects.filter(group__deleted=None), visible_scope)
    return list(rows.defer("secrets").order_by("group__name", "created", "id")[: MOST_CARDS + 1])


def _destinations(visible_scope: VisibleScope) -> list[Destination]:
    """The failing destinations in reach, then the last used."""
    rows = in_visible_scope(Destination.objects.filter(Q(group=None) | Q(group__deleted=None)), visible_scope)
    if not visible_scope.everything:
        rows = rows.filter(is_global=False)
    ordered = rows.defer("config").order_by(F("failing_since").desc(nulls_last=True), "-updated", "id")
    return list(ordered[:MOST_DESTINATIONS])


def _place(group_id: str | None, channel: str) -> ChannelPlace:
    return ChannelPlace(None if channel in _ADDRESSED else group_id, channel)


def _health(destinations: Iterable[Destination]) -> dict[ChannelPlace, ChannelHealth]:
    by_place: dict[ChannelPlace, list[Destination]] = defaultdict(list)
    for row in destinations:
        if row.channel in CHANNELS:
            by_place[_place(row.group_id, row.channel)].append(row)
    return {place: _of(rows) for place, rows in by_place.items()}


def _of(rows: Sequence[Destination]) -> ChannelHealth:
    failing = [row for row in rows if row.failures]
    since = [row.failing_since for row in failing if row.failing_since]
    return ChannelHealth(
        count=len(rows),
        failing=len(failing),
        slowed=sum(1 for row in rows if row.pace_ms and not row.failures),
        failing_since=min(since, default=None),
        last_error=next((row.last_error for row in failing if row.last_error), ""),
        answered=max((row.answered for row in rows if row.answered), default=None),
    )


_FIGURES = """
WITH newest AS MATERIALIZED (
    SELECT group_id, channel, status, latency_ms, destination
      FROM alerting_notification
     WHERE created >= %(since)s
     ORDER BY created DESC, sequence DESC
     LIMIT %(most)s
)
SELECT CASE WHEN newest.channel = ANY(%(addressed)s) THEN NULL ELSE newest.group_id END, newest.channel,
       count(*) FILTER (WHERE status = %(delivered)s),
       count(*) FILTER (WHERE status = %(failed)s),
       percentile_disc(0.95) WITHIN GROUP (ORDER BY newest.latency_ms)
           FILTER (WHERE status = %(delivered)s)
  FROM newest LEFT JOIN alerting_destination AS destination ON destination.id = newest.destination
 WHERE newest.channel IS NOT NULL AND newest.status IN (%(delivered)s, %(failed)s)
   AND (%(everything)s OR newest.group_id = ANY(%(groups)s) AND destination.is_global IS FALSE)
 GROUP BY 1, 2
UNION ALL
SELECT NULL, NULL, count(*), 0, NULL FROM newest
"""


def _figures(visible_scope: VisibleScope, now: datetime) -> tuple[dict[ChannelPlace, DayFigures], bool]:
    """The messages of the last day by channel, and whether there were more than are counted."""
    rows = fetch_rows(
        _FIGURES,
        {
            "since": now - DAY,
            "most": MOST_MESSAGES,
            "addressed": list(_ADDRESSED),
            "delivered": NotificationStatus.DELIVERED.value,
            "failed": NotificationStatus.FAILED.value,
            "everything": visible_scope.everything,
            "groups": sorted(visible_scope.group_ids),
        },
    )
    read = next(count for _, channel, count, _, _ in rows if channel is None)
    figures = {
        ChannelPlace(group_id, channel): DayFigures(delivered, failed, p95)
        for group_id, channel, delivered, failed, p95 in rows
        if channel is not None
    }
    return figures, read >= MOST_MESSAGES


_PEOPLE = [people.value for people in PeopleType]


def _rules(visible_scope: VisibleScope) -> dict[ChannelPlace, int]:
    """The number of rules of projects that notify by each channel, as the filter of their list counts."""
    rows: QuerySet[NotificationSetting] = NotificationSetting.objects.filter(config__deleted=None)
    if not visible_scope.everything:
        rows = rows.filter(config__group_id__in=visible_scope.group_ids)
    by_channel = (
        rows.exclude(type_name__in=[*_PEOPLE, *_ADDRESSED])
        .order_by()
        .values_list("config__group_id", "type_name")
        .annotate(Count("config_id", distinct=True))
    )
    counted = {
        ChannelPlace(group_id, type_name): count for group_id, type_name, count in by_channel if group_id
    }
    return counted | {
        ChannelPlace(None, channel): _addressed_rules(rows, channel, flag)
        for channel, flag in ((EMAIL.type, "emailEnabled"), (SMS.type, "smsEnabled"))
    }


def _addressed_rules(rows: QuerySet[NotificationSetting], channel: ChannelType, flag: str) -> int:
    of_people = Q(type_name__in=_PEOPLE, **{f"fields__{flag}": True})
    return rows.filter(of_people | Q(type_name=channel)).values("config_id").distinct().count()


def is_receiver(integration: Integration) -> bool:
    """Whether messages are sent with its credentials: Prometheus only asks."""
    return integration.type != SCRAPER.type
