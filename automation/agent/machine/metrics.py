"""The metrics of a machine: a row per metric with its sources. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from automation.agent.machine.proc import IN, OUT
from automation.agent.rates import Numbers, RateRow, gauge, per, rate, share

_SAME = {"USER": "user", "NICE": "nice", "IOWAIT": "iowait", "IRQ": "irq", "SOFTIRQ": "softirq"}
_CPU = {**_SAME, "KERNEL": "system", "STEAL": "steal", "GUEST": "guest"}


def system_rows(prefix: str = "") -> Sequence[RateRow]:
    """Memory, network and processor, of numbers whose paths begin with `prefix`."""
    memory = f"{prefix}memory/"
    return (
        gauge("SYSTEM_MEMORY_FREE", f"{memory}MemFree_kb", scale=1024),
        gauge("SYSTEM_MEMORY_AVAILABLE", f"{memory}MemAvailable_kb", scale=1024),
        gauge("SYSTEM_MEMORY_USED", f"{memory}USED", scale=1024),
        share("SYSTEM_MEMORY_PERCENT_USED", f"{memory}USED", f"{memory}MemTotal_kb"),
        gauge("SWAP_USAGE_FREE", f"{memory}SwapFree_kb", scale=1024),
        gauge("SWAP_USAGE_USED", f"{memory}SWAP_USED", scale=1024),
        rate("SYSTEM_NETWORK_BYTES_IN", f"{prefix}{IN}"),
        rate("SYSTEM_NETWORK_BYTES_OUT", f"{prefix}{OUT}"),
        # Milliseconds in each second, as percent: of one processor, and of all of them.
        *(rate(f"SYSTEM_CPU_{name}", f"{prefix}cpu/{place}_ms", scale=0.1) for name, place in _CPU.items()),
        *(
            rate(
                f"SYSTEM_NORMALIZED_CPU_{name}",
                f"{prefix}cpu/{place}_ms",
                by=f"{prefix}cpu/num_cpus",
                scale=0.1,
            )
            for name, place in _CPU.items()
        ),
    )


def space(section: str, *, free: float | None, used: float | None) -> Numbers:
    """Space as in df(1): percentages relate to used space and space available to the server."""
    if free is None or used is None or free + used <= 0:
        return {}
    percent = used / (free + used) * 100
    return {
        f"{section}/FREE": free,
        f"{section}/USED": used,
        f"{section}/PERCENT_USED": percent,
        f"{section}/PERCENT_FREE": 100 - percent,
    }


DATA, INODES, LOG, OTHERS = "data", "inodes", "log", "tablespaces"
"""Sections with the space and inodes of the data, and the space of the write-ahead log and tablespaces."""

SERVERS = (
    *system_rows(),
    gauge("SYSTEM_LOAD_1", "load/1"),
    gauge("DISK_PARTITION_SPACE_FREE", f"{DATA}/FREE"),
    gauge("DISK_PARTITION_SPACE_USED", f"{DATA}/USED"),
    gauge("DISK_PARTITION_SPACE_PERCENT_FREE", f"{DATA}/PERCENT_FREE"),
    gauge("DISK_PARTITION_SPACE_PERCENT_USED", f"{DATA}/PERCENT_USED"),
    gauge("DISK_PARTITION_INODES_PERCENT_USED", f"{INODES}/PERCENT_USED"),
    rate("DISK_PARTITION_IOPS_READ", "disk/reads"),
    rate("DISK_PARTITION_IOPS_WRITE", "disk/writes"),
    rate("DISK_PARTITION_IOPS_TOTAL", "disk/operations"),
    per("DISK_PARTITION_LATENCY_READ", "disk/read_time_ms", "disk/reads"),
    per("DISK_PARTITION_LATENCY_WRITE", "disk/write_time_ms", "disk/writes"),
    rate("DISK_PARTITION_UTILIZATION", "disk/io_time_ms", scale=0.1),
)
"""The metrics of a server of any engine whose machine the agent shares."""

MACHINE = (
    *SERVERS,
    gauge("PG_WAL_DISK_FREE", f"{LOG}/FREE"),
    gauge("PG_WAL_DISK_PERCENT_USED", f"{LOG}/PERCENT_USED"),
    gauge("PG_TABLESPACE_DISK_PERCENT_USED", f"{OTHERS}/PERCENT_USED"),
)
"""The metrics of a PostgreSQL server whose machine the agent shares."""
