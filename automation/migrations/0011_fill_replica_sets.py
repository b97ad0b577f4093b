"""Adds hosts with the name of a replica set to that set.

Otherwise the first report of some members would count only these, and report a lost primary.
"""

from django.db import migrations

# Ids are as `opsapi.ids` makes them: 48 bits of milliseconds, then 48 random ones.
_MAKE = """
INSERT INTO automation_replicaset (id, group_id, name, cluster_id, primaries, healthy, unhealthy, created)
SELECT lpad(to_hex(floor(extract(epoch FROM now()) * 1000)::bigint), 12, '0')
       || right(replace(gen_random_uuid()::text, '-', ''), 12),
       group_id, replica_set_name, cluster_id, 0, 0, 0, now()
  FROM automation_host
 WHERE deleted IS NULL AND replica_set_id IS NULL AND replica_set_name IS NOT NULL
 GROUP BY group_id, replica_set_name, cluster_id
    ON CONFLICT DO NOTHING
"""
_LINK = """
UPDATE automation_host AS host
   SET replica_set_id = one.id
  FROM automation_replicaset AS one
 WHERE host.deleted IS NULL AND host.replica_set_id IS NULL
   AND one.group_id = host.group_id AND one.name = host.replica_set_name
   AND coalesce(one.cluster_id, '') = coalesce(host.cluster_id, '')
"""
# Routers and config servers count for nothing.
_COUNT = """
UPDATE automation_replicaset AS one
   SET primaries = counted.primaries,
       healthy = counted.healthy,
       unhealthy = counted.unhealthy,
       shard_name = counted.shard_name
  FROM (SELECT replica_set_id,
               count(*) FILTER (WHERE counts AND healthy AND is_primary) AS primaries,
               count(*) FILTER (WHERE counts AND healthy) AS healthy,
               count(*) FILTER (WHERE counts AND NOT healthy) AS unhealthy,
               min(shard_name) AS shard_name
          FROM (SELECT replica_set_id,
                       shard_name,
                       type_name NOT IN ('SHARD_MONGOS', 'SHARD_CONFIG') AS counts,
                       NOT down AND type_name IN ('REPLICA_PRIMARY', 'REPLICA_SECONDARY', 'REPLICA_ARBITER',
                                                  'SHARD_PRIMARY', 'SHARD_SECONDARY') AS healthy,
                       type_name IN ('REPLICA_PRIMARY', 'SHARD_PRIMARY') AS is_primary
                  FROM automation_host
                 WHERE deleted IS NULL AND replica_set_id IS NOT NULL) AS member
         GROUP BY replica_set_id) AS counted
 WHERE one.id = counted.replica_set_id
"""


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0010_automation_revisions'),
    ]

    # Nothing to reverse: the earlier version works with and without these rows.
    operations = [migrations.RunSQL(statement, migrations.RunSQL.noop) for statement in (_MAKE, _LINK, _COUNT)]
