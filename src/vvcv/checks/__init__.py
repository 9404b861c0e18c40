"""Trust: Stein identities, differences and a look at the points, before any number is believed."""

from .findings import AlarmWarning, Check, Finding
from .mixing import Mixing, mixing
from .run import check

__all__ = ["AlarmWarning", "Check", "Finding", "Mixing", "check", "mixing"]
