"""Outcomes of floods as text: a line while they run, a table for docs/operations.md at the end."""


def memory(outcome):
    """The peak, and what is left of it."""
    if outcome["ended"] is not None:
        return f"the server ended with {outcome['ended']}"
    text = f"{outcome['peak_bytes'] / 1e6:,.0f} MB"
    if outcome["passed_ceiling"]:
        text = f"over {text}, stopped there"
    return f"{text}, {outcome['rest_bytes'] / 1e6:,.0f} MB left"


def polite(outcome):
    """p99 of the polite client, and which of its calls failed."""
    text = f"p99 {outcome['polite']['p99_seconds'] * 1e3:,.1f} ms"
    failed = outcome["polite"]["refused"]
    if failed:
        text += f" ({sum(failed.values())} of {sum(failed.values()) + outcome['polite']['answered']} calls failed)"
    if not outcome["serves_afterwards"]:
        text += ", no new connection afterwards"
    return text


def refused(outcome):
    return ", ".join(f"{count:,} {name}" for name, count in sorted(outcome["refused"].items())) or "nothing"


def cost(outcome):
    return f"{memory(outcome)}; {polite(outcome)}"


def line(outcome, before=None):
    then = f" | then: {cost(before)}" if before else ""
    return (f"{outcome['flood']:20} sent {outcome['sent']:>12,} | {cost(outcome)}; {outcome['cpu_seconds']:.1f} s of CPU"
            f" | refused: {refused(outcome)}{then}")


def table(outcomes, before):
    """In Markdown."""
    rows = ["| request | cost then | cost now | refused |", "|---|---|---|---|"]
    for name, outcome in outcomes.items():
        then = cost(before[name]) if name in before else ""
        rows.append(f"| {outcome['what']} | {then} | {cost(outcome)} | {refused(outcome)} |")
    return "\n".join(rows)
