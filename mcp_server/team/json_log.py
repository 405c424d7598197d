"""The log of a team server: one JSON object on each line of standard error, without text of repositories.

Arguments of messages, texts of exceptions and answers are left out: they may quote code or name repositories. Of an
exception, its type and where it was raised are logged.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Final

REQUESTS: Final = logging.getLogger("golore.requests")
_OWN: Final = "golore."


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": os.getpid(),
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            line |= fields
        else:
            # Our own modules log no text of repositories; others are not known to.
            is_own = record.name.startswith(_OWN)
            line |= {"logger": record.name, "message": record.getMessage() if is_own else str(record.msg)}
        if record.exc_info and record.exc_info[0] is not None:
            frames = traceback.extract_tb(record.exc_info[2])
            line["exception"] = record.exc_info[0].__name__
            line["raised_at"] = [f"{PurePath(one.filename).name}:{one.lineno} {one.name}" for one in frames[-5:]]
        return json.dumps(line, ensure_ascii=True)


def log_request(**fields: object) -> None:
    REQUESTS.info("request", extra={"fields": {"event": "request", **fields}})


def set_up_log() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    REQUESTS.setLevel(logging.INFO)
