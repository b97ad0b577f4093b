"""Times as ISO 8601 writes them, in UTC."""

DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "Y-m-d H:i:s\\Z"
DATE_FORMAT = SHORT_DATE_FORMAT = "Y-m-d"
