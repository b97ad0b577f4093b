"""Notices of the console about projects, and the checklist of the set-up."""

from collections.abc import Collection, Iterator, Sequence

from django.urls import reverse

from accesslist.access import WRITE_PROJECT_ACCESS
from accesslist.roles.rules import INVITERS
from alerting.access import DISMISS_CHECKLIST, WRITE
from alerting.configs.models import AlertConfig
from alerting.configs.setup import MOST_NAMED, OverShare, UnwatchedProject, noticed_projects, setup_progress
from alerting.engine.share_counts import Dearest, dearest_of
from alerting.engine.usage_rules import SHARE_SECONDS
from automation.quantities import counted_words
from opsapi import clock
from opsapi.api.principal import Operator
from opsapi.console.admin_urls import add_url, creation_url, list_url, page_url, page_url_of
from opsapi.console.widgets import Cell, Checklist, Notice, Step
from opsapi.roles import IMPLIED, INSTALLATION, Role, Scope, role_names, satisfies_any

_NOBODY = "nobody is notified when a host is down."


def project_notices(operator: Operator, group_id: str | None) -> Iterator[Notice]:
    """Notices about the readable projects that nobody watches, or that use too much time of workers.

    One notice is about all projects that have hosts and no configuration for HOST_DOWN. `group_id`: only
    about this project.
    """
    visible_scope = operator.visible_scope()
    unwatched, over_share = noticed_projects(visible_scope, group_id, clock.now())
    if len(unwatched) == 1:
        yield _of_one(operator, unwatched[0])
    elif unwatched:
        yield _of_several(operator, unwatched)
    dearest = dearest_of(over_share, visible_scope)
    for over in over_share:
        yield _of_share(over, dearest)


def _of_one(operator: Operator, project: UnwatchedProject) -> Notice:
    text = f"{project.name} has {_hosts(project)}, and {_NOBODY}"
    if not _may_write(operator, project):
        return Notice(text)
    links = [
        Cell("Add presets", creation_url(AlertConfig, "presets", group=project.id)),
        Cell("Dismiss", creation_url(AlertConfig, "dismiss-host-down", group=project.id)),
    ]
    return Notice(text, links)


def _of_several(operator: Operator, projects: Sequence[UnwatchedProject]) -> Notice:
    first = projects[:MOST_NAMED]
    more = " These are the first by name:" if len(projects) > MOST_NAMED else ""
    text = f"Several projects have hosts, and {_NOBODY}{more}"
    return Notice(
        text, [Cell(f"{project.name} ({_hosts(project)})", _url(operator, project)) for project in first]
    )


def _url(operator: Operator, project: UnwatchedProject) -> str:
    """Where presets are added; the page of the project, if the user may not."""
    if _may_write(operator, project):
        return creation_url(AlertConfig, "presets", group=project.id)
    return page_url_of("accesslist.project", project.id)


def _hosts(project: UnwatchedProject) -> str:
    return counted_words(project.host_count, "host")


def _may_write(operator: Operator, project: UnwatchedProject) -> bool:
    return satisfies_any(operator.grants, WRITE.roles, Scope(project.org_id, project.id))


def _of_share(over: OverShare, dearest: Dearest) -> Notice:
    text = (
        f"{over.name} used more than {SHARE_SECONDS:.0f} s of the workers' time in a minute, which is more"
        " than its share. Its alerts and messages wait while other projects have work."
    )
    links = []
    if config := dearest.configs.get(over.config_id or ""):
        links.append(Cell(f"Alert configuration {config} took most of the time", page_url(config)))
    if window := dearest.windows.get(over.window_id or ""):
        links.append(Cell(f"Maintenance window {window} took most of the time", page_url(window)))
    return Notice(text, links)


def setup_checklist(operator: Operator) -> Checklist | None:
    """The checklist of the installation, for users who read everything and can do at least one step.

    None once all steps are done, or a Global owner has dismissed it. The second factor is the user's own.
    """
    if not operator.visible_scope().everything:
        return None
    may_agent, may_alert, may_dismiss = (
        satisfies_any(operator.grants, access.roles, INSTALLATION)
        for access in (WRITE_PROJECT_ACCESS, WRITE, DISMISS_CHECKLIST)
    )
    may_invite = operator.holds_somewhere(INVITERS)
    if not (may_agent or may_alert or may_invite):
        return None
    progress = setup_progress(str(operator.actor().id))
    if progress.is_dismissed:
        return None
    presets = creation_url(AlertConfig, "presets")
    add_agent = Cell("Add agent", add_url("automation.agent"))
    add_presets = Cell("Add presets", presets)
    send_test = Cell("Send a test", list_url(AlertConfig))
    invite = Cell("Invite", reverse("admin:accesslist_invitation_invite"))
    factor = Cell("Set up", reverse("account_second_factor"))
    keys, alerts = WRITE_PROJECT_ACCESS.roles, WRITE.roles
    steps = [
        _step("An agent has reported", progress.agent, add_agent, keys, may=may_agent),
        _step("An alert opens when a host is down", progress.watched, add_presets, alerts, may=may_alert),
        _step("A message was delivered", progress.tested, send_test, alerts, may=may_alert),
        _step("A second person has access", progress.second_person, invite, INVITERS, may=may_invite),
        Step(text="You log in with a second factor", is_done=progress.second_factor, link=factor),
    ]
    if all(step.is_done for step in steps):
        return None
    dismiss_url = creation_url(AlertConfig, "dismiss-checklist") if may_dismiss else ""
    return Checklist(title="Set-up", steps=steps, dismiss_url=dismiss_url)


def _step(text: str, is_done: bool, link: Cell, wanted: Collection[Role], *, may: bool) -> Step:
    """A step for operators with a `wanted` role; for others, the global roles that include such a role."""
    if may:
        return Step(text=text, is_done=is_done, link=link)
    enough = [role for role in Role if role.is_global and not IMPLIED[role].isdisjoint(wanted)]
    return Step(text=text, is_done=is_done, note=f"This needs the role {role_names(enough)}.")
