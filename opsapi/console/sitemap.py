"""The sitemap: the entries of the navigation, and the pages of each. Titles and breadcrumbs use its words."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from opsapi.console.admin_urls import name_of
from opsapi.roles import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePage:
    """A page of an entry: the list of a model, or a page without a list.

    `model`: the label of the model. `url_name`: the name of the URL of a page without a list, which belongs
    to the whole installation; `role` sees it, and `help` is its document and heading, below `docs/`.
    `action`: the page is the form of this one of the model's `list_actions`. `sort`: the list, with the
    greatest values of this column first. `is_tab`: False for lists to which only other pages link.
    """

    title: str
    model: str = ""
    action: str = ""
    sort: str = ""
    url_name: str = ""
    role: Role | None = None
    help: str = ""
    is_tab: bool = True

    @property
    def is_list(self) -> bool:
        """Whether the page is the list of its model as it is without parameters."""
        return bool(self.model) and not self.action and not self.sort


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapEntry:
    """An entry of the navigation. It leads to the first of its pages that the operator can see.

    `icon`: a name of Material Symbols. `key`: the letter that goes to it after `g`.
    """

    title: str
    icon: str
    key: str
    pages: tuple[SitePage, ...]


HOME = SitemapEntry(
    title="Home", icon="space_dashboard", key="h", pages=(SitePage(title="Home", url_name="admin:index"),)
)
ENTRIES = (
    HOME,
    SitemapEntry(
        title="Alerts",
        icon="notifications_active",
        key="a",
        pages=(
            SitePage(title="Alerts", model="alerting.alert"),
            SitePage(title="Timeline", url_name="alert_timeline", help="how-to/use-the-console#alerts"),
        ),
    ),
    SitemapEntry(
        title="Fleet",
        icon="dns",
        key="f",
        pages=(
            SitePage(title="Hosts", model="automation.host"),
            SitePage(title="Replica sets", model="automation.replicaset"),
            SitePage(title="Clusters", model="automation.cluster"),
            SitePage(title="Agents", model="automation.agent"),
            SitePage(title="Databases", model="automation.database", is_tab=False),
        ),
    ),
    SitemapEntry(
        title="Rules",
        icon="rule_settings",
        key="r",
        pages=(
            SitePage(title="Rules", model="alerting.alertconfig"),
            SitePage(title="Presets", model="alerting.alertconfig", action="presets"),
            SitePage(title="Noise", model="alerting.alertconfig", sort="per_week"),
            SitePage(title="Recipients", model="alerting.notificationsetting", is_tab=False),
        ),
    ),
    SitemapEntry(
        title="Quiet times",
        icon="notifications_off",
        key="q",
        pages=(
            SitePage(title="Quiet times", url_name="quiet_times", help="how-to/use-the-console#quiet-times"),
            SitePage(title="Windows", model="alerting.maintenancewindow"),
        ),
    ),
    SitemapEntry(
        title="Channels",
        icon="send",
        key="c",
        pages=(
            SitePage(title="Channels", url_name="channels", help="how-to/use-the-console#channels"),
            SitePage(title="Destinations", model="alerting.destination"),
            SitePage(title="Deliveries", model="alerting.notification"),
            SitePage(
                title="Mail server",
                url_name="mail_server",
                role=Role.GLOBAL_OWNER,
                help="channels/email",
            ),
            SitePage(title="Unreachable hosts", model="alerting.unreachablehost"),
            SitePage(title="Services", model="integrations.integration", is_tab=False),
            SitePage(title="Attempts", model="alerting.notificationattempt", is_tab=False),
        ),
    ),
    SitemapEntry(
        title="Changes",
        icon="history_edu",
        key="e",
        pages=(
            SitePage(title="Changes", model="events.event"),
            SitePage(title="Shift report", url_name="shift_report", help="how-to/use-the-console#changes"),
        ),
    ),
    SitemapEntry(
        title="Automation",
        icon="memory",
        key="u",
        pages=(
            SitePage(title="Revisions", model="automation.automationrevision"),
            SitePage(title="Plan", url_name="automation_plan", help="how-to/use-the-console#automation"),
            SitePage(title="Processes", model="automation.processstatus"),
        ),
    ),
    SitemapEntry(
        title="People & access",
        icon="groups",
        key="p",
        pages=(
            SitePage(title="People", model="accesslist.user"),
            SitePage(title="Invitations", model="accesslist.invitation"),
            SitePage(title="Teams", model="accesslist.team"),
            SitePage(title="Keys", model="accesslist.apikey"),
            SitePage(title="Kiosks", model="accesslist.kiosk"),
            SitePage(title="Access lists", model="accesslist.accesslistentry"),
            SitePage(title="Projects", model="accesslist.project"),
            SitePage(title="Organizations", model="accesslist.organization"),
            SitePage(title="Second factors", model="accesslist.secondfactor"),
            SitePage(title="Roles", model="accesslist.rolegrant", is_tab=False),
        ),
    ),
    SitemapEntry(
        title="System health",
        icon="engineering",
        key="s",
        pages=(
            SitePage(
                title="System health",
                url_name="system_health",
                role=Role.GLOBAL_READ_ONLY,
                help="how-to/use-the-console#system-health",
            ),
            SitePage(
                title="Retention",
                url_name="retention",
                role=Role.GLOBAL_READ_ONLY,
                help="how-to/use-the-console#system-health",
            ),
            SitePage(title="Workers", model="alerting.workerheartbeat", is_tab=False),
            SitePage(title="Signals", model="events.signal", is_tab=False),
            SitePage(title="Fleet watch", model="automation.fleetwatch", is_tab=False),
            SitePage(title="Report answers", model="automation.reportanswer", is_tab=False),
            SitePage(title="Evaluation turns", model="alerting.evaluationturn", is_tab=False),
            SitePage(title="Counters of attempts", model="accesslist.ratewindow", is_tab=False),
            SitePage(title="Watchers", model="automation.watcher", is_tab=False),
            SitePage(title="Leases of hosts", model="automation.hostlease", is_tab=False),
            SitePage(title="Digest epochs", model="accesslist.digestepoch", is_tab=False),
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapPlace:
    """Where a page is in the sitemap."""

    entry: SitemapEntry
    page: SitePage


@cache
def _places() -> Mapping[str, SitemapPlace]:
    """The place of each list and page, by the beginning of the names of its URLs."""
    return {
        name_of(page.model) if page.model else page.url_name.removeprefix("admin:"): SitemapPlace(
            entry=entry, page=page
        )
        for entry in ENTRIES
        for page in entry.pages
        if page.is_list or page.url_name
    }


def place_of_url(url_name: str) -> SitemapPlace | None:
    """Return the place of the page with this URL name; None for pages outside the sitemap."""
    return next((place for name, place in _places().items() if f"{url_name}_".startswith(f"{name}_")), None)


def place_of_model(model: str) -> SitemapPlace:
    """Return the place of a model's list. `model` is its label, such as `automation.host`."""
    return _places()[name_of(model)]


def page_links() -> list[SitePage]:
    """Return the pages without a list that have a document of their own."""
    return [page for entry in ENTRIES for page in entry.pages if page.help]
