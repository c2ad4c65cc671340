"""San as a server: it alone holds data, cache and ledger, and stands between them and those who ask."""

from sanql.server.logs import json_log
from sanql.server.permissions import check_permissions
from sanql.server.running import RunningServer, serving
from sanql.server.settings import RequestLimits, ServerSettings, parse_address, read_settings

__all__ = [
    "RequestLimits",
    "RunningServer",
    "ServerSettings",
    "check_permissions",
    "json_log",
    "parse_address",
    "read_settings",
    "serving",
]
