"""A project with one host, and questions about its alert configurations and alerts."""

from typing import Any

from accesslist.models import Project
from automation.models import Host
from tests.api import bodies
from tests.client import ApiClient
from tests.integration.alerting.pipeline import evaluate


class Explainer:
    """A project with one host, db1, and questions about it."""

    def __init__(self, owner: ApiClient, project: Project) -> None:
        self.owner, self.project = owner, project

    @property
    def base(self) -> str:
        return f"/groups/{self.project.id}"

    def report(self, *measurements: tuple[str, float], **changes: Any) -> None:
        """Report the host, and evaluate the report."""
        samples = [{"metricName": name, "number": number} for name, number in measurements]
        body = bodies.report(bodies.host(**changes, **({"measurements": samples} if samples else {})))
        assert self.owner.report(self.project.id, body).status_code == 202
        evaluate()

    def config(self, body: dict[str, Any] | None = None, **changes: Any) -> str:
        """Create a configuration, evaluate the fleet, and return its id."""
        made = self.owner.post(f"{self.base}/alertConfigs", (body or bodies.alert_config()) | changes)
        assert made.status_code == 201, made.json()
        evaluate()
        return str(made.json()["id"])

    def ask(self, config_id: str, host_id: str | None = None, *, caller: ApiClient | None = None) -> Any:
        """The answer about the host."""
        path = f"{self.base}/alertConfigs/{config_id}/explain"
        return (caller or self.owner).post(path, {"hostId": host_id or self.host_id})

    def explain(self, config_id: str) -> dict[str, Any]:
        """The document about the host."""
        answer = self.ask(config_id)
        assert answer.status_code == 200, answer.json()
        document: dict[str, Any] = answer.json()
        return document

    def reason(self, config_id: str) -> str | None:
        """Why it does not alert; None if it does."""
        document = self.explain(config_id)
        assert document["wouldAlert"] is ("reason" not in document)
        return document.get("reason")

    @property
    def host_id(self) -> str:
        return Host.objects.get(group=self.project).id
