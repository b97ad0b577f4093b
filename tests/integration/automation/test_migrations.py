"""What migrations make of rows written before them."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.migrations.loader import MigrationLoader

from accesslist.models import Project
from automation.choices import AgentType
from automation.models import Agent, FleetWatch
from opsapi.sql import database_time, execute
from tests.factories.automation import ingest

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def full_name(ends: str) -> str:
    """The name of a migration with its number."""
    (found,) = [
        name for app, name in MigrationLoader(None).disk_migrations if (app, name[5:]) == ("automation", ends)
    ]
    return found


class TestClocks:
    """Clocks of heartbeat timeouts that an earlier demonstration, or a wrong clock, set ahead."""

    def reapplied(self, **stored: object) -> FleetWatch:
        """The clocks after the migration, if they were stored like this before it."""
        loader = MigrationLoader(connection)
        migration = loader.get_migration("automation", full_name("clocks_not_ahead"))
        before = loader.project_state(migration.dependencies)
        with connection.schema_editor() as editor:
            migration.unapply(before, editor)
        FleetWatch.objects.update_or_create(id=1, defaults=stored)
        with connection.schema_editor() as editor:
            migration.apply(before, editor)
        return FleetWatch.objects.get()

    def test_a_start_in_the_future_becomes_now(self) -> None:
        now = database_time()
        watch = self.reapplied(counting_since=now + DAY, swept=now - HOUR)
        assert now <= watch.counting_since <= database_time()
        assert watch.swept == now - HOUR

    def test_a_sweep_in_the_future_is_forgotten(self) -> None:
        now = database_time()
        watch = self.reapplied(counting_since=now - DAY, swept=now + DAY)
        assert (watch.counting_since, watch.swept) == (now - DAY, None)

    def test_other_clocks_stay(self) -> None:
        now = database_time()
        watch = self.reapplied(counting_since=now - DAY, swept=now)
        assert (watch.counting_since, watch.swept) == (now - DAY, now)
        with pytest.raises(IntegrityError), transaction.atomic():
            FleetWatch.objects.update(counting_since=now + DAY)


class TestDemonstration:
    """Agents of an earlier demonstration get the mark, unless they are down already."""

    def test_they_are_marked_by_their_names(self, project: Project) -> None:
        for kind, name in (
            ("MONITORING", "agent-1.harbour.example"),
            ("AUTOMATION", "agent-1.harbour.example"),
        ):
            ingest(project, agent=name, agent_type=AgentType(kind))
        ingest(project, agent="backup-1.harbour.example", agent_type=AgentType.BACKUP)
        ingest(project, agent="agent1")
        Agent.objects.filter(agent_type="BACKUP").update(down=True)
        module = import_module(f"automation.migrations.{full_name('demonstration_agents')}")
        execute(module._MARK)
        (marked,) = Agent.objects.filter(demonstration=True)
        assert (marked.agent_type, marked.hostname) == ("MONITORING", "agent-1.harbour.example")
