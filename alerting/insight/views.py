"""The routes of explanations, dry runs, noise and presets."""

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.models import User
from accesslist.rows import with_id
from accesslist.users.store import visible_users, visible_users_of
from alerting.access import READ, READ_GLOBAL, WRITE
from alerting.configs.views import AlertConfigViewSet, AnyConfigViewSet, GlobalAlertConfigViewSet
from alerting.incidents.store import alert_with_id
from alerting.incidents.views import AlertViewSet, AnyAlertViewSet, GlobalAlertViewSet
from alerting.insight.alert_documents import AlertExplanationDocument
from alerting.insight.alert_explanations import explain_alert
from alerting.insight.dry_run_documents import DryRunDocument, RequestedDryRun, dry_run_range
from alerting.insight.dry_runs import dry_run
from alerting.insight.host_documents import ExplainedHost, ExplanationDocument
from alerting.insight.host_explanations import explain_config
from alerting.insight.noise_counts import NOISE_SECONDS, NoiseUnknownError, noise_of, noise_within_time
from alerting.insight.noise_documents import NoiseDocument
from alerting.insight.threshold_suggestions import with_suggested_threshold
from automation.hosts.store import host_with_id
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404, unavailable
from opsapi.api.query import identifier_parameter

_USER_ID = identifier_parameter("userId", "Also explain why this user was, or was not, notified.")


class AnyAlertExplanationViewSet(AnyAlertViewSet):
    """The explanation of an alert. Subclasses define the scope."""

    parameters = {"explanation": [_USER_ID]}
    bodies = {}
    answers = {"explanation": AlertExplanationDocument}
    refusals = {"explanation": [ErrorCode.USER_NOT_FOUND]}

    def explanation(self, request: Request, **_: str) -> Response:
        """Explain why the alert opened, and why each of its messages was, or was not, sent."""
        alert_id = self.alert["id"]
        alert = get_or_404(alert_with_id(alert_id), ErrorCode.ALERT_NOT_FOUND, alert_id, self.scope or "")
        explanation = explain_alert(
            alert,
            sees_config=self.reads_config(self.alert),
            user=self._user(),
            now=self.now,
        )
        return Response(AlertExplanationDocument.of_alert(explanation, self.alert))

    def _user(self) -> User | None:
        """The user to explain; users that the caller cannot see do not exist for the caller."""
        user_id = self.query["userId"]
        if user_id is None:
            return None
        user = with_id(visible_users(visible_users_of(self.caller.grants)), user_id).first()
        return get_or_404(user, ErrorCode.USER_NOT_FOUND, user_id)


class AlertExplanationViewSet(AnyAlertExplanationViewSet, AlertViewSet):
    """`/groups/{id}/alerts/{id}/explanation`."""

    access = {"explanation": READ}


class GlobalAlertExplanationViewSet(AnyAlertExplanationViewSet, GlobalAlertViewSet):
    """`/globalAlerts/{id}/explanation`."""

    access = {"explanation": READ_GLOBAL}


class AnyConfigNoiseViewSet(AnyConfigViewSet):
    """The noise of a configuration. Subclasses define the scope."""

    parameters = {}
    bodies = {}
    answers = {"noise": NoiseDocument}
    refusals = {}
    statuses = {}

    def noise(self, request: Request, **_: str) -> Response:
        """Get how noisy the configuration was in the last four weeks."""
        try:
            with noise_within_time():
                noise = noise_of([self.stored], now=self.now)[self.stored.id]
        except NoiseUnknownError:
            raise unavailable(f"counting the noise takes longer than {NOISE_SECONDS:.0f} s") from None
        noise = with_suggested_threshold(noise, self.stored)
        return Response(NoiseDocument.of(noise, alertConfigId=self.stored.id))


class ConfigInsightViewSet(AnyConfigNoiseViewSet, AlertConfigViewSet):
    """The noise, the explanation and the dry runs of a project's configurations."""

    access = {"noise": READ, "explain": READ, "dry_run": WRITE}
    bodies = {"explain": ExplainedHost, "dry_run": RequestedDryRun}
    answers = {
        **AnyConfigNoiseViewSet.answers,
        "explain": ExplanationDocument,
        "dry_run": DryRunDocument,
    }
    refusals = {"explain": [ErrorCode.HOST_NOT_FOUND]}

    def explain(self, request: Request, **_: str) -> Response:
        """Explain whether the configuration alerts on a host now, or why not. Nothing is written or sent."""
        host_id = self.body()["hostId"]
        host = host_with_id(host_id, group_id=self.group.id).first()
        host = get_or_404(host, ErrorCode.HOST_NOT_FOUND, host_id, self.group.id)
        explanation = explain_config(config=self.stored, host=host, now=self.now)
        return Response(ExplanationDocument.of_host(explanation, config=self.stored, host_id=host.id))

    def dry_run(self, request: Request, group_id: str) -> Response:
        """Run a configuration over what is recorded: the alerts and notifications that it would have caused.

        Nothing is written or sent.
        """
        values = self.body(stored={"groupId": self.group.id}, group_id=self.group.id)
        start, end = dry_run_range(values, self.now)
        result = dry_run(group_id=self.group.id, values=values["config"], start=start, end=end)
        return Response(DryRunDocument.of_config(result, values["config"]))


class GlobalConfigNoiseViewSet(AnyConfigNoiseViewSet, GlobalAlertConfigViewSet):
    """`/globalAlertConfigs/{id}/noise`."""

    access = {"noise": READ_GLOBAL}
    bodies = {}
    answers = AnyConfigNoiseViewSet.answers
