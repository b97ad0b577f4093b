"""The map of the fleet on the start page of the console: a tile for each host, by project and replica set."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final

from django.db.models import Count, F, Q, QuerySet

from automation.hosts.models import Host
from automation.hosts.states import host_state
from automation.hosts.store import without_data
from opsapi.api.principal import VisibleScope
from opsapi.console.admin_urls import list_url, page_url_of
from opsapi.console.heartbeats import muted_times
from opsapi.console.widgets import Cell, Tile, TileGroup, TileLook, TileMap, TileRow, Tone
from opsapi.first_rows import in_visible_scope

MOST_TILES: Final = 600
"""With more hosts, the map has numbers of hosts instead of tiles."""
MOST_PROJECTS: Final = 100
_LOOKS = (
    Tile("", "", "up", Tone.GOOD),
    Tile("", "", "up, not measured", Tone.WARNING),
    Tile("", "", "down", Tone.BAD),
    Tile("", "", "no data", Tone.PLAIN),
    Tile("", "", "demonstration", Tone.INFO),
)
_IN_MAINTENANCE = Tile("", "", "in maintenance", Tone.GOOD, is_muted=True)
_MOMENT = timedelta(microseconds=1)
_COLUMNS = (
    "hostname",
    "port",
    "down",
    "last_report",
    "not_measured",
    "group_id",
    "group__name",
    "cluster_name",
    "cluster_id",
    "replica_set_name",
    "replica_set_id",
    "reported_by__demonstration",
    # What matchers of maintenance windows compare:
    "shard_name",
    "type_name",
    "version_behind",
)


def fleet_map(visible_scope: VisibleScope, now: datetime) -> Iterator[TileMap]:
    """Yield the map of the readable hosts; nothing while there are none."""
    hosts = in_visible_scope(Host.objects.filter(deleted=None, group__deleted=None), visible_scope)
    ordered = hosts.order_by(
        "group__name", "group_id", "cluster_name", "replica_set_name", "hostname", "port"
    )
    rows = list(ordered.select_related("group", "reported_by").only(*_COLUMNS)[: MOST_TILES + 1])
    if not rows:
        return
    if len(rows) <= MOST_TILES:
        mutes = muted_times(rows, now, now + _MOMENT)
        tiles = {host.id: _tile(host, now) for host in rows}
        for host_id in {host_id for host_id, _, _ in mutes.times}:
            tiles[host_id] = _muted(tiles[host_id])
        groups = [_group(list(some), tiles) for _, some in groupby(rows, _project_of)]
        looks = _looks(tiles.values())
        note = _CUT if mutes.is_cut else ""
    else:
        groups, note = _counted(hosts, now)
        looks = []
    yield TileMap(name="map", title="Fleet", url=list_url(Host), groups=groups, looks=looks, note=note)


_CUT = "Not all maintenance windows were compared, so more hosts may be in maintenance."


def _looks(tiles: Collection[Tile]) -> list[TileLook]:
    """The legend: the looks that the map has."""
    tones = Counter(tile.tone for tile in tiles if not tile.is_muted)
    looks = [TileLook(look, tones[look.tone]) for look in _LOOKS]
    muted = TileLook(_IN_MAINTENANCE, sum(tile.is_muted for tile in tiles))
    return [look for look in (*looks, muted) if look.count]


def _project_of(host: Host) -> str:
    return host.group_id


def _unit_of(host: Host) -> tuple[str | None, str | None]:
    return host.cluster_id, host.replica_set_id


def _group(hosts: Sequence[Host], tiles: Mapping[str, Tile]) -> TileGroup:
    rows = [_row(list(some), tiles) for _, some in groupby(hosts, _unit_of)]
    return TileGroup(_project(hosts[0].group_id, hosts[0].group.name), rows)


def _project(group_id: str, name: str) -> Cell:
    return Cell(name, page_url_of("accesslist.project", group_id))


def _row(hosts: Sequence[Host], tiles: Mapping[str, Tile]) -> TileRow:
    first = hosts[0]
    if first.replica_set_id:
        url = page_url_of("automation.replicaset", first.replica_set_id)
        label = Cell(first.replica_set_name or "", url)
    elif first.cluster_id:
        label = Cell(first.cluster_name or "", page_url_of("automation.cluster", first.cluster_id))
    else:
        label = Cell("single hosts")
    return TileRow(label, [tiles[host.id] for host in hosts])


def _tile(host: Host, now: datetime) -> Tile:
    state, tone = host_state(host, now)
    return Tile(str(host), page_url_of("automation.host", host.id), state, tone)


def _muted(tile: Tile) -> Tile:
    return replace(tile, state=f"{tile.state}, {_IN_MAINTENANCE.state}", is_muted=True)


def _counted(hosts: QuerySet[Host], now: datetime) -> tuple[list[TileGroup], str]:
    """The numbers of hosts of the projects with the most hosts that are down, then with the most hosts."""
    counted = hosts.values("group_id", name=F("group__name")).annotate(
        all_hosts=Count("id"),
        hosts_down=Count("id", filter=Q(down=True)),
        hosts_unknown=Count("id", filter=without_data(now)),
    )
    projects: list[Any] = list(counted.order_by("-hosts_down", "-all_hosts", "name")[: MOST_PROJECTS + 1])
    groups = [
        TileGroup(
            _project(project["group_id"], project["name"]),
            counts=[
                Cell(
                    f"{project[name]:,} {words}",
                    list_url(Host, **filters, group__id__exact=project["group_id"]),
                )
                for name, words, filters in _COUNTED
                if project[name]
            ],
        )
        for project in projects[:MOST_PROJECTS]
    ]
    more = f" Only {MOST_PROJECTS} projects are listed." if len(projects) > MOST_PROJECTS else ""
    return (
        groups,
        f"With more than {MOST_TILES} hosts, the map shows numbers instead of tiles. Hosts in maintenance are"
        f" not counted.{more}",
    )


_COUNTED: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("all_hosts", "hosts", {}),
    ("hosts_down", "down", {"down__exact": "1"}),
    ("hosts_unknown", "without data", {"data": "none"}),
)
