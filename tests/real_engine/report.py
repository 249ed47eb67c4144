"""The tables of what was measured and predicted, as a README. Nothing in it is written by hand.

An error is |predicted/measured - 1|, in the median. The ratio is measured/predicted, in the geometric mean: above 1
means predicted too fast. The level-free error is what is left when every prediction of a group is multiplied by the
group's median ratio: it tells shape from level.
"""

import collections
import math
import os
import re
import statistics

import exact

METRICS = ("ttft", "tpot", "e2e")
MEANS, ONE_BY_ONE = "live load", "live load, one by one"  # of the running sequences
TAILS = ("ttft_p90", "tpot_p90", "itl_p90", "e2e_p90")


def table(header, rows):
    lines = ["| " + " | ".join(str(cell) for cell in line) + " |" for line in (header, *rows)]
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]])


def percent(value):
    return "-" if value is None else f"{100 * value:.1f}%"


def pairs(rows):
    return [(row["measured_s"], row["predicted_s"]) for row in rows if row["predicted_s"]]


def error(seen, share=0.5):
    """At the share of the errors in order; in the middle, the median."""
    off = sorted(abs(predicted / measured - 1) for measured, predicted in seen)
    if not off:
        return None
    return statistics.median(off) if share == 0.5 else off[int(share * (len(off) - 1))]


def ratio(seen):
    return math.exp(statistics.fmean(math.log(measured / predicted) for measured, predicted in seen)) if seen else None


def level_free(seen):
    if len(seen) < 3:
        return None
    level = statistics.median(measured / predicted for measured, predicted in seen)
    return error([(measured, predicted * level) for measured, predicted in seen])


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for index in order[start:end + 1]:
            found[index] = (start + end) / 2
        start = end + 1
    return found


def rank_correlation(seen):
    """Spearman's."""
    if len(seen) < 5:
        return None
    return statistics.correlation(*(ranks(list(column)) for column in zip(*seen)))


def number(value):
    return "-" if value is None else f"{value:.2f}"


def milliseconds(value):
    return f"{1e3 * value:.1f} ms"


def select(rows, **wanted):
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def in_order(rows, name):
    return list(dict.fromkeys(row[name] for row in rows))


def error_cell(rows):
    seen = pairs(rows)
    return "-" if not seen else f"{percent(error(seen))}, x{ratio(seen):.2f}"


def distinct(rows):
    """Without the predictions of a calibration that changes none of them."""
    seen, wanted = set(), []
    for (group, method, calibration), own in grouped(rows, "group", "method", "calibration").items():
        figures = (group, method, tuple((row["name"], row["metric"], row["predicted_s"]) for row in own))
        if figures not in seen:
            seen.add(figures)
            wanted += own
    return wanted


def grouped(rows, *names):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return groups


def loop_table(rows, metrics):
    """A line for each group, method and calibration."""
    lines = []
    for key, own in sorted(grouped(rows, "group", "method", "calibration").items(), key=lambda item: item[0][:2]):
        refused = {row["name"] for row in own if row["refused"]}
        lines.append([*key, len({row["name"] for row in own}), len(refused),
                      *(error_cell(select(own, metric=metric)) for metric in metrics)])
    return table(["runs", "method", "calibrated by", "runs", "refused", *metrics], lines)


def engine_of(row):
    return row["group"].split(":")[0]


def summary_table(rows, of, metrics):
    """Over all groups of an engine: error, and the same without the level; of ttft also at the 90th percentile."""
    lines = []
    for (engine, method, calibration), own in grouped([row | {"engine": engine_of(row)} for row in rows],
                                                      "engine", "method", "calibration").items():
        seen = {metric: pairs(select(own, metric=metric)) for metric in metrics}
        lines.append([engine, method, calibration, len({row["name"] for row in own if not row["refused"]}),
                      *(f"{percent(error(seen[m]))}, {percent(level_free(seen[m]))}" for m in metrics),
                      percent(error(seen["ttft"], 0.9)), number(rank_correlation(seen["ttft"]))])
    return table(["engine", "method", "calibrated by", of, *(f"{m}: error, level-free" for m in metrics),
                  "ttft: error, p90", "rank correlation of ttft"], sorted(lines, key=lambda line: line[0]))


def state_table(rows, calibration):
    """The live load by what the probe meets, and beside it what is reachable."""
    lines = []
    for (group,), every in sorted(grouped(rows, "group").items()):
        own = select(every, method=ONE_BY_ONE, calibration=calibration)
        by_means = select(every, method=MEANS, calibration=calibration, metric="ttft")
        ttft = pairs(select(own, metric="ttft"))
        reachable = (error_cell(select(every, method=method, metric="ttft"))
                     for method in (exact.ALL, exact.MEANS, exact.LEAST))
        lines.append([group, len({row["name"] for row in own}), len({row["name"] for row in own if row["refused"]}),
                      milliseconds(statistics.median(m for m, _ in ttft)) if ttft else "-",
                      *(error_cell(select(own, metric=metric)) for metric in METRICS),
                      percent(level_free(ttft)), number(rank_correlation(ttft)), error_cell(by_means), *reachable])
    return table(["states", "count", "refused", "median TTFT", *METRICS, "ttft level-free", "rank correlation of ttft",
                  "ttft, by means", *(f"ttft, {method}" for method in (exact.ALL, exact.MEANS, exact.LEAST))], lines)


def noise_table(measured, references):
    lines = []
    for engine, (ttft, tpot) in references.items():
        own = select(measured["references"], engine=engine)
        def spread(column, usual, own=own):
            off = sorted(abs(float(row[column]) / usual - 1) for row in own)
            return f"{percent(statistics.median(off))}, {percent(off[int(0.9 * (len(off) - 1))])}"
        beside = [float(row["driver_core_share"]) for row in measured["runs"] + measured["states"]
                  if engine in (row.get("engine_name"), row["engine"])]
        lines.append([engine, len(own), milliseconds(ttft), spread("ttft_s", ttft), milliseconds(tpot),
                      spread("tpot_s", tpot), percent(statistics.fmean(beside))])
    return table(["engine", "repeats", "TTFT", "off by: median, p90", "TPOT", "off by: median, p90",
                  "core 1 was busy"], lines)


POINT = ("engine_name", "batch_size", "request_rate", "arrival_cv", "requests", "prompt_tokens", "prompt_tokens_min",
         "output_tokens", "output_tokens_min", "cached_prefix_tokens")


def point_of(run):
    return tuple(run[name] for name in POINT)


def repeat_table(runs):
    """Points that were measured more than once."""
    lines = []
    for point, rows in grouped(runs, *POINT).items():
        if len(rows) > 1:
            spreads = []
            for metric in METRICS:
                values = [float(row[f"{metric}_s"]) for row in rows]
                spreads.append(percent(max(values) / min(values) - 1))
            lines.append([point[0], point[1], f"{point[5]} in, {point[7]} out", len(rows), *spreads])
    return table(["engine", "users", "lengths at most", "repeats", *(f"{m}: largest over smallest" for m in METRICS)],
                 lines) if lines else "No point was repeated."


def plan_of(state, requests):
    """What was sent. How much of it had been done when the probe came differs from repeat to repeat."""
    return (state["engine"], state["kind"], state["probe_prompt_tokens"], state["probe_output_tokens"],
            *((row["role"], row["prompt_tokens"], row["output_tokens"]) for row in requests))


def repeated_states(states, requests):
    groups = collections.defaultdict(list)
    for state in states:
        groups[plan_of(state, requests.get(state["state"], []))].append(float(state["probe_ttft_s"]))
    off = [abs(times[-1] / times[0] - 1) for times in groups.values() if len(times) > 1]
    return (f"{len(off)} states were made again with the same requests: the probe's TTFT differed by "
            f"{percent(statistics.median(off))} in the median." if off else "No state was made again.")


def text_of(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def provenance(folder, measured):
    spec = text_of(folder, "cpu.textproto")
    days = sorted(row["time"] for row in measured["references"])
    flags = {row["engine_name"]: row["flags"] for row in measured["runs"]}
    flags |= {row["engine"]: row["flags"] for row in measured["states"]}
    stolen = [float(row["steal_share"]) for row in measured["runs"] + measured["states"]]
    driver = [float(row["driver_core_share"]) for row in measured["runs"] + measured["states"]]
    requests = sum(len(rows) for rows in measured["run_requests"].values())
    lines = [f"- Processor: {re.search(r'display_name: .(.*?).$', spec, re.M).group(1)}; the engine on core 0, the "
             "driver and foretokend on core 1.",
             f"- Measured {days[0]} to {days[-1]}: {len(measured['states'])} live states, {len(measured['runs'])} runs "
             f"of {requests} requests.",
             f"- Of core 0 the hypervisor took {percent(statistics.fmean(stolen))} in the mean; core 1 was busy for "
             f"{percent(statistics.fmean(driver))}."]
    return "\n".join(lines + [f"- `{name}`: vLLM 0.32.0 on CPU, `{stated}`" for name, stated in flags.items()])


def refusals(rows):
    refused = [(row["method"], re.sub(r"[\d.]+", "N", row["refused"])) for row in rows if row["refused"]]
    counts = collections.Counter(refused).most_common(8)
    lines = [f"- {method}: {reason} ({count} times)" for (method, reason), count in counts]
    return "\n".join(lines) or "None."


def what_fits_said(said):
    """Without what the samples do not identify, the probe set, and etags."""
    fit = re.split(r"\n\d+ of \d+ predictions", said)[0]
    lines = (line for line in fit.splitlines() if "not identified" not in line)
    return "\n".join(line for line in lines if not line.startswith("registered hardware")).strip()


def document(folder, measured, references, runs, states, used, rows, reports, most_drift):
    last = list(reports)[-1]
    run_rows, state_rows = (distinct(select(rows, of=of)) for of in ("run", "state"))
    dropped = (len(measured["runs"]) - len(runs), len(measured["states"]) - len(states))
    parts = [
        "# Live states and loops of a real engine", "Written by `tests/real_engine/compare.py`.",
        __doc__.split("\n\n")[1].strip(),
        provenance(folder, measured), "## Noise", "The reference point, one request alone, between all others:",
        noise_table(measured, references),
        f"Where the reference point beside it was off by more than {percent(most_drift)}, a run or state was dropped: "
        f"{dropped[0]} runs and {dropped[1]} states.",
        repeat_table(runs), repeated_states(states, measured["state_requests"]), "## Loops",
        "A calibration that changes no prediction of a line is left out. The calibrating runs and "
        f"repeats of their points are no part of the tables: {', '.join(sorted(used))}.",
        summary_table(run_rows, "runs", METRICS),
        "Error and ratio by kind of load:", loop_table(run_rows, METRICS),
        "90th percentiles, by simulation:", loop_table(select(run_rows, method="simulation"), TAILS),
        "## Live states", "What `exact schedule` means, tests/real_engine/exact.py says.",
        summary_table(state_rows, "states", METRICS), f"By what the probe meets, calibrated by: {last}.",
        state_table(select(rows, of="state"), last), "## Refused", refusals(rows), "## What the fits said"]
    parts += [f"Calibrated by: {name}.\n\n```\n{what_fits_said(said)}\n```" for name, said in reports.items()]
    return "\n\n".join(parts) + "\n"
