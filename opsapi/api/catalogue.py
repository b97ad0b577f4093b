"""All errors of the API: code, HTTP status and message.

A message is a template of the error's parameters: `{0}` is the first. `GET /errorCodes` publishes this table,
and a test raises each of its entries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class ErrorCode(StrEnum):
    """The values of `errorCode`."""

    MISSING_ATTRIBUTE = "MISSING_ATTRIBUTE"
    INVALID_ATTRIBUTE = "INVALID_ATTRIBUTE"
    ATTRIBUTE_READ_ONLY = "ATTRIBUTE_READ_ONLY"
    INVALID_ENUM_VALUE = "INVALID_ENUM_VALUE"
    INVALID_JSON = "INVALID_JSON"
    INVALID_QUERY_PARAMETER = "INVALID_QUERY_PARAMETER"
    MISSING_QUERY_PARAMETER = "MISSING_QUERY_PARAMETER"
    INVALID_USERNAME = "INVALID_USERNAME"
    INVALID_EMAIL_ADDRESS = "INVALID_EMAIL_ADDRESS"
    WEAK_PASSWORD = "WEAK_PASSWORD"  # noqa: S105 - the name of an error
    ROLE_NEEDS_GROUP_ID = "ROLE_NEEDS_GROUP_ID"
    ROLE_NEEDS_ORG_ID = "ROLE_NEEDS_ORG_ID"
    ROLE_NEEDS_NO_GROUP_ID = "ROLE_NEEDS_NO_GROUP_ID"
    CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST = "CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST"
    REDACTED_VALUE_UNKNOWN = "REDACTED_VALUE_UNKNOWN"
    INVALID_ALERT_STATUS = "INVALID_ALERT_STATUS"
    ACKNOWLEDGEMENT_COMMENT_TOO_LONG = "ACKNOWLEDGEMENT_COMMENT_TOO_LONG"
    INVALID_EVENT_TYPE_FOR_ALERT = "INVALID_EVENT_TYPE_FOR_ALERT"
    GLOBAL_ALERTS_ONLY = "GLOBAL_ALERTS_ONLY"
    METRIC_THRESHOLD_PRESENT = "METRIC_THRESHOLD_PRESENT"
    MISSING_METRIC_THRESHOLD = "MISSING_METRIC_THRESHOLD"
    THRESHOLD_PRESENT = "THRESHOLD_PRESENT"
    MISSING_THRESHOLD = "MISSING_THRESHOLD"
    UNITS_MISMATCH = "UNITS_MISMATCH"
    INVALID_METRIC_NAME = "INVALID_METRIC_NAME"
    MISSING_NOTIFICATIONS = "MISSING_NOTIFICATIONS"
    NOTIFICATION_INTERVAL_OUT_OF_RANGE = "NOTIFICATION_INTERVAL_OUT_OF_RANGE"
    NOTIFICATION_TYPE_IS_GLOBAL_ONLY = "NOTIFICATION_TYPE_IS_GLOBAL_ONLY"
    TOO_MANY_GROUP_NOTIFICATIONS = "TOO_MANY_GROUP_NOTIFICATIONS"
    EMAIL_OR_SMS_REQUIRED = "EMAIL_OR_SMS_REQUIRED"
    WEBHOOK_URL_NOT_SET = "WEBHOOK_URL_NOT_SET"
    MISSING_MAINTENANCE_WINDOW_START_DATE = "MISSING_MAINTENANCE_WINDOW_START_DATE"
    MISSING_MAINTENANCE_WINDOW_END_DATE = "MISSING_MAINTENANCE_WINDOW_END_DATE"
    MISSING_MAINTENANCE_WINDOW_ALERT_TYPE_NAME = "MISSING_MAINTENANCE_WINDOW_ALERT_TYPE_NAME"
    MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE = "MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE"
    INVALID_SETTINGS = "INVALID_SETTINGS"
    LIMIT_REACHED = "LIMIT_REACHED"
    UNAUTHORIZED = "UNAUTHORIZED"
    USER_UNAUTHORIZED = "USER_UNAUTHORIZED"
    NOT_IN_GROUP = "NOT_IN_GROUP"
    IP_ADDRESS_NOT_ON_ACCESS_LIST = "IP_ADDRESS_NOT_ON_ACCESS_LIST"
    CANNOT_WIDEN_OWN_ACCESS_LIST = "CANNOT_WIDEN_OWN_ACCESS_LIST"
    CANNOT_ADD_GLOBAL_ROLE = "CANNOT_ADD_GLOBAL_ROLE"
    ROLE_NOT_HELD = "ROLE_NOT_HELD"
    CANNOT_CHANGE_OWN_ROLES = "CANNOT_CHANGE_OWN_ROLES"
    CANNOT_DEMOTE_LAST_OWNER = "CANNOT_DEMOTE_LAST_OWNER"
    INVITATION_ONLY_MODE_OR_LDAP = "INVITATION_ONLY_MODE_OR_LDAP"
    INVALID_GROUP_ID = "INVALID_GROUP_ID"
    GROUP_NOT_FOUND = "GROUP_NOT_FOUND"
    INVALID_ORG_ID = "INVALID_ORG_ID"
    ORG_NOT_FOUND = "ORG_NOT_FOUND"
    INVALID_USER_ID = "INVALID_USER_ID"
    USER_NOT_FOUND = "USER_NOT_FOUND"
    INVALID_TEAM_ID = "INVALID_TEAM_ID"
    TEAM_NOT_FOUND = "TEAM_NOT_FOUND"
    INVALID_API_KEY_ID = "INVALID_API_KEY_ID"
    API_KEY_NOT_FOUND = "API_KEY_NOT_FOUND"
    INVALID_ACCESS_LIST_ENTRY_ID = "INVALID_ACCESS_LIST_ENTRY_ID"
    ACCESS_LIST_ENTRY_NOT_FOUND = "ACCESS_LIST_ENTRY_NOT_FOUND"
    INVALID_ALERT_ID = "INVALID_ALERT_ID"
    ALERT_NOT_FOUND = "ALERT_NOT_FOUND"
    INVALID_NOTIFICATION_ID = "INVALID_NOTIFICATION_ID"
    NOTIFICATION_NOT_FOUND = "NOTIFICATION_NOT_FOUND"
    INVALID_ALERT_CONFIG_ID = "INVALID_ALERT_CONFIG_ID"
    ALERT_CONFIG_NOT_FOUND = "ALERT_CONFIG_NOT_FOUND"
    INVALID_GLOBAL_ALERT_CONFIG_ID = "INVALID_GLOBAL_ALERT_CONFIG_ID"
    GLOBAL_ALERT_CONFIG_NOT_FOUND = "GLOBAL_ALERT_CONFIG_NOT_FOUND"
    INVALID_MAINTENANCE_WINDOW_ID = "INVALID_MAINTENANCE_WINDOW_ID"
    MAINTENANCE_WINDOW_NOT_FOUND = "MAINTENANCE_WINDOW_NOT_FOUND"
    INVALID_EVENT_ID = "INVALID_EVENT_ID"
    EVENT_NOT_FOUND = "EVENT_NOT_FOUND"
    INVALID_HOST_ID = "INVALID_HOST_ID"
    HOST_NOT_FOUND = "HOST_NOT_FOUND"
    INVALID_CLUSTER_ID = "INVALID_CLUSTER_ID"
    CLUSTER_NOT_FOUND = "CLUSTER_NOT_FOUND"
    INVALID_AGENT_TYPE = "INVALID_AGENT_TYPE"
    AGENT_NOT_FOUND = "AGENT_NOT_FOUND"
    GROUP_NAME_NOT_FOUND = "GROUP_NAME_NOT_FOUND"
    ORG_NAME_NOT_FOUND = "ORG_NAME_NOT_FOUND"
    USERNAME_NOT_FOUND = "USERNAME_NOT_FOUND"
    DATABASE_NOT_FOUND = "DATABASE_NOT_FOUND"
    AUTOMATION_CONFIG_REVISION_NOT_FOUND = "AUTOMATION_CONFIG_REVISION_NOT_FOUND"
    INTEGRATION_NOT_CONFIGURED = "INTEGRATION_NOT_CONFIGURED"
    INVALID_INTEGRATION_TYPE = "INVALID_INTEGRATION_TYPE"
    RESOURCE_NOT_FOUND = "RESOURCE_NOT_FOUND"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    ADDRESS_ALREADY_IN_ACCESS_LIST = "ADDRESS_ALREADY_IN_ACCESS_LIST"
    ORG_NOT_EMPTY = "ORG_NOT_EMPTY"
    USER_ALREADY_EXISTS = "USER_ALREADY_EXISTS"
    GROUP_ALREADY_EXISTS = "GROUP_ALREADY_EXISTS"
    HOST_ALREADY_EXISTS = "HOST_ALREADY_EXISTS"
    INTEGRATION_ALREADY_CONFIGURED = "INTEGRATION_ALREADY_CONFIGURED"
    NOTIFICATION_CANNOT_BE_RESENT = "NOTIFICATION_CANNOT_BE_RESENT"
    AUTOMATION_CONFIG_CONCURRENT_MODIFICATION = "AUTOMATION_CONFIG_CONCURRENT_MODIFICATION"
    REQUEST_TOO_LARGE = "REQUEST_TOO_LARGE"
    UNSUPPORTED_MEDIA_TYPE = "UNSUPPORTED_MEDIA_TYPE"
    IDEMPOTENCY_KEY_REUSED = "IDEMPOTENCY_KEY_REUSED"
    RATE_LIMITED = "RATE_LIMITED"
    UNEXPECTED_ERROR = "UNEXPECTED_ERROR"
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class ErrorSpec:
    """The HTTP status and the message of a code."""

    status: int
    message: str


CATALOGUE: Mapping[ErrorCode, ErrorSpec] = {
    ErrorCode.MISSING_ATTRIBUTE: ErrorSpec(400, "The required attribute {0} is missing."),
    ErrorCode.INVALID_ATTRIBUTE: ErrorSpec(400, "The attribute {0} is invalid: {1}."),
    ErrorCode.ATTRIBUTE_READ_ONLY: ErrorSpec(400, "The attribute {0} is read-only."),
    ErrorCode.INVALID_ENUM_VALUE: ErrorSpec(400, "{0} has a value that is not allowed: {1}."),
    ErrorCode.INVALID_JSON: ErrorSpec(400, "The body is invalid: {0}."),
    ErrorCode.INVALID_QUERY_PARAMETER: ErrorSpec(400, "The query parameter {0} is invalid: {1}."),
    ErrorCode.MISSING_QUERY_PARAMETER: ErrorSpec(400, "The query parameter {0} is required."),
    ErrorCode.INVALID_USERNAME: ErrorSpec(400, "The username is invalid: {1}."),
    ErrorCode.INVALID_EMAIL_ADDRESS: ErrorSpec(400, "{0} is not a valid e-mail address."),
    ErrorCode.WEAK_PASSWORD: ErrorSpec(400, "The password is too weak: {1}"),
    ErrorCode.ROLE_NEEDS_GROUP_ID: ErrorSpec(400, "{0}: a role in a project needs a groupId."),
    ErrorCode.ROLE_NEEDS_ORG_ID: ErrorSpec(400, "{0}: a role in an organization needs an orgId."),
    ErrorCode.ROLE_NEEDS_NO_GROUP_ID: ErrorSpec(400, "{0}: this role cannot be granted in a project."),
    ErrorCode.CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST: ErrorSpec(
        400, "This change would block your own address, {0}."
    ),
    ErrorCode.REDACTED_VALUE_UNKNOWN: ErrorSpec(
        400, "{0} is a redacted value that does not match the stored value."
    ),
    ErrorCode.INVALID_ALERT_STATUS: ErrorSpec(400, "{0} is invalid: {1}."),
    ErrorCode.ACKNOWLEDGEMENT_COMMENT_TOO_LONG: ErrorSpec(400, "{0} is longer than 500 characters."),
    ErrorCode.INVALID_EVENT_TYPE_FOR_ALERT: ErrorSpec(
        400, "This event type cannot be used in alert configurations ({0})."
    ),
    ErrorCode.GLOBAL_ALERTS_ONLY: ErrorSpec(
        400, "This event type is only allowed in global alert configurations ({0})."
    ),
    ErrorCode.METRIC_THRESHOLD_PRESENT: ErrorSpec(
        400, "{0} is only allowed with the event type OUTSIDE_METRIC_THRESHOLD."
    ),
    ErrorCode.MISSING_METRIC_THRESHOLD: ErrorSpec(
        400, "{0} is required with the event type OUTSIDE_METRIC_THRESHOLD."
    ),
    ErrorCode.THRESHOLD_PRESENT: ErrorSpec(
        400,
        "{0} is only allowed with the event types TOO_FEW_HEALTHY_MEMBERS and TOO_MANY_UNHEALTHY_MEMBERS.",
    ),
    ErrorCode.MISSING_THRESHOLD: ErrorSpec(400, "{0} is required with this event type."),
    ErrorCode.UNITS_MISMATCH: ErrorSpec(400, "{0}: {1}."),
    ErrorCode.INVALID_METRIC_NAME: ErrorSpec(400, "{0} is not a metric: {1}."),
    ErrorCode.MISSING_NOTIFICATIONS: ErrorSpec(400, "At least one notification is required ({0})."),
    ErrorCode.NOTIFICATION_INTERVAL_OUT_OF_RANGE: ErrorSpec(400, "{0} {1}, in whole minutes."),
    ErrorCode.NOTIFICATION_TYPE_IS_GLOBAL_ONLY: ErrorSpec(
        400, "{0}: this notification type is only allowed in global alert configurations."
    ),
    ErrorCode.TOO_MANY_GROUP_NOTIFICATIONS: ErrorSpec(
        400, "{0}: at most one notification of type GROUP and one of type ORG is allowed."
    ),
    ErrorCode.EMAIL_OR_SMS_REQUIRED: ErrorSpec(400, "{0}: emailEnabled or smsEnabled must be true."),
    ErrorCode.WEBHOOK_URL_NOT_SET: ErrorSpec(
        400, "{0} is required because the project has no webhook integration."
    ),
    ErrorCode.MISSING_MAINTENANCE_WINDOW_START_DATE: ErrorSpec(400, "{0} is required."),
    ErrorCode.MISSING_MAINTENANCE_WINDOW_END_DATE: ErrorSpec(400, "{0} is required."),
    ErrorCode.MISSING_MAINTENANCE_WINDOW_ALERT_TYPE_NAME: ErrorSpec(
        400, "{0} needs at least one alert type name."
    ),
    ErrorCode.MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE: ErrorSpec(
        400, "{0} must be later than startDate."
    ),
    ErrorCode.INVALID_SETTINGS: ErrorSpec(400, "The automation configuration is invalid at {0}: {1}."),
    ErrorCode.LIMIT_REACHED: ErrorSpec(400, "A project can have at most {1} {0}."),
    ErrorCode.UNAUTHORIZED: ErrorSpec(
        401, "You are not authorized for this resource: valid API key credentials are required."
    ),
    ErrorCode.USER_UNAUTHORIZED: ErrorSpec(403, "You need the role {0}."),
    ErrorCode.NOT_IN_GROUP: ErrorSpec(403, "You have no role in a project with ID {0}."),
    ErrorCode.IP_ADDRESS_NOT_ON_ACCESS_LIST: ErrorSpec(403, "The address {0} is not on {1}."),
    ErrorCode.CANNOT_WIDEN_OWN_ACCESS_LIST: ErrorSpec(
        403,
        "A key cannot add entries to its own access list or remove the last one. "
        "Use another key or the console.",
    ),
    ErrorCode.CANNOT_ADD_GLOBAL_ROLE: ErrorSpec(403, "Only a Global Owner can grant the global role {0}."),
    ErrorCode.ROLE_NOT_HELD: ErrorSpec(403, "You cannot grant the role {0} because you do not have it."),
    ErrorCode.CANNOT_CHANGE_OWN_ROLES: ErrorSpec(403, "You cannot change your own roles."),
    ErrorCode.CANNOT_DEMOTE_LAST_OWNER: ErrorSpec(403, "The last Global Owner cannot be removed."),
    ErrorCode.INVITATION_ONLY_MODE_OR_LDAP: ErrorSpec(
        403, "Users can only be created in invitation-only mode without LDAP authentication."
    ),
    ErrorCode.INVALID_GROUP_ID: ErrorSpec(404, "{0} is not the ID of a project."),
    ErrorCode.GROUP_NOT_FOUND: ErrorSpec(404, "No project with ID {0} exists."),
    ErrorCode.INVALID_ORG_ID: ErrorSpec(404, "{0} is not the ID of an organization."),
    ErrorCode.ORG_NOT_FOUND: ErrorSpec(404, "No organization with ID {0} exists."),
    ErrorCode.INVALID_USER_ID: ErrorSpec(404, "{0} is not the ID of a user."),
    ErrorCode.USER_NOT_FOUND: ErrorSpec(404, "No user with ID {0} exists."),
    ErrorCode.INVALID_TEAM_ID: ErrorSpec(404, "{0} is not the ID of a team."),
    ErrorCode.TEAM_NOT_FOUND: ErrorSpec(404, "No team {0} exists here."),
    ErrorCode.INVALID_API_KEY_ID: ErrorSpec(404, "{0} is not the ID of an API key."),
    ErrorCode.API_KEY_NOT_FOUND: ErrorSpec(404, "No API key with ID {0} exists here."),
    ErrorCode.INVALID_ACCESS_LIST_ENTRY_ID: ErrorSpec(404, "{0} is not the ID of an access list entry."),
    ErrorCode.ACCESS_LIST_ENTRY_NOT_FOUND: ErrorSpec(404, "No access list entry with ID {0} exists."),
    ErrorCode.INVALID_ALERT_ID: ErrorSpec(404, "{0} is not the ID of an alert."),
    ErrorCode.ALERT_NOT_FOUND: ErrorSpec(404, "No alert with ID {0} exists in group {1}."),
    ErrorCode.INVALID_NOTIFICATION_ID: ErrorSpec(404, "{0} is not the ID of a notification."),
    ErrorCode.NOTIFICATION_NOT_FOUND: ErrorSpec(404, "No notification with ID {0} exists here."),
    ErrorCode.INVALID_ALERT_CONFIG_ID: ErrorSpec(404, "{0} is not the ID of an alert configuration."),
    ErrorCode.ALERT_CONFIG_NOT_FOUND: ErrorSpec(
        404, "No alert configuration with ID {0} exists in group {1}."
    ),
    ErrorCode.INVALID_GLOBAL_ALERT_CONFIG_ID: ErrorSpec(
        404, "{0} is not the ID of a global alert configuration."
    ),
    ErrorCode.GLOBAL_ALERT_CONFIG_NOT_FOUND: ErrorSpec(
        404, "No global alert configuration with ID {0} exists."
    ),
    ErrorCode.INVALID_MAINTENANCE_WINDOW_ID: ErrorSpec(404, "{0} is not the ID of a maintenance window."),
    ErrorCode.MAINTENANCE_WINDOW_NOT_FOUND: ErrorSpec(
        404, "No maintenance window with ID {0} exists in group {1}."
    ),
    ErrorCode.INVALID_EVENT_ID: ErrorSpec(404, "{0} is not the ID of an event."),
    ErrorCode.EVENT_NOT_FOUND: ErrorSpec(404, "No event with ID {0} exists here."),
    ErrorCode.INVALID_HOST_ID: ErrorSpec(404, "{0} is not the ID of a host."),
    ErrorCode.HOST_NOT_FOUND: ErrorSpec(404, "No host {0} exists in group {1}."),
    ErrorCode.INVALID_CLUSTER_ID: ErrorSpec(404, "{0} is not the ID of a cluster."),
    ErrorCode.CLUSTER_NOT_FOUND: ErrorSpec(404, "No cluster with ID {0} exists in group {1}."),
    ErrorCode.INVALID_AGENT_TYPE: ErrorSpec(
        404, "{0} is not an agent type. Allowed: MONITORING, BACKUP, AUTOMATION."
    ),
    ErrorCode.AGENT_NOT_FOUND: ErrorSpec(404, "No {0} agent {1} exists in the group."),
    ErrorCode.GROUP_NAME_NOT_FOUND: ErrorSpec(404, "No project with the name {0} exists."),
    ErrorCode.ORG_NAME_NOT_FOUND: ErrorSpec(404, "No organization with the name {0} exists."),
    ErrorCode.USERNAME_NOT_FOUND: ErrorSpec(404, "No user with the name {0} exists."),
    ErrorCode.DATABASE_NOT_FOUND: ErrorSpec(404, "No database {0} exists on host {1}."),
    ErrorCode.AUTOMATION_CONFIG_REVISION_NOT_FOUND: ErrorSpec(
        404, "No revision {0} of the automation configuration exists."
    ),
    ErrorCode.INTEGRATION_NOT_CONFIGURED: ErrorSpec(
        404, "The integration {0} is not configured for group {1}."
    ),
    ErrorCode.INVALID_INTEGRATION_TYPE: ErrorSpec(404, "{0} is not an integration type."),
    ErrorCode.RESOURCE_NOT_FOUND: ErrorSpec(404, "No resource exists at {0}."),
    ErrorCode.METHOD_NOT_ALLOWED: ErrorSpec(405, "The method {0} is not allowed here. Allowed: {1}."),
    ErrorCode.ADDRESS_ALREADY_IN_ACCESS_LIST: ErrorSpec(
        409, "The address {0} is already on the access list, as entry {1}."
    ),
    ErrorCode.ORG_NOT_EMPTY: ErrorSpec(409, "The organization {0} still has projects: {1}."),
    ErrorCode.USER_ALREADY_EXISTS: ErrorSpec(
        409, "A user with the name {0} or a similar-looking name already exists."
    ),
    ErrorCode.GROUP_ALREADY_EXISTS: ErrorSpec(409, "A project with the name {0} already exists."),
    ErrorCode.HOST_ALREADY_EXISTS: ErrorSpec(409, "The host {0} already exists in this project."),
    ErrorCode.INTEGRATION_ALREADY_CONFIGURED: ErrorSpec(
        409, "The integration {0} is already configured for group {1}."
    ),
    ErrorCode.NOTIFICATION_CANNOT_BE_RESENT: ErrorSpec(
        409, "The notification {0} cannot be sent again: {1}."
    ),
    ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION: ErrorSpec(
        409, "The automation configuration is at version {1}, not {0}."
    ),
    ErrorCode.REQUEST_TOO_LARGE: ErrorSpec(413, "The body is larger than {0} bytes."),
    ErrorCode.UNSUPPORTED_MEDIA_TYPE: ErrorSpec(415, "The body must be sent as application/json (UTF-8)."),
    ErrorCode.IDEMPOTENCY_KEY_REUSED: ErrorSpec(
        422,
        "The Idempotency-Key {0} was used for another body within the last day. Use a new key for "
        "each report.",
    ),
    ErrorCode.RATE_LIMITED: ErrorSpec(429, "Too many requests. Try again in {0} seconds."),
    ErrorCode.UNEXPECTED_ERROR: ErrorSpec(500, "Something went wrong on our side. The request ID is {0}."),
    ErrorCode.SERVICE_UNAVAILABLE: ErrorSpec(503, "The service is not available right now: {0}."),
}
