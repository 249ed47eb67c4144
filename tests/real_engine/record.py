"""What every experiment shares: tables that grow row by row, the state of the machine, and the reference point.

The reference point is one request alone on the idle engine. It is repeated between all others. Where it is off its
median, the machine was not the same, and compare.py drops what was measured beside it.
"""

import csv
import os
import statistics
import time

from requests_client import Request

REFERENCE = {"prompt_tokens": 256, "output_tokens": 24}
REFERENCE_COLUMNS = ["engine", "time", "ttft_s", "tpot_s", "gap_p90_s"]


class Table:
    """A CSV file to which each row is written as it comes. An existing file goes on."""

    def __init__(self, path, columns):
        self.path, self.columns = path, columns
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.exists(path):
            self._append(columns)

    def _append(self, cells):
        with open(self.path, "a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(cells)

    def add(self, row):
        unknown = set(row) - set(self.columns)
        if unknown:
            raise ValueError(f"{self.path} has no column {unknown}")
        self._append([cell(row.get(column)) for column in self.columns])

    def count(self):
        with open(self.path, encoding="utf-8") as file:
            return sum(1 for _ in file) - 1


def cell(value):
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else value


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Machine:
    """Shares of the time since the last reading: what the hypervisor took of core 0, and what ran on core 1."""

    def __init__(self):
        self.before = self._read()

    @staticmethod
    def _read():
        with open("/proc/stat", encoding="ascii") as file:
            return {line.split()[0]: [int(n) for n in line.split()[1:9]] for line in file if line.startswith("cpu")}

    def shares(self):
        before, self.before = self.before, self._read()
        spent = {core: [new - old for new, old in zip(self.before[core], before[core])] for core in ("cpu0", "cpu1")}
        total = {core: max(1, sum(ticks)) for core, ticks in spent.items()}
        return {"steal_share": spent["cpu0"][7] / total["cpu0"],
                "driver_core_share": 1 - (spent["cpu1"][3] + spent["cpu1"][4]) / total["cpu1"]}


async def reference(engine, table):
    """Mean of two; the row is written and returned."""
    sent = []
    for _ in range(2):
        sent.append(Request(**REFERENCE))
        await sent[-1].run(engine.port, engine.model)
    if any(request.status != "ok" for request in sent):
        raise RuntimeError(f"the reference point failed: {[request.status for request in sent]}")
    gaps = sorted(gap for request in sent for gap in request.gaps)
    row = {"engine": engine.name, "time": now(), "ttft_s": statistics.fmean(r.ttft for r in sent),
           "tpot_s": statistics.fmean(r.tpot for r in sent), "gap_p90_s": gaps[int(0.9 * len(gaps))]}
    table.add(row)
    return row
