"""The page Plan: how far the agents are with the automation configuration of a project."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accesslist.models import Project
from automation.desired_state.models import AutomationRevision
from automation.desired_state.resource import shown_name
from automation.desired_state.store import newest_revision, revision_at
from automation.turns.console import SET_WIZARD
from automation.turns.models import PlanTurn
from automation.turns.progress import ProcessLine, moment_words, move_words, moves_words, process_lines
from automation.turns.resource import AutomationStatusDocument
from automation.turns.store import automation_status, stops_of, turns_held
from opsapi import clock
from opsapi.api.principal import VisibleScope
from opsapi.clock import ago_words, time_words
from opsapi.console.actions import operator_of
from opsapi.console.admin_urls import action_url, creation_url, page_url
from opsapi.console.display import Context, cut
from opsapi.console.model_admin import live_context
from opsapi.console.project_choice import chosen_project
from opsapi.console.widgets import Tone
from opsapi.fields import Among
from opsapi.first_rows import first_rows, more_words
from opsapi.roles import Scope

_MOST: Final = 200
"""The most processes on the page."""


@dataclass(frozen=True, slots=True)
class StopLine:
    """A move that failed and stopped the plan of its replica set."""

    process: str
    replica_set: str
    words: str
    step: str
    reason: str
    since: str


@dataclass(frozen=True, slots=True)
class TurnLine:
    """A turn that an agent holds."""

    subject: str
    process: str
    hostname: str
    words: str
    step: str
    since: str


@never_cache
@require_safe
def plan_page(request: HttpRequest) -> HttpResponse:
    """Show the plan of the chosen project, or the projects with an automation configuration."""
    scope = operator_of(request).visible_scope()
    project = _project(request, scope)
    context = {**admin.site.each_context(request), "title": "Plan"}
    if project is None:
        configured = Project.objects.filter(deleted=None, id__in=AutomationRevision.objects.values("group"))
        visible = first_rows(
            (configured if scope.everything else configured.filter(Among("id", scope.group_ids))).order_by(
                "name", "id"
            )
        )
        pages: Any = admin.site.get_model_admin(AutomationRevision)
        about = {"projects": visible, "row_actions": _wizard(request, pages)}
        return TemplateResponse(request, "console/plan_projects.html", {**context, **about})
    now = clock.now()
    about = {"project": project, "live": live_context(request), **plan_context(request, project.pk, now)}
    return TemplateResponse(request, "console/plan.html", {**context, **about})


def _project(request: HttpRequest, scope: VisibleScope) -> Any:
    """The chosen project, if the operator can read it."""
    project = chosen_project(request)
    is_visible = project is not None and (scope.everything or project.pk in scope.group_ids)
    return project if is_visible else None


def plan_context(request: HttpRequest, group_id: str, now: datetime) -> Context:
    """Return the progress of the plan, and what the operator can do."""
    pages: Any = admin.site.get_model_admin(AutomationRevision)
    revision, wizard = newest_revision(group_id), _wizard(request, pages, group_id)
    if revision is None:
        return {"revision": None, "row_actions": wizard}
    status = automation_status(group_id, now)
    lines = process_lines(AutomationStatusDocument.of_status(status, []), now)
    first_lines, left_out = cut(lines, _MOST)
    reached = sum(process.goal_version == status.version for process in status.processes)
    is_whole = reached == len(status.processes)
    stops = [_stop(stop, now) for stop in stops_of(group_id, status.version)]
    return {
        "revision": revision,
        "revision_url": page_url(revision),
        "state": f"{reached} of {len(lines)} processes have reached version {status.version}",
        "moves": moves_words(lines),
        "tone": (Tone.BAD if stops else Tone.GOOD if lines and is_whole else Tone.INFO).value,
        "pause": f"since {time_words(status.pause.since)}, by {status.pause.actor_name or 'nobody known'}"
        if status.pause
        else "",
        "stops": stops,
        "turns": [_turn(turn, lines, now) for turn in turns_held(group_id, now)],
        "processes": first_lines,
        "more": more_words(left_out),
        "row_actions": [*pages.row_actions(request, revision), *wizard],
        "before": _before(request, revision, pages),
    }


def _wizard(request: HttpRequest, pages: Any, group_id: str = "") -> list[Context]:
    """The button of the wizard of a replica set, if the operator may publish in the project.

    Without a project: in any project.
    """
    action, operator = pages.list_actions[SET_WIZARD], operator_of(request)
    if group_id:
        is_allowed = action.is_allowed(operator, None, Scope(group_id=group_id))
    else:
        is_allowed = action.is_allowed_somewhere(operator)
    url = creation_url(AutomationRevision, SET_WIZARD, group=group_id)
    return [{"action": action, "url": url}] if is_allowed else []


def _before(request: HttpRequest, revision: AutomationRevision, pages: Any) -> Context | None:
    """The page that restores the version before, if the operator may restore it."""
    before = revision_at(revision.number - 1, group_id=revision.group_id)
    names = {link["action"] for link in pages.row_actions(request, before)} if before else set()
    if before is None or pages.actions_of_row["restore"] not in names:
        return None
    return {"number": before.number, "url": action_url(AutomationRevision, before.pk, "restore")}


def _stop(stop: PlanTurn, now: datetime) -> StopLine:
    return StopLine(
        process=shown_name(stop.process),
        replica_set=shown_name(stop.replica_set),
        words=move_words(stop.move),
        step=stop.step or "",
        reason=shown_name(stop.reason or ""),
        since=ago_words(stop.ended or stop.granted, now),
    )


def _turn(turn: PlanTurn, lines: Sequence[ProcessLine], now: datetime) -> TurnLine:
    """The turn. Its move has the words of the plan of its process, which say more than its kind."""
    process = shown_name(turn.process)
    running = [move.words for line in lines if line.name == process for move in line.moves if move.is_running]
    return TurnLine(
        subject=shown_name(turn.replica_set or turn.process),
        process=process,
        hostname=turn.hostname,
        words=running[0] if running else move_words(turn.move),
        step=turn.step or "",
        since=moment_words(turn.granted, now),
    )


_guarded: Callable[..., HttpResponse] = admin.site.admin_view(plan_page)

urlpatterns = [path("", _guarded, name="automation_plan")]
