"""The machine of a server: texts of /proc as numbers, limits of control groups, and disks of directories."""

import os
import shutil
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest

from automation.agent.machine.cgroup import MACHINE as WHOLE
from automation.agent.machine.cgroup import cpu_of, groups_of, memory_of
from automation.agent.machine.metrics import MACHINE
from automation.agent.machine.proc import (
    Peer,
    mount_of,
    read_cpu,
    read_disks,
    read_load,
    read_memory,
    read_mounts,
    read_network,
    read_process,
    read_socket,
)
from automation.agent.machine.reader import LocalMachine
from automation.agent.machine.server import (
    DataDirectory,
    HangingCalls,
    NotHere,
    ServerClaim,
    ServerMachine,
    find,
    place_of,
)
from automation.agent.rates import NumbersAt, Why, values_of
from automation.metrics import Engine, Metric
from tests.each import each
from tests.eventually import eventually

TICKS = 100
STAT = """cpu  6692127 500657 1385058 2163302 25334 0 25497 85212 0 0
cpu0 3312990 244506 673639 1152508 4833 0 8131 42055 0 0
cpu1 3379137 256151 711419 1010793 20500 0 17366 43157 0 0
intr 1 0
btime 1764300000
"""
MEMINFO = """MemTotal:       24684096 kB
MemFree:        20316200 kB
MemAvailable:   22332088 kB
Buffers:           41776 kB
SwapCached:            0 kB
SwapTotal:       1000000 kB
SwapFree:         400000 kB
"""
OLD_MEMINFO = """MemTotal:        1020500 kB
MemFree:          100500 kB
SwapTotal:             0 kB
SwapFree:              0 kB
"""
DISKSTATS = {
    "2.6.32, 3.10": "   8       1 sda1 100 20 5000 300 200 30 7000 900 0 800 1200\n",
    "4.18": "   8       1 sda1 100 20 5000 300 200 30 7000 900 0 800 1200 5 0 10 6\n",
    "5.5 to 6.18": "   8       1 sda1 100 20 5000 300 200 30 7000 900 0 800 1200 5 0 10 6 40 50\n",
}
NETSTAT = """TcpExt: SyncookiesSent SyncookiesRecv
TcpExt: 1 2
IpExt: InNoRoutes InTruncatedPkts InMcastPkts OutMcastPkts InBcastPkts OutBcastPkts InOctets OutOctets
IpExt: 0 0 0 30 0 0 21972648220 12978866644
"""
SNMP6 = "Ip6InReceives        \t12\nIp6InOctets          \t1000\nIp6OutOctets         \t2000\n"

# Mounts of a virtual machine, of Red Hat Enterprise Linux, and of containers with new and old groups.
HOST = """22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
28 27 254:16 / /srv/my\\040data rw,relatime shared:3 master:1 - xfs /dev/vdb rw
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
SYSTEMD = """24 1 253:0 / / rw,relatime shared:1 - xfs /dev/mapper/rhel-root rw,seclabel
26 25 0:23 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,seclabel,nsdelegate
99 24 8:1 / /boot rw,relatime shared:9 - xfs /dev/sda1 rw,seclabel
"""
CONTAINER = """473 387 0:143 / / rw,relatime master:181 - overlay overlay rw,lowerdir=/l
477 473 0:149 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro
486 477 0:30 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw
490 473 8:1 /var/lib/docker/volumes/v/_data /var/lib/postgresql/data rw,relatime - ext4 /dev/sda1 rw
"""
OLD_CONTAINER = """1010 984 0:52 / / rw,relatime master:388 - overlay overlay rw,lowerdir=/l
1026 1015 0:27 /docker/4f79 /sys/fs/cgroup/cpu,cpuacct ro master:12 - cgroup cgroup rw,cpu,cpuacct
1027 1015 0:28 /docker/4f79 /sys/fs/cgroup/memory ro,nosuid,relatime master:13 - cgroup cgroup rw,memory
"""


def test_processor_time_is_in_milliseconds_of_all_cores() -> None:
    numbers = read_cpu(STAT, TICKS)
    assert numbers["cpu/user_ms"] == 66_921_270
    assert numbers["cpu/num_cpus"] == 2
    assert "cpu/guest_ms" in numbers
    assert read_cpu("", TICKS) == {}


def test_used_memory_is_what_programs_cannot_have() -> None:
    numbers = read_memory(MEMINFO)
    assert numbers["memory/USED"] == 24_684_096 - 22_332_088
    assert numbers["memory/SWAP_USED"] == 600_000
    assert "memory/USED" not in read_memory(OLD_MEMINFO), "Linux before 3.14 does not say what is available"


@each("diskstats", DISKSTATS.values(), ids=list(DISKSTATS))
def test_operations_of_a_partition_are_read_in_the_formats_of_all_kernels(diskstats: str) -> None:
    assert read_disks(diskstats)["8:1"] == {
        "disk/reads": 100,
        "disk/writes": 200,
        "disk/operations": 300,
        "disk/read_time_ms": 300,
        "disk/write_time_ms": 900,
        "disk/io_time_ms": 800,
    }


def test_network_is_of_both_internet_protocols() -> None:
    numbers = read_network(NETSTAT, SNMP6)
    assert numbers == {
        "netstat/IpExt:InOctets": 21_972_649_220,
        "netstat/IpExt:OutOctets": 12_978_868_644,
    }
    assert read_network(NETSTAT, "")["netstat/IpExt:InOctets"] == 21_972_648_220
    assert read_network("", SNMP6) == {}
    assert read_network("IpExt: OutOctets\nIpExt: 5\n", SNMP6).keys() == {"netstat/IpExt:OutOctets"}
    assert read_load("3.10 3.45 5.09 3/145 14038\n") == {"load/1": 3.1}
    assert read_load("") == {}


def test_a_path_is_on_the_mount_with_the_longest_prefix() -> None:
    mounts = read_mounts(
        f"{HOST}50 27 0:1 / /srv/my\\040data/x rw - tmpfs x rw\n51 27 7:2 / /srv/my\\040data/x rw - xfs x\n"
    )
    found = {path: mount_of(path, mounts) for path in ("/srv/my data", "/srv/my data2", "/srv/my data/x/y")}
    assert {path: mount.device for path, mount in found.items() if mount} == {
        "/srv/my data": "254:16",
        "/srv/my data2": "254:0",
        "/srv/my data/x/y": "7:2",
    }


def test_a_process_has_any_name() -> None:
    stat = "57 (a) R 9 (b) S 12 57 57 0 -1 4194560 8 9 0 9 1 7 3 7 20 0 14 0 3000 505 42\n"
    process = read_process(stat, "postgres: a b 127.0.0.1(5) idle\0\0\0", TICKS)
    assert (process.parent, process.started, process.title) == (12, 30.0, "postgres: a b 127.0.0.1(5) idle")
    with pytest.raises(ValueError, match="format"):
        read_process("57 (a) S 12", "", TICKS)


TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:6989 00000000:0000 0A 00000000:00000000 00:00000000 00000000   112        0 40 1 0 100 0 0 10 0
   1: 0100007F:6989 0100007F:C822 01 00000000:00000000 02:000000AB 00000000   112        0 41 2 0 20 4 30
   2: 0100007F:C822 0100007F:6989 01 00000000:00000000 02:000000AB 00000000     0        0 42 2 0 20 4 30
   3: 0100007F:6989 0100007F:C823 06 00000000:00000000 03:00000112 00000000     0        0 0 3 0
"""
TCP6 = """  sl  local_address  remote_address  st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: {0}:6989 {0}:C824 01 00000000:00000000 02:000000AB 00000000   113        0 43 2 0 20 4 30 10 -1
   1: {1}0200007F:6989 {1}0200007F:C822 01 00000000:00000000 02:000000AB 00000000   114        0 44 2
""".format("0" * 24 + "01000000", "0" * 16 + "FFFF0000")
PEER = Peer(ip_address("127.0.0.1"), 0xC822)


@pytest.mark.skipif(sys.byteorder == "big", reason="the tables have the byte order of the machine")
@each(
    ("table", "address", "port", "found"),
    [
        (TCP, "127.0.0.1", 0xC822, (112, "41")),
        (TCP, "127.0.0.1", 0xC823, None),
        (TCP, "127.0.0.2", 0xC822, None),
        (TCP6, "::1", 0xC824, (113, "43")),
        (TCP6, "127.0.0.2", 0xC822, (114, "44")),
        (TCP6, "127.0.0.1", 0xC822, None),
        ("", "127.0.0.1", 0xC822, None),
    ],
)
def test_the_servers_end_of_a_connection_is_found(
    table: str, address: str, port: int, found: tuple[int, str] | None
) -> None:
    assert read_socket(table, Peer(ip_address(address), port)) == found


# --- control groups -------------------------------------------------------------------------------


def files(texts: Mapping[str, str], path: str) -> str:
    """A file. Raises FileNotFoundError."""
    if path not in texts:
        raise FileNotFoundError(path)
    return texts[path]


@each(
    ("cgroup", "mountinfo", "memory", "cpu"),
    [
        (
            "4:memory:/a/b\n2:cpuacct:/\n1:cpu:/\n0::/\n",
            HOST,
            ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory"],
            ["/sys/fs/cgroup/cpu"],
        ),
        (
            "0::/system.slice/postgresql.service\n",
            SYSTEMD,
            [f"/sys/fs/cgroup{rest}" for rest in ("/system.slice/postgresql.service", "/system.slice", "")],
            [f"/sys/fs/cgroup{rest}" for rest in ("/system.slice/postgresql.service", "/system.slice", "")],
        ),
        ("0::/\n", CONTAINER, ["/sys/fs/cgroup"], ["/sys/fs/cgroup"]),
        (
            "9:memory:/docker/4f79\n3:cpu,cpuacct:/docker/4f79\n",
            OLD_CONTAINER,
            ["/sys/fs/cgroup/memory"],
            ["/sys/fs/cgroup/cpu,cpuacct"],
        ),
        ("0::/../other\n", CONTAINER, [], []),
        ("9:memory:/docker/else\n3:cpu,cpuacct:/\n", OLD_CONTAINER, [], []),
        ("0::/\n", "1 0 8:1 / / rw - ext4 x rw\n", [], []),
    ],
)
def test_the_groups_of_a_process_are_found_outwards(
    cgroup: str, mountinfo: str, memory: list[str], cpu: list[str]
) -> None:
    found = groups_of(cgroup, read_mounts(mountinfo)).directories
    assert (list(found.get("memory", ())), list(found.get("cpu", ()))) == (memory, cpu)


NEW = groups_of("0::/pod/database\n", read_mounts(CONTAINER))
POD = {
    "/sys/fs/cgroup/pod/database/memory.max": "max\n",
    "/sys/fs/cgroup/pod/memory.max": "2147483648\n",
    "/sys/fs/cgroup/pod/memory.current": "1610612736\n",
    "/sys/fs/cgroup/pod/memory.stat": "anon 1000\ninactive_file 536870912\nactive_file 7\n",
    "/sys/fs/cgroup/pod/memory.swap.max": "104857600\n",
    "/sys/fs/cgroup/pod/memory.swap.current": "52428800\n",
    "/sys/fs/cgroup/pod/database/cpu.max": "150000 100000\n",
    "/sys/fs/cgroup/pod/database/cpu.stat": "usage_usec 9000\nuser_usec 5000\nsystem_usec 4000\n",
    "/sys/fs/cgroup/pod/cpu.max": "max 100000\n",
}
NUMBERS = {**read_memory(MEMINFO), **read_cpu(STAT, TICKS)}


def test_the_smallest_limit_of_a_control_group_is_the_whole() -> None:
    memory = memory_of(NEW, NUMBERS, lambda path: files(POD, path))
    assert memory.place == "/sys/fs/cgroup/pod"
    assert memory.numbers == {
        "memory/MemTotal_kb": 2_097_152,
        "memory/MemFree_kb": 524_288,
        "memory/MemAvailable_kb": 1_048_576,
        "memory/USED": 1_048_576,
        "memory/SWAP_USED": 51_200,
        "memory/SwapFree_kb": 51_200,
    }
    cpu = cpu_of(NEW, NUMBERS, lambda path: files(POD, path), TICKS)
    assert cpu.place == "/sys/fs/cgroup/pod/database"
    assert cpu.numbers == {"cpu/num_cpus": 1.5, "cpu/user_ms": 5, "cpu/system_ms": 4}


def test_an_older_control_group_has_the_same_numbers() -> None:
    group = groups_of("9:memory:/docker/4f79\n3:cpu,cpuacct:/docker/4f79\n", read_mounts(OLD_CONTAINER))
    texts = {
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2147483648\n",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes": "1610612736\n",
        "/sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 536870912\n",
        "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "150000\n",
        "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        "/sys/fs/cgroup/cpu,cpuacct/cpuacct.stat": "user 5\nsystem 4\n",
    }
    memory = memory_of(group, NUMBERS, lambda path: files(texts, path)).numbers or {}
    assert memory["memory/USED"] == memory["memory/MemAvailable_kb"] == 1_048_576
    cpu = cpu_of(group, NUMBERS, lambda path: files(texts, path), TICKS)
    assert cpu.numbers == {"cpu/num_cpus": 1.5, "cpu/user_ms": 50, "cpu/system_ms": 40}


@each(
    "texts",
    [
        {},
        {"/sys/fs/cgroup/pod/memory.max": "max\n", "/sys/fs/cgroup/pod/cpu.max": "max 100000\n"},
        {"/sys/fs/cgroup/pod/memory.max": str(10**12), "/sys/fs/cgroup/pod/cpu.max": "200000 100000"},
    ],
)
def test_without_a_smaller_limit_the_machine_is_the_whole(texts: dict[str, str]) -> None:
    assert memory_of(NEW, NUMBERS, lambda path: files(texts, path)) is WHOLE
    assert cpu_of(NEW, NUMBERS, lambda path: files(texts, path), TICKS) is WHOLE


def test_a_limit_whose_use_cannot_be_read_says_nothing_rather_than_the_machines_use() -> None:
    texts = {"/sys/fs/cgroup/pod/memory.max": "2147483648\n"}
    assert memory_of(NEW, NUMBERS, lambda path: files(texts, path)).numbers == {}


# --- places ---------------------------------------------------------------------------------------


def test_a_directory_is_on_the_disk_that_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    device = tmp_path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    mounts = read_mounts(
        f"1 0 8:77 / / rw - ext4 x rw\n2 1 {number} / {tmp_path.resolve()}/disk rw - ext4 y rw\n"
    )
    assert place_of(str(tmp_path / "link"), mounts, mounts) == DataDirectory(
        f"{tmp_path.resolve()}/disk", number
    )


@each(
    ("path", "mountinfo", "device"),
    [
        ("/nowhere/pg", SYSTEMD, "253:0"),
        ("/nowhere/pg", SYSTEMD + "3 1 8:9 / /srv rw - ext4 x rw\n", None),
        ("/nowhere/pg", SYSTEMD + "3 1 0:9 / /srv rw - nfs4 x rw\n", None),
        ("/nowhere/pg", SYSTEMD + "3 1 0:9 / /run rw - tmpfs x rw\n", "253:0"),
        ("/nowhere/pg", SYSTEMD + "3 1 8:9 / /nowhere/pg rw - ext4 x rw\n", "8:9"),
        ("/nowhere/pg/pg_wal", SYSTEMD + "3 1 8:9 / /nowhere/pg rw - ext4 x rw\n", None),
    ],
)
def test_in_a_closed_directory_the_disk_is_known_if_a_link_cannot_lead_elsewhere(
    path: str, mountinfo: str, device: str | None
) -> None:
    mounts = read_mounts(mountinfo)
    if device is not None:
        assert place_of(path, mounts, mounts, lambda _: "/nowhere").device == device
        return
    with pytest.raises(NotHere, match="may not search /nowhere"):
        place_of(path, mounts, mounts, lambda _: "/nowhere")


def test_a_disk_that_the_agent_does_not_see_is_not_measured() -> None:
    ours, theirs = read_mounts(SYSTEMD), read_mounts(SYSTEMD + "3 1 8:9 / /tmp rw - ext4 x rw\n")
    with pytest.raises(NotHere, match="does not see"):
        place_of("/tmp", ours, theirs)  # noqa: S108 - not written


# --- is it here? ----------------------------------------------------------------------------------

CLAIM = ServerClaim(
    program="postgres",
    pid=57,
    client="(51234)",
    age=10.0,
    parent=None,
    data=None,
    log=None,
)
TITLE = "postgres: main: monitor postgres 127.0.0.1(51234) idle"


class StartedMachine(LocalMachine):
    """A machine that started 100 seconds ago, with files of the test."""

    def since_start(self) -> float:
        return 100.0


def machine_of(
    directory: Path,
    *,
    title: str = TITLE,
    started: float = 90.0,
    theirs: str = SYSTEMD,
    cgroup: str = "0::/\n",
    shown: bool = True,
    user: int = 112,
) -> StartedMachine:
    """A machine with a process 57, the child of 12."""
    stat = f"57 (postgres) S 12 57 57 0 -1 4194560 8 9 0 9 1 7 3 7 20 0 14 0 {int(started * TICKS)} 505 42\n"
    texts = {
        "1/stat": "1 (init)" if shown else None,
        "net/tcp": TCP,
        "57/status": f"Name:\tmongod\nUid:\t112\t112\t112\t{user}\n",
        "57/stat": stat if shown else None,
        "57/cmdline": f"{title}\0\0" if shown else None,
        "57/mountinfo": theirs,
        "57/cgroup": cgroup,
        "self/mountinfo": SYSTEMD,
        "stat": STAT,
        "meminfo": MEMINFO,
        "loadavg": "3.10 3.45 5.09 3/145 14038\n",
        "diskstats": "",
        "net/netstat": NETSTAT,
    }
    for name, text in texts.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is not None:
            path.write_text(text)
    return StartedMachine(str(directory))


def test_a_server_whose_process_is_here_is_on_this_machine(tmp_path: Path) -> None:
    assert find(CLAIM, machine_of(tmp_path)).group.directories["memory"] == ["/sys/fs/cgroup"]


@each(
    ("changes", "reason"),
    [
        ({"title": "postgres: main: monitor postgres 127.0.0.1(51235) idle"}, "another machine"),
        ({"title": "pgbouncer 127.0.0.1(51234)"}, "another machine"),
        ({"started": 70.0}, "another machine"),
        ({"theirs": CONTAINER}, "in a container, and the agent runs outside of it"),
        ({"shown": False}, "ProtectProc=default"),
    ],
)
def test_other_evidence_is_not_this_machine(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, object], reason: str
) -> None:
    machine = machine_of(tmp_path_factory.mktemp("proc"), **changes)  # type: ignore[arg-type]
    with pytest.raises(NotHere, match=reason):
        find(CLAIM, machine)


def test_a_process_of_another_parent_or_number_is_not_the_server(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, title="postgres: monitor postgres [local] idle")
    local = replace(CLAIM, client="[local]", parent=12)
    find(local, machine)
    for claim in (replace(local, parent=13), replace(local, pid=58)):
        with pytest.raises(NotHere, match="another machine"):
            find(claim, machine)


MONGOD = "/usr/bin/mongod\0--config\0/etc/mongod.conf"
BY_SOCKET = replace(CLAIM, program="mongod", client="", peer=PEER)


def test_a_server_that_names_no_client_in_its_title_is_found_by_its_socket(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, title=MONGOD)
    for claim in (BY_SOCKET, replace(BY_SOCKET, pid=None)):
        assert find(claim, machine).proof.pid == 57


@each(
    ("changes", "claimed"),
    [
        ({"title": "/usr/bin/mongodump\0--out\0mongod"}, {}),
        ({"started": 70.0}, {}),
        ({"started": 70.0}, {"pid": None}),
        ({"user": 0}, {}),
        ({"user": 0}, {"pid": None}),
        ({}, {"peer": Peer(ip_address("127.0.0.1"), 0xC823)}),
        ({}, {"peer": Peer(ip_address("192.0.2.1"), 0xC822), "pid": None}),
        ({"shown": False}, {"pid": None}),
    ],
)
def test_a_socket_of_another_server_is_no_evidence(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, object], claimed: dict[str, object]
) -> None:
    machine = machine_of(tmp_path_factory.mktemp("proc"), **{"title": MONGOD, **changes})  # type: ignore[arg-type]
    with pytest.raises(NotHere, match="another machine"):
        find(replace(BY_SOCKET, **claimed), machine)  # type: ignore[arg-type]


def test_of_servers_that_started_together_the_owner_of_the_socket_is_found(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, title=MONGOD)
    shutil.copytree(tmp_path / "57", tmp_path / "58")
    claim = replace(BY_SOCKET, pid=None)
    with pytest.raises(NotHere, match="several servers"):
        find(claim, machine)
    for pid, inode in ((57, 40), (58, 41)):
        (tmp_path / str(pid) / "fd").mkdir()
        (tmp_path / str(pid) / "fd" / "9").symlink_to(f"socket:[{inode}]")
    assert find(claim, machine).proof.pid == 58


def test_a_server_stays_on_this_machine_when_the_clock_is_set(tmp_path: Path) -> None:
    machine = machine_of(tmp_path)
    later = replace(CLAIM, age=5000.0)
    proof = find(CLAIM, machine).proof
    assert find(later, machine, proof).proof == proof
    with pytest.raises(NotHere, match="another machine"):
        find(later, machine)


def test_elsewhere_nothing_is_measured_and_the_reason_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = ServerMachine(machine_of(tmp_path, started=70.0), "db1:5432")
    with caplog.at_level("INFO", "opsapi.agent"):
        for _ in range(2):
            server.locate(CLAIM)
            assert list(server.samples()) == []
    assert set(server.missing.values()) == {Why.ABSENT}
    (line,) = caplog.messages
    assert line.startswith("db1:5432: the machine is not measured: ")


def test_all_servers_of_a_round_share_a_reading_and_no_server_gets_it_twice(tmp_path: Path) -> None:
    machine = machine_of(tmp_path)
    first = machine.reading(None)
    assert machine.reading(None) is first
    second = machine.reading(first)
    assert second is not first
    assert machine.reading(first) is second


def test_a_server_here_has_the_machine_at_once_and_rates_with_the_second_reading(tmp_path: Path) -> None:
    server = ServerMachine(machine_of(tmp_path), "db1:5432")
    server.locate(CLAIM)
    first = {sample.metric: sample.number for sample in server.samples()}
    assert first["SYSTEM_MEMORY_USED"] == (24_684_096 - 22_332_088) * 1024
    assert first["SYSTEM_LOAD_1"] == 3.1
    assert "SYSTEM_CPU_USER" not in first
    assert "DISK_PARTITION_SPACE_FREE" not in first
    assert "without disks" in server.note
    assert "/proc/loadavg" not in server.note
    second = {sample.metric for sample in server.samples()}
    assert {"SYSTEM_CPU_USER", "SYSTEM_NETWORK_BYTES_IN"} <= second


def test_a_file_system_that_hangs_holds_up_no_poll_and_is_measured_again_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = HangingCalls(60)
    server = ServerMachine(machine_of(tmp_path), "db1:5432", calls)
    server.locate(CLAIM)
    assert server.samples()
    answers = threading.Event()
    calls.seconds = 0.01
    with monkeypatch.context() as patched:
        patched.setattr("automation.agent.machine.server._spaces", lambda _: answers.wait() and {})
        assert server.samples() == ()
    for _ in range(2):
        assert set(server.missing.values()) == {Why.FAILED}
        assert "does not answer" in server.note
        assert server.must_be_located
        server.locate(CLAIM)
    answers.set()
    eventually(lambda: not calls.hang)
    calls.seconds = 60
    server.locate(CLAIM)
    assert not server.must_be_located
    assert server.samples()


def test_limits_and_files_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    machine = machine_of(tmp_path, cgroup="0::/database\n")
    (tmp_path / "loadavg").unlink()
    group = tmp_path / "groups" / "database"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("2147483648\n")
    (group / "memory.current").write_text("1073741824\n")
    (group / "memory.stat").write_text("inactive_file 0\n")
    (tmp_path / "self/mountinfo").write_text(SYSTEMD.replace("/sys/fs/cgroup", str(tmp_path / "groups")))
    server = ServerMachine(machine, "db1:5432")
    server.locate(CLAIM)
    assert f"memory within the limit of {group}" in server.note
    assert "without /proc/loadavg" in server.note
    found = {sample.metric: sample.number for sample in server.samples()}
    assert found["SYSTEM_MEMORY_PERCENT_USED"] == 50.0
    assert server.missing["SYSTEM_LOAD_1"] is Why.ABSENT


def test_numbers_that_a_limited_group_does_not_have_are_left_out(tmp_path: Path) -> None:
    machine = machine_of(tmp_path)
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 9000\nuser_usec 5000\nsystem_usec 4000\n")
    (tmp_path / "memory.max").write_text("2147483648\n")
    (tmp_path / "self/mountinfo").write_text(SYSTEMD.replace("/sys/fs/cgroup", str(tmp_path)))
    server = ServerMachine(machine, "db1:5432")
    server.locate(CLAIM)
    found = {sample.metric for _ in range(2) for sample in server.samples()}
    assert {"SYSTEM_CPU_USER", "SYSTEM_CPU_KERNEL", "SYSTEM_NETWORK_BYTES_IN"} <= found
    assert not found & {"SYSTEM_CPU_IOWAIT", "SYSTEM_LOAD_1", "SYSTEM_MEMORY_FREE", "SWAP_USAGE_USED"}


def test_a_metric_of_the_machine_is_a_metric_of_the_platform() -> None:
    for row in MACHINE:
        assert Engine.POSTGRESQL in Metric(row.metric).spec.engines


def test_kinds_of_processor_time_with_the_idle_time_are_the_whole() -> None:
    # Twenty seconds of two cores; guests are in the time of users too.
    kinds = {"user": 500, "nice": 100, "system": 300, "idle": 2500, "iowait": 400, "irq": 10, "softirq": 90}
    later = " ".join(
        str(int(value) + more)
        for value, more in zip(STAT.splitlines()[0].split()[1:], [*kinds.values(), 100, 250, 0], strict=True)
    )
    before, now = (
        NumbersAt(read_cpu(text, TICKS), None, at)
        for text, at in ((STAT, 0.0), (f"cpu  {later}\n{STAT.split(chr(10), 1)[1]}", 20.0))
    )
    values, _ = values_of(MACHINE, before, now)
    assert (values["SYSTEM_CPU_USER"], values["SYSTEM_NORMALIZED_CPU_USER"]) == (25.0, 12.5)
    busy = sum(
        values[f"SYSTEM_CPU_{kind}"]
        for kind in ("USER", "NICE", "KERNEL", "IOWAIT", "IRQ", "SOFTIRQ", "STEAL")
    )
    idle = kinds["idle"] / TICKS / 20 * 100
    assert busy + idle == 200.0
