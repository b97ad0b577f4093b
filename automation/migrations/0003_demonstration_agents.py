"""Adds the mark of agents of the demonstration, and marks the agents that earlier versions added.

Earlier versions stopped the clocks of all agents for a day instead. The migration `clocks_not_ahead` starts the
clocks again; without the mark, the demonstration would then raise alerts. Agents that are down stay so. Names in `.example` belong to nobody
(RFC 2606), and a real report removes the mark.
"""

from django.db import migrations, models

_MARK = """
UPDATE automation_agent SET demonstration = true
 WHERE NOT down AND (agent_type, hostname) IN (
       ('MONITORING', 'agent-1.harbour.example'), ('MONITORING', 'agent-2.harbour.example'),
       ('MONITORING', 'agent-1.brightside.example'), ('MONITORING', 'agent-2.brightside.example'),
       ('BACKUP', 'backup-1.harbour.example'), ('AUTOMATION', 'automation-1.brightside.example'))
"""


class Migration(migrations.Migration):
    dependencies = [("automation", "0002_engine_of_hosts")]

    operations = [
        migrations.AddField(
            model_name="agent",
            name="demonstration",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="The agent belongs to the demonstration, so it has no heartbeat timeout. A real "
                "report removes the mark.",
            ),
        ),
        migrations.RunSQL([_MARK], migrations.RunSQL.noop),
    ]
