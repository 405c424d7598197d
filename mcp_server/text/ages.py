"""Ages in words."""

from __future__ import annotations

from golore.graph.phrases import counted


def age(seconds: int) -> str:
    """A rough time in the past, such as `3 days ago`."""
    days = max(0, seconds) // 86_400
    if days < 1:
        hours = max(0, seconds) // 3_600
        return f"{counted(hours, 'hour')} ago" if hours else "just now"
    if days < 60:
        return f"{counted(days, 'day')} ago"
    return f"{counted(days // 30, 'month')} ago" if days < 730 else f"{counted(days // 365, 'year')} ago"
