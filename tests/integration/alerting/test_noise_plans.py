"""The noise of configurations is counted from an index, however large the alerts are."""

import pytest
from django.db.models import OrderBy

from accesslist.models import Project
from alerting.insight.noise_counts import NoiseFigure
from alerting.models import Alert, AlertConfig
from opsapi.ids import new_id
from opsapi.sql import execute
from tests.each import each
from tests.factories.alerting import make_alert, make_config

pytestmark = pytest.mark.django_db


@each("figure", ["alerts", "median", "flaps", "acknowledged"])
def test_sorting_by_a_figure_reads_no_alert(project: Project, figure: str) -> None:
    make_config(project)
    (like,) = Alert.objects.filter(id=make_alert(project).id).values()
    Alert.objects.bulk_create(Alert(**like | {"id": new_id(), "config_id": new_id()}) for _ in range(200))
    # Else the plan follows what autovacuum last saw of the tables.
    execute("ANALYZE alerting_alert, alerting_alertconfig")
    # With so few rows, PostgreSQL would read the table.
    execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
    plan = AlertConfig.objects.order_by(OrderBy(NoiseFigure(figure), descending=True)).explain()
    assert "Index Only Scan using alert_config_noise on alerting_alert" in plan
    assert plan.count("on alerting_alert ") == 1
