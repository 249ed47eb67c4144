"""What writers were told, and the check of it against what is there.

A write is acknowledged (OK), refused (an answer that excludes it) or unknown (no answer, or one that says that it may
have happened). For each id the value that is there must be one that some write may have left:

- it was written by an acknowledged or unknown write, whole;
- no acknowledged write that began after that write had ended is missing above it: a later acknowledged write of the
  same id hides every write that ended before it began.
"""

import threading
import time
from collections import Counter, namedtuple

MAY_BE = "it may have been written"
NOTHING = "nothing was written"

Write = namedtuple("Write", "identifier value outcome began ended etag")


def outcome_of(error):
    """The outcome of a write that was answered by an error."""
    if error.code.name in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL", "UNKNOWN"):
        return "refused" if NOTHING in error.message else "unknown"
    return "refused"


class Journal:
    def __init__(self):
        self.lock = threading.Lock()
        self.writes = []
        self.codes = Counter()

    def add(self, identifier, value, outcome, began, etag="", code="OK"):
        with self.lock:
            self.writes.append(Write(identifier, value, outcome, began, time.monotonic(), etag))
            self.codes[code] += 1

    def counts(self):
        return Counter(write.outcome for write in self.writes)

    def faults(self, found):
        """What contradicts the journal in `found`, a dict of id to value; one text each."""
        by_id = {}
        for write in self.writes:
            by_id.setdefault(write.identifier, []).append(write)
        faults = [f"{identifier}: nobody wrote it" for identifier in found if identifier not in by_id]
        for identifier, writes in by_id.items():
            faults += self._faults_of(identifier, writes, found.get(identifier))
        return faults

    @staticmethod
    def _faults_of(identifier, writes, value):
        acknowledged = [write for write in writes if write.outcome == "acknowledged"]
        if value is None:
            return [f"{identifier}: {len(acknowledged)} acknowledged writes are lost"] if acknowledged else []
        wrote = [write for write in writes if write.value == value and write.outcome != "refused"]
        if not wrote:
            return [f"{identifier}: {value!r} was refused, or never written so"]
        # An unknown write may still happen long after its caller gave up, so it is hidden by nothing.
        last = max((float("inf") if write.outcome == "unknown" else write.ended) for write in wrote)
        later = [write for write in acknowledged if write.began > last]
        return [f"{identifier}: {value!r} is there; {later[-1].value!r}, acknowledged later, is lost"] if later else []
