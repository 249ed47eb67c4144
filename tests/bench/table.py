"""The rows of tests/bench/run: a figure, its unit, and the target beside it."""

from dataclasses import dataclass


@dataclass
class Row:
    """`at_least` tells which side of the target is good; no target: the figure is stated only."""

    what: str
    figure: float
    unit: str
    target: float = None
    at_least: bool = False

    def verdict(self):
        if self.target is None:
            return ""
        met = self.figure >= self.target if self.at_least else self.figure <= self.target
        return "met" if met else "MISSED"

    def as_dict(self):
        return {"what": self.what, "figure": self.figure, "unit": self.unit, "target": self.target,
                "at_least": self.at_least, "verdict": self.verdict()}


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def print_table(rows):
    width = max((len(row.what) for row in rows), default=0)
    print(f"{'what':{width}}  {'figure':>12}  {'target':>12}")
    for row in rows:
        target = "" if row.target is None else ("" if row.at_least else "<= ") + number(row.target)
        if row.target is not None and row.at_least:
            target = ">= " + number(row.target)
        print(f"{row.what:{width}}  {number(row.figure):>12}  {target:>12}  {row.verdict():6}  {row.unit}")
