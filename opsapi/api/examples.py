"""Common values of the examples in the OpenAPI document; each document declares its own example."""

AN_ID = "69201a2b3c4d5e6f70819203"
ANOTHER_ID = "69201a2b3c4d5e6f70819204"
A_TIME = "2026-11-21T07:26:14Z"


def self_link(path: str) -> list[dict[str, str]]:
    """The links of an entity inside a list; `path` is one of the public API."""
    return [{"href": f"https://ops.example.com/api/public/v1.0{path}", "rel": "self"}]
