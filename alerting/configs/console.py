"""Alert configurations in the console."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ORDER_VAR
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.defaultfilters import linebreaksbr
from django.template.response import SimpleTemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accesslist.models import Project
from alerting.access import DISMISS_CHECKLIST, WRITE, WRITE_GLOBAL
from alerting.configs.address_links import address_links
from alerting.configs.bulk_forms import BulkRulesForm, bulk_read
from alerting.configs.changes import (
    alert_config_create,
    alert_config_delete,
    alert_config_replace,
    alert_config_set_enabled,
    alert_config_update,
)
from alerting.configs.forms import (
    ConfigForm,
    CopyForm,
    NewConfigForm,
    NotificationChoice,
    TestNotificationForm,
    destinations_of,
)
from alerting.configs.inputs import event_types
from alerting.configs.models import AlertConfig, NotificationSetting
from alerting.configs.notice_forms import DismissForm
from alerting.configs.notification_tests import NotificationTest, alert_config_test
from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.configs.preset_configs import presets_create
from alerting.configs.preset_forms import PresetsForm
from alerting.configs.preset_part import added_words
from alerting.configs.recipients import unreachable
from alerting.configs.rule_cells import destination_chips, rule_title, team_names
from alerting.configs.rule_lines import rule_lines
from alerting.configs.setup import checklist_dismiss, host_down_notice_dismiss
from alerting.configs.store import config_audits, config_view
from alerting.configs.wording import condition_words
from alerting.incidents.models import Alert
from alerting.incidents.presentation import SeverityFilter, alert_badge, severity_badge
from alerting.incidents.store import active_first_rows
from alerting.incidents.targets import targets_of
from alerting.insight.host_explanations import explain_config
from alerting.insight.noise import days_words, noise_figures, noise_sentences
from alerting.insight.noise_counts import (
    FIGURES,
    NOISE_SECONDS,
    NoiseOrder,
    NoiseUnknownError,
    alerts_per_day,
    noise_of,
    noise_within_time,
)
from alerting.insight.questions import HostQuestion
from alerting.insight.threshold_suggestions import with_suggested_threshold
from alerting.severities import SEVERITY_RANK
from alerting.windows.store import muting_windows
from automation.metrics import Metric, metrics_with
from automation.quantities import counted_words
from events.types import EVENT_TYPES, EventType
from events.wording import acting, in_words, names_with, target_words
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.permissions import Access, Where
from opsapi.clock import time_words
from opsapi.console.actions import Action, ActionCall, ActionOutcome, operator_of
from opsapi.console.admin_urls import action_url, list_url, page_url
from opsapi.console.changelist import containing
from opsapi.console.display import EMPTY, Context, badge, json_field, link, named, project
from opsapi.console.document_forms import ADD
from opsapi.console.filters import ChoiceFilter, RelatedFilter
from opsapi.console.forms import the_only
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.sparkline import sparkline
from opsapi.console.widgets import Tone
from opsapi.first_rows import first_rows, more_words

__all__ = ["AlertConfigAdmin", "NotificationSettingAdmin"]


def _access(config: AlertConfig | None) -> Access:
    """As the API route for this kind of configuration."""
    return WRITE_GLOBAL if config is not None and config.group_id is None else WRITE


def _create(call: ActionCall) -> ActionOutcome:
    values, tests = _tests_next(call.values)
    config = alert_config_create(**values, actor=call.actor, now=call.now)
    return ActionOutcome(row=config, warnings=_warnings(config), url=_test_url(config) if tests else "")


def _tests_next(values: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """The input without the question whether to test the notifications next, and the answer."""
    rest = dict(values)
    return rest, rest.pop(ConfigForm.then_test)


def _test_url(config: AlertConfig, added: Sequence[str] = ()) -> str:
    """The test of the notifications, which preselects the added notification if it is the only one."""
    return action_url(AlertConfig, config.pk, "test", notification=the_only(added) or "")


def _add_presets(call: ActionCall) -> ActionOutcome:
    values = dict(call.values)
    next_url = values.pop("next_url")
    done = presets_create(**values, actor=call.actor, now=call.now)
    warnings = [warning for config in done.created for warning in _warnings(config)]
    return ActionOutcome(message=added_words(done), warnings=warnings, url=next_url)


def _dismiss_host_down(call: ActionCall) -> ActionOutcome:
    dismissed: Project = call.values["group"]
    host_down_notice_dismiss(group_id=dismissed.id, actor=call.actor, now=call.now)
    message = f"The notice about {dismissed.name} was dismissed."
    return ActionOutcome(message=message, url=page_url(dismissed))


def _dismiss_checklist(call: ActionCall) -> ActionOutcome:
    checklist_dismiss(actor=call.actor, now=call.now)
    return ActionOutcome(message="The checklist was dismissed.", url=reverse("admin:index"))


def _change(call: ActionCall) -> ActionOutcome:
    values, tests = _tests_next(call.values)
    before = _notification_ids(call.row)
    alert_config_replace(config=call.row, **values, actor=call.actor, now=call.now)
    added = sorted(_notification_ids(call.row) - before)
    return ActionOutcome(warnings=_warnings(call.row), url=_test_url(call.row, added) if tests else "")


def _notification_ids(config: AlertConfig) -> set[str]:
    return set(NotificationSetting.objects.filter(config=config).values_list("id", flat=True))


def _switch(call: ActionCall, *, enabled: bool) -> ActionOutcome:
    alert_config_set_enabled(config=call.row, enabled=enabled, actor=call.actor, now=call.now)
    return ActionOutcome(warnings=_warnings(call.row))


def _change_together(call: ActionCall) -> ActionOutcome:
    edit, updated = call.values["edit"], call.values["updated"][call.row.id]
    read = partial(bulk_read, edit, updated)
    try:
        alert_config_update(config=call.row, read=read, actor=call.actor, now=call.now)
    except ApiError as refusal:
        note = f"This is about the rule {call.row}. No rule was changed."
        raise ApiError(refusal.code, *refusal.parameters, note=note) from None
    return ActionOutcome(warnings=_warnings(call.row))


def _test(call: ActionCall) -> ActionOutcome:
    destinations = {destination.id: destination for destination in destinations_of(call.row)}
    chosen = call.values["notification_id"]
    tests = alert_config_test(config=call.row, notification_id=chosen, actor=call.actor, now=call.now)
    context = {
        "title": "Test results",
        "tests": [
            (
                destinations.get(test.setting.id),
                test,
                _merged_words(test, destinations),
                address_links(test.outcome.reason),
            )
            for test in tests
        ],
        "delivered": sum(test.is_delivered for test in tests),
        "again_url": action_url(AlertConfig, call.row.pk, "test", notification=chosen or ""),
    }
    return ActionOutcome(row=call.row, template="console/alert_config_tested.html", context=context)


def _merged_words(test: NotificationTest, destinations: Mapping[str, NotificationChoice]) -> str:
    """Which notifications sent the message of a notification; empty if it sent its messages itself."""
    # A notification may have been removed in the meantime.
    numbers = [destinations[sender.id].number for sender in test.merged_into if sender.id in destinations]
    if not numbers:
        return ""
    senders = f"notification{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
    if test.is_partly_merged:
        return f"Addresses shared with {senders} got one message."
    return f"Merged into the message of {senders} to the same address."


def _warnings(config: AlertConfig) -> Sequence[str]:
    produced = EVENT_TYPES[EventType(config.event_type)].produced
    of_type = [] if produced else [f"Nothing makes {config.event_type} events."]
    without_recipients = (
        format_html("Notification {}: {}. {}", place + 1, why, address_links(why))
        for place, why in unreachable(config).items()
    )
    return [*of_type, *without_recipients]


NEW = Action(
    label="New rule",
    done="Created",
    text="If the condition is already met, alerts open as soon as you save.",
    run=_create,
    access=_access,
    form=NewConfigForm,
    icon="add",
)
OF_LIST: Mapping[str, Action] = {
    "presets": Action(
        label="Add presets",
        text="Recommended alert configurations. If a condition is already met, its alert opens as soon "
        "as you save.",
        run=_add_presets,
        access=WRITE,
        form=PresetsForm,
        icon="playlist_add",
    ),
    # The notices lead to these.
    "dismiss-host-down": Action(
        label="Dismiss the notice",
        text="The notice disappears for all users. It does not come back.",
        run=_dismiss_host_down,
        access=WRITE,
        form=DismissForm,
        icon="notifications_off",
        offered=lambda _row, _now: False,
    ),
    "dismiss-checklist": Action(
        label="Dismiss the checklist",
        text="The checklist disappears for all users. It does not come back.",
        run=_dismiss_checklist,
        access=DISMISS_CHECKLIST,
        icon="done_all",
        offered=lambda _row, _now: False,
    ),
}
OF_ROW: Mapping[str, Action] = {
    "change": Action(
        label="Change",
        done="Changed",
        text="If you change the event type, matchers, thresholds or projects, alerts that no longer "
        "match are cancelled.",
        run=_change,
        access=_access,
        form=ConfigForm,
        icon="edit",
    ),
    "enable": Action(
        label="Enable",
        done="Enabled",
        text="If the condition is already met, alerts open as soon as you save.",
        run=partial(_switch, enabled=True),
        access=_access,
        icon="toggle_on",
        bulk=True,
        offered=lambda config, _now: not config.enabled,
    ),
    "disable": Action(
        label="Disable",
        done="Disabled",
        text="Cancels the open alerts of this configuration.",
        run=partial(_switch, enabled=False),
        access=_access,
        icon="toggle_off",
        bulk=True,
        offered=lambda config, _now: config.enabled,
    ),
    "edit": Action(
        label="Change together",
        done="Changed",
        button="Save",
        text="One change of all selected rules. Nothing is saved before you have seen what changes in each "
        "rule. If a rule is refused, no rule changes.",
        run=_change_together,
        access=_access,
        form=BulkRulesForm,
        icon="edit",
        bulk=True,
        # The page of a single rule has a form for all fields.
        offered=lambda _row, _now: False,
    ),
    "test": Action(
        label="Send test notifications",
        text="Each message is sent once, marked as a test. The next page shows the result.",
        run=_test,
        access=_access,
        form=TestNotificationForm,
        icon="send",
        atomic=False,
    ),
    "copy": Action(
        label="Copy as new",
        done="Created",
        text="Secrets are not copied. Enter them again, or use the integrations of the project.",
        run=_create,
        # The form asks for the project, and checks the roles there like the API route.
        access=Access(Where.SOMEWHERE, WRITE.roles),
        form=CopyForm,
        creates=True,
        icon="content_copy",
    ),
    "delete": Action(
        label="Delete",
        done="Deleted",
        text="Cancels the open alerts of this configuration.",
        run=lambda call: alert_config_delete(config=call.row, actor=call.actor, now=call.now),
        access=_access,
        icon="delete",
        danger=True,
        bulk=True,
    ),
}


_EVENT_TYPES = event_types(is_global=True)
Rows = QuerySet[AlertConfig]


class CategoryFilter(ChoiceFilter):
    title = "category"
    parameter_name = "category"
    offered = tuple(dict.fromkeys((spec.category.value, in_words(spec.category)) for spec in _EVENT_TYPES))

    def chosen(self, rows: Rows, value: str) -> Rows:
        return rows.filter(event_type__in=[spec.name for spec in _EVENT_TYPES if spec.category == value])


class EventTypeFilter(ChoiceFilter):
    title = "event type"
    parameter_name = "event_type"
    offered = tuple((spec.name, in_words(spec.name)) for spec in _EVENT_TYPES)


class RecipientFilter(ChoiceFilter):
    """Filter by notification type."""

    title = "notification type"
    parameter_name = "notifies"
    offered = tuple((name, kind.label) for name, kind in NOTIFICATION_TYPES.items())

    def chosen(self, rows: Rows, value: str) -> Rows:
        of_kind = NotificationSetting.objects.filter(config_id=OuterRef("id"), type_name=value)
        return rows.filter(Exists(of_kind))


class NoiseFilter(ChoiceFilter):
    """The order of the list by a figure of noise, the noisiest first."""

    title = "noisiest by"
    parameter_name = "noisiest"
    offered = (
        ("alerts", "Alerts"),
        ("median", "Median duration"),
        ("flaps", "Flaps"),
        ("acknowledged", "Share acknowledged"),
        ("messages", "Messages"),
    )

    def chosen(self, rows: Rows, value: str) -> Rows:
        """All rows: `AlertConfigAdmin` orders them."""
        return rows


_MOST_PROJECTS = 50


NOT_COUNTED = "not counted in time"
"""The text of a cell if counting the noise takes too long."""


@admin.register(AlertConfig)
class AlertConfigAdmin(ConsoleAdmin):
    """Alert configurations."""

    help = "how-to/alert-recipes"
    group_path = "group_id"
    add_action = NEW
    list_actions = OF_LIST
    actions_of_row = OF_ROW
    list_display = ["title", "destinations", "severity_label", "per_week"]
    list_filter = [
        ("group", RelatedFilter),
        "enabled",
        SeverityFilter,
        CategoryFilter,
        EventTypeFilter,
        RecipientFilter,
        NoiseFilter,
    ]
    list_select_related = ["group"]
    palette_fields = ("name", "group__name")
    search_fields = ["name", "event_type", "group__name", "id__exact", "group__id__exact"]
    search_help_text = (
        "Part of a name, event type or project name, or the full ID of an alert configuration or project."
    )
    ordering = ["group__name", "created", "id"]
    fields = [
        "name",
        "event",
        "severity_label",
        "projects",
        "enabled",
        "condition",
        "text",
        "runbook",
        "alerts",
        "noise",
        "happened",
        "created",
        "updated",
        "id",
    ]
    empty_text = (
        "No alert configurations, so no alerts open and nobody is notified. Every new project "
        "starts with three."
    )

    class Media:
        css = {"all": ["console/config-form.css", "console/rules.css"]}

    def get_urls(self) -> list[URLPattern]:
        """Adds the lines of the form."""
        lines = path("lines/", self.admin_site.admin_view(self.lines_view), name=self._name("lines"))
        return [lines, *super().get_urls()]

    def lines_view(self, request: HttpRequest) -> JsonResponse:
        """The last days of a metric on the hosts of a project; 404 without this project or metric."""
        group_id, metric = request.GET.get("group", ""), request.GET.get("metric", "")
        scope = operator_of(request).visible_scope()
        readable = scope.everything or group_id in scope.group_ids
        if metric not in set(Metric) or not readable:
            return JsonResponse({"detail": "There is no such project or metric"}, status=404)
        first = request.GET.getlist("host")
        return JsonResponse(rule_lines(group_id, Metric(metric), scope, clock.now(), first=first))

    def get_queryset(self, request: HttpRequest) -> QuerySet[AlertConfig]:
        """Without deleted configurations, whose rows stay until their alerts have ended."""
        return super().get_queryset(request).filter(deleted=None).prefetch_related("settings")

    def palette_rows(self, request: HttpRequest, words: Sequence[str]) -> QuerySet[AlertConfig]:
        """Rules contain the words of their name, condition or project."""
        rows = self.get_queryset(request).select_related("group").order_by("name", "created", "id")
        for word in words:
            rows = rows.filter(
                containing([word], ["name", "group__name"])
                | Q(event_type__in=names_with(word, EventType))
                | Q(metric_threshold__metricName__in=metrics_with(word))
            )
        return rows

    def palette_words(self, row: Any) -> tuple[str, str]:
        return str(row), row.group.name if row.group else "all projects"

    def page_url(self, row: Any) -> str:
        """The list after deletion: the row stays until its alerts have ended."""
        is_there = row is not None and AlertConfig.objects.filter(pk=row.pk, deleted=None).exists()
        return super().page_url(row) if is_there else self.list_url()

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        """Add its notifications, with links to test each and to add another if the operator may."""
        operator = operator_of(request)
        may_test = OF_ROW["test"].is_allowed(operator, row, self.scope_of(row))
        destinations = [
            (choice, action_url(AlertConfig, row.pk, "test", notification=choice.id) if may_test else "")
            for choice in destinations_of(row)
        ]
        may_change = OF_ROW["change"].is_allowed(operator, row, self.scope_of(row))
        context = {
            "destinations": destinations,
            "tests": may_test,
            "add_notification_url": action_url(AlertConfig, row.pk, "change", **{ADD: "notifications"})
            if may_change
            else "",
            **_explained(request, row),
        }
        return {**super().page_context(request, row), **context}

    def look_up(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        now, names = clock.now(), team_names(rows)
        try:
            with noise_within_time():
                noises, days = noise_of(rows, now=now), alerts_per_day(rows, now=now)
        except NoiseUnknownError:
            noises, days = {}, {}
        for config in rows:
            config.noise, config.days = noises.get(config.id), days.get(config.id)
            config.team_names = names

    def changelist_view(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """The list. It has its usual order if sorting it by noise takes too long."""
        if not {ORDER_VAR, NoiseFilter.parameter_name} & request.GET.keys():
            return super().changelist_view(request, extra_context)
        try:
            with noise_within_time():
                listed = super().changelist_view(request, extra_context)
                return listed.render() if isinstance(listed, SimpleTemplateResponse) else listed
        except NoiseUnknownError:
            words = f"Sorting takes longer than {NOISE_SECONDS:.0f} seconds. The list has its usual order."
            messages.warning(request, words)
            usual = request.GET.copy()
            for name in (ORDER_VAR, NoiseFilter.parameter_name):
                usual.pop(name, None)
            return redirect(f"{request.path}?{usual.urlencode()}")

    def get_ordering(self, request: HttpRequest) -> Sequence[Any]:
        """By the chosen figure of noise, or by project."""
        figure = request.GET.get(NoiseFilter.parameter_name, "")
        return [NoiseOrder(figure, descending=True), *self.ordering] if figure in FIGURES else self.ordering

    @admin.display(description="alerts per week", ordering=NoiseOrder("alerts"))
    def per_week(self, config: Any) -> SafeString:
        """The alerts of each day as a spark line, and the noise in figures."""
        if config.noise is None:
            return badge(NOT_COUNTED, Tone.INFO)
        return format_html(
            '<span class="rule-noise{}" title="{}">{}<b>{}</b></span>'
            '<small class="console-where rule-figures">{}</small>',
            "" if config.noise.alerts else " rule-quiet",
            " ".join(noise_sentences(config.noise)),
            sparkline(config.days, days_words(config.days)),
            f"{config.noise.per_week:,.1f}" if config.noise.alerts else EMPTY,
            noise_figures(config.noise),
        )

    @admin.display(description="noise")
    def noise(self, config: Any) -> SafeString:
        if config.noise is None:
            return badge(NOT_COUNTED, Tone.INFO)
        sentences = noise_sentences(with_suggested_threshold(config.noise, config))
        return format_html_join("", "<p>{}</p>", ((sentence,) for sentence in sentences))

    @admin.display(description="rule", ordering="event_type")
    def title(self, config: AlertConfig) -> SafeString:
        return rule_title(config)

    @admin.display(description="notifies")
    def destinations(self, config: Any) -> SafeString:
        return destination_chips(config.settings.all(), config.team_names)

    @admin.display(description="severity", ordering=SEVERITY_RANK)
    def severity_label(self, config: AlertConfig) -> SafeString:
        return badge(*severity_badge(config))

    @admin.display(description="description")
    def text(self, config: AlertConfig) -> SafeString | str:
        return linebreaksbr(config.description) if config.description else EMPTY

    @admin.display(description="runbook")
    def runbook(self, config: AlertConfig) -> SafeString | str:
        return link(config.runbook_url, config.runbook_url) if config.runbook_url else EMPTY

    @admin.display(description="type", ordering="event_type")
    def event(self, config: AlertConfig) -> SafeString:
        return named(in_words(config.event_type), config.event_type)

    @admin.display(description="project", ordering="group__name")
    def covers(self, config: AlertConfig) -> str | SafeString | None:
        """The project, or the projects of a global configuration."""
        if config.group is not None:
            return project(config)
        if not config.for_all_groups:
            return f"global: {counted_words(len(config.group_ids), 'project')}"
        return f"global: tagged {', '.join(config.tags)}" if config.tags else "global: all"

    @admin.display(description="projects")
    def projects(self, config: AlertConfig) -> str | SafeString | None:
        """As `covers`, with project names."""
        if config.group is not None or config.for_all_groups:
            return self.covers(config)
        projects = Project.objects.filter(id__in=config.group_ids).order_by("name")
        names = [link(page_url(covered), covered.name) for covered in projects]
        more = more_words(max(0, len(names) - _MOST_PROJECTS))
        gone = len(config.group_ids) - len(names)
        none = f"({gone} that are no project)" if gone else ""
        first = format_html_join(", ", "{}", ((name,) for name in names[:_MOST_PROJECTS]))
        parts = ((part,) for part in ("global:", first, more, none) if part)
        return format_html_join(" ", "{}", parts)

    @admin.display(description="condition")
    def condition(self, config: AlertConfig) -> str:
        """The condition without the event type."""
        return condition_words(config_view(config))

    @admin.display(description="open alerts")
    def alerts(self, config: AlertConfig) -> SafeString:
        now = clock.now()
        first = active_first_rows(Alert.objects.filter(config_id=config.id), now=now)
        muted, targets = muting_windows(first.rows, now=now), targets_of(first.rows)
        rows = [
            (
                badge(*alert_badge(row, now, is_muted=muted.is_muted(row.id))),
                link(page_url(row), row.words),
                link(page_url(targets[row.id]), target_words(row.facts))
                if row.id in targets
                else target_words(row.facts),
            )
            for row in first.rows
        ]
        listed = _listed("{} {}, {}", rows) if rows else "None. "
        left_out = first.left_out_words
        more = link(list_url(Alert, state="all", q=config.id), left_out) if left_out else ""
        every = link(list_url(Alert, state="all", q=config.id), "All alerts")
        return format_html("{}{} {}", listed, more, every)

    @admin.display(description="history")
    def happened(self, config: AlertConfig) -> str:
        first = first_rows(config_audits(config))
        rows = [
            (
                link(page_url(row), in_words(row.event_type)),
                acting(row.details) or EMPTY,
                time_words(row.created),
            )
            for row in first.rows
        ]
        return _listed("{} by {}, {}", rows, first.left_out_words) if rows else EMPTY


@admin.register(NotificationSetting)
class NotificationSettingAdmin(ConsoleAdmin):
    """Notifications of all configurations."""

    help = "channels/index"
    group_path = "config__group_id"

    list_display = ["type_name", "config", "delay_min", "interval_min", "min_severity"]
    list_filter = ["type_name"]
    list_select_related = ["config"]
    search_fields = ["id__exact", "config__id__exact"]
    search_help_text = "Full ID of a notification setting or an alert configuration."
    ordering = ["config_id", "position"]
    fields = [
        "id",
        "config",
        "position",
        "type_name",
        "delay_min",
        "interval_min",
        "min_severity",
        "fields_json",
    ]
    empty_text = "No alert configuration has notifications."

    fields_json = staticmethod(json_field("fields"))


def _explained(request: HttpRequest, config: AlertConfig) -> Context:
    """Whether a project's configuration alerts on the host that the URL names."""
    if config.group is None:
        return {}
    question = HostQuestion(request.GET, group_id=config.group.id)
    host = question.chosen()
    explained = explain_config(config=config, host=host, now=clock.now()) if host else None
    return {"question": question, "explained": explained, "explained_host": host}


def _listed(line: str, rows: Iterable[tuple[object, ...]], more: str = "") -> SafeString:
    items = format_html_join("", "<li>" + line + "</li>", rows)
    last = format_html("<li>{}</li>", more) if more else ""
    return format_html('<ul class="config-list">{}{}</ul>', items, last)
