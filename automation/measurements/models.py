"""Measurements and their sources."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from automation.hosts.models import Host
from opsapi.clock import time_words


class Source(models.Model):
    """The source of readings, with a short number: a host or one of its databases.

    Added while the host is locked. The source of a database stays while it has readings, even if the host no
    longer lists the database.
    """

    # Four bytes, because each row of readings has it.
    id = models.AutoField(primary_key=True)
    # Not indexed: the index of the constraint starts with the host.
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="sources", db_index=False)
    database = models.CharField(max_length=200, default="", help_text="Empty for the host itself.")

    class Meta:
        constraints = [models.UniqueConstraint(name="source_once", fields=["host", "database"])]

    def __str__(self) -> str:
        return f"{self.host_id} {self.database}".rstrip()


class Reading(models.Model):
    """The measurements of a source at a moment, from a single report.

    The table is partitioned by the UTC day of `reported`; `automation/measurements/days.py` creates and drops
    the partitions. There are no constraints: `report` distinguishes reports of the same microsecond, and
    equal rows are two measurements. This order of columns leaves no gaps.
    """

    pk = models.CompositePrimaryKey("source", "reported", "report", "age")
    source = models.ForeignKey(
        Source, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="readings"
    )
    reported = models.DateTimeField()
    report = models.SmallIntegerField()
    age = models.SmallIntegerField(
        help_text="Seconds from the measurement to `reported`, fractions of both cut."
    )
    # By the number of the metric (automation/metrics.py), in its base unit.
    numbers = ArrayField(models.FloatField(null=True))

    class Meta:
        # The readings of a source in a time range, newest first.
        indexes = [models.Index(fields=["source", "reported"], name="reading_newest")]

    def __str__(self) -> str:
        return f"{self.source_id} {time_words(self.reported)}"


class Packing(models.Model):
    """A packing of a closed day. Readers see the blocks of a packing as soon as its row is there.

    The row is added in the transaction that drops the partition of the day. A day has several packings if
    readings of the day arrived after it was packed.
    """

    pk = models.CompositePrimaryKey("day", "number")
    day = models.DateField()
    number = models.SmallIntegerField()

    def __str__(self) -> str:
        return f"{self.day} {self.number}"


class PackedReadings(models.Model):
    """The readings of a source in a packing, as a block of bytes (`automation/measurements/packing.py`)."""

    pk = models.CompositePrimaryKey("source", "day", "number")
    source = models.ForeignKey(
        Source, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="packed"
    )
    day = models.DateField()
    number = models.SmallIntegerField()
    rows = models.IntegerField(help_text="Number of readings.")
    metrics = ArrayField(models.SmallIntegerField(), help_text="The number of the metric of each part.")
    ends = ArrayField(models.IntegerField(), help_text="The end of each part in the block.")
    # The migration sets STORAGE EXTERNAL: PostgreSQL reads a part without the rest, and compresses nothing.
    block = models.BinaryField()

    class Meta:
        # The blocks of a day, by source.
        indexes = [models.Index(fields=["day", "number", "source"], name="packed_readings_day")]

    def __str__(self) -> str:
        return f"{self.source_id} {self.day} {self.number}"


class Rollup(models.Model):
    """The rollups of a packing, of one length. Readers see their blocks as soon as this row is there.

    They stay when the packing is deleted.
    """

    pk = models.CompositePrimaryKey("minutes", "day", "number")
    minutes = models.SmallIntegerField(help_text="Length of a bucket.")
    day = models.DateField()
    number = models.SmallIntegerField()

    def __str__(self) -> str:
        return f"{self.day} {self.number} {self.minutes}"


class PackedRollups(models.Model):
    """The rollups of a host in a packing, as bytes (`automation/measurements/rollup_packing.py`)."""

    pk = models.CompositePrimaryKey("source", "minutes", "day", "number")
    source = models.ForeignKey(
        Source, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="rollups"
    )
    day = models.DateField()
    minutes = models.SmallIntegerField(help_text="Length of a bucket.")
    number = models.SmallIntegerField()
    # The migration sets STORAGE EXTERNAL: PostgreSQL compresses nothing.
    block = models.BinaryField()

    class Meta:
        # The blocks of a rollup, by source.
        indexes = [models.Index(fields=["minutes", "day", "number", "source"], name="packed_rollups_day")]

    def __str__(self) -> str:
        return f"{self.source_id} {self.day} {self.number} {self.minutes}"


class Measurement(models.Model):
    """The measurements of a host from a report, as earlier versions stored them.

    They become rows of `Reading`. `metrics` is metric → samples as [ISO time, number] in the base unit of
    the metric; `databases` has the same for each database name. Only `automation/measurements/old.py` still
    reads it.
    """

    id = models.BigAutoField(primary_key=True)
    # Not indexed: an index below starts with the host.
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="measurements", db_index=False)
    reported = models.DateTimeField()
    metrics = models.JSONField(default=dict)
    databases = models.JSONField(default=dict)

    class Meta:
        indexes = [
            # The measurements of a host in a time range, newest first.
            models.Index(fields=["host", "-reported"], name="measurement_host_newest"),
            # The oldest rows, for retention.
            models.Index(fields=["reported"], name="measurement_oldest"),
        ]

    def __str__(self) -> str:
        return f"{self.host_id} {time_words(self.reported)}"
