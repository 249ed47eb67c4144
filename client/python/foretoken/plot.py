"""Pictures for notebooks. Needs matplotlib: pip install foretoken[plot]."""

from __future__ import annotations

from typing import Any, Optional, Union

import matplotlib.pyplot
from matplotlib.axes import Axes

from foretoken import v1

PARTS = {"compute": "#4477aa", "memory": "#ee6677", "communication": "#228833", "host": "#ccbb44", "queueing": "#aa3377"}
WHOLE = "#bbbbbb"  # of a phase whose method gives no parts


def waterfall(reply: Union[v1.EstimateResponse, v1.Estimate], ax: Optional[Axes] = None) -> Axes:
    """Where the time of one estimate goes, from arrival to the last token: a bar for each part of prefill and decode,
    each beginning where the one before it ends."""
    estimate = reply.estimate if isinstance(reply, v1.EstimateResponse) else reply
    ax = ax or matplotlib.pyplot.subplots(figsize=(8, 4), layout="constrained")[1]
    labels: list[str] = []
    end = 0.0
    for label, seconds, color in _bars(estimate):
        ax.barh(len(labels), seconds, left=end, color=color)
        end += seconds
        labels.append(f"{label}, {_text(seconds)}")
    ax.axvline(estimate.ttft.seconds, color="black", linewidth=0.8, linestyle="--")
    ax.annotate(f" TTFT {_text(estimate.ttft.seconds)}", (estimate.ttft.seconds, 0), va="center")
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.set_xlabel("seconds from arrival")
    ax.set_title(f"E2E {_text(estimate.e2e.seconds)}, TPOT {_text(estimate.tpot.seconds)}")
    return ax


def _bars(estimate: v1.Estimate) -> list[tuple[str, float, str]]:
    bars = []
    for name in ("prefill", "decode"):
        phase: Any = getattr(estimate, name)
        if not phase.HasField("parts"):
            bars.append((name, phase.seconds, WHOLE))
            continue
        parts = [(f"{name} {part}", getattr(phase.parts, f"{part}_seconds"), color) for part, color in PARTS.items()]
        bars += [bar for bar in parts if bar[1] > 0]
    return bars


def _text(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"
