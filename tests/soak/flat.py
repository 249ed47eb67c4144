"""Whether memory stays flat."""

WARM_UP_MINUTES = 5  # in which caches fill and the allocator settles
GROWTH = 0.05


def growth_of(by_minute, warm_up=WARM_UP_MINUTES):
    """The most by which a minute after the warm-up passes the highest minute of it, as a ratio; None: none is after it.

    `by_minute`: memory of the first minute, of the second, and so on; None where there was none."""
    first = [value for value in by_minute[:warm_up] if value is not None]
    later = [value for value in by_minute[warm_up:] if value is not None]
    return max(later) / max(first) - 1 if first and later else None


def faults(series, warm_up=WARM_UP_MINUTES):
    """A text for each of `series` (name -> memory by minute) that grows by more than GROWTH."""
    growths = {name: growth_of(by_minute, warm_up) for name, by_minute in series.items()}
    return [f"{name}: memory grew by {growth:.1%} after minute {warm_up}; allowed {GROWTH:.0%}"
            for name, growth in growths.items() if growth is not None and growth > GROWTH]
