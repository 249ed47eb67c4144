"""Compares what was measured with what foretoken predicts, and writes the tables of a README.

    /usr/bin/python3 compare.py MEASURED

MEASURED has the tables of measure.py and cpu.textproto. Every prediction goes to
build/release/real_engine_predicted.csv, the tables to MEASURED/README.md. First nothing is calibrated, then ten runs are
registered, and the others are predicted.
"""

import collections
import csv
import os
import statistics
import sys

import exact
import report
from predict import Foretoken, in_flight

MOST_DRIFT = 0.2  # of the reference point beside a run, from the median of its engine: else the run is dropped
CALIBRATION_RUNS = 10
MIXTURE_RUNS = 4  # more, of the mixture, in the third case
# kernels: routed experts timed alone; profiled: what `foretoken profile --budget 5m` measured of dense
SETTINGS = ("none", "dense", "dense and mixture", "dense and kernels", "profiled")
ENDS_TOGETHER = 3  # steps between the first and the last
FEWEST_STATES = 20  # states that the constants of exact.py need at least
COLUMNS = ["of", "name", "group", "calibration", "method", "metric", "measured_s", "predicted_s", "refused"]


def read(folder, name):
    with open(os.path.join(folder, name + ".csv"), encoding="utf-8") as file:
        return list(csv.DictReader(file))


def references_by_engine(rows):
    times = collections.defaultdict(list)
    for row in rows:
        times[row["engine"]].append((float(row["ttft_s"]), float(row["tpot_s"])))
    return {engine: tuple(statistics.median(column) for column in zip(*seen)) for engine, seen in times.items()}


def drift(row, engine, references):
    usual = references[engine]
    return max(abs(float(row[f"reference_{name}_s"]) / usual[i] - 1) for i, name in enumerate(("ttft", "tpot")))


def kept(rows, engine_column, references):
    return [row for row in rows if drift(row, row[engine_column], references) <= MOST_DRIFT]


def closed_whole(row):
    return not row["request_rate"] and not int(row["failed"])


def calibration_rows(runs, engine, count):
    """Evenly from the closed loops of an engine in order of concurrency, so that few and many users are among them."""
    loops = sorted((row for row in runs if row["engine_name"] == engine and closed_whole(row)),
                   key=lambda row: (int(row["batch_size"]), int(row["prompt_tokens"])))
    if len(loops) <= count:
        return loops
    return [loops[round(i * (len(loops) - 1) / (count - 1))] for i in range(count)]


def by_name(rows, column):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row[column]].append(row)
    return groups


def group_of_run(row):
    if row["request_rate"]:
        kind = "bursts" if float(row["arrival_cv"]) > 1 else "Poisson"
    else:
        kind = "closed, mixed lengths" if row["prompt_tokens"] != row["prompt_tokens_min"] else "closed, one length"
    return f"{row['engine_name']}: {kind}"


def group_of_state(row):
    """By what the probe meets. Where it waits for a seat, it matters whether all running sequences end together."""
    requests = int(row["decoding"]) + int(row["without_token"])
    if row["kind"] == "cache full" or requests < int(row["max_num_seqs"]):
        return f"{row['engine']}: {row['kind']}"
    together = int(row["remaining_max"]) - int(row["remaining_min"]) <= ENDS_TOGETHER
    return f"{row['engine']}: waits for a seat, all end {'together' if together else 'apart'}"


def times(row, of):
    """Measured times of a run or of a probe, by metric."""
    if of == "state":
        names = {metric: f"probe_{metric}_s" for metric in report.METRICS}
        return {metric: float(row[column]) for metric, column in names.items() if row[column]}
    names = {metric: f"{metric}_s" for metric in report.METRICS}
    names |= {tail: f"{tail}_s" for tail in report.TAILS}
    return {metric: float(row[column]) for metric, column in names.items() if row[column]}


def lines(row, of, calibration, method, predicted):
    """Rows of predicted.csv."""
    group = group_of_state(row) if of == "state" else group_of_run(row)
    for metric, measured in times(row, of).items():
        if metric in predicted or "refused" in predicted:
            yield {"of": of, "name": row[of], "group": group, "calibration": calibration, "method": method,
                   "metric": metric, "measured_s": measured, "predicted_s": predicted.get(metric),
                   "refused": predicted.get("refused")}


def predictions(foretoken, calibration, runs, states, measured):
    for row in states:
        requests = measured["state_requests"].get(row["state"], [])
        for method, each in ((report.MEANS, False), (report.ONE_BY_ONE, True)):
            yield from lines(row, "state", calibration, method, foretoken.state(row, requests, each))
    for row in runs:
        yield from lines(row, "run", calibration, "closed form", foretoken.loop(row))
        yield from lines(row, "run", calibration, "simulation",
                         foretoken.simulated(row, measured["run_requests"][row["run"]]))


def exact_lines(states, measured):
    """What is reachable, an engine at a time, as another method."""
    for rows in by_name(states, "engine").values():
        rows = [row for row in rows if row["kind"] != "cache full"]  # whose preemptions exact.py does not follow
        requests = [measured["state_requests"].get(row["state"], []) for row in rows]
        if len(rows) < FEWEST_STATES:
            continue
        for method in (exact.ALL, exact.MEANS, exact.LEAST):
            features = [exact.probe_features(row, own, *in_flight(row, own), method)
                        for row, own in zip(rows, requests)]
            reachable = exact.predictions(rows, features)
            for row in rows:
                yield from lines(row, "state", "other states", method, reachable[row["state"]])


def profiled_rows(folder):
    """None where nothing was profiled: then that setting is as the first, and is left out of the tables."""
    return read(folder, "profiled") if os.path.exists(os.path.join(folder, "profiled.csv")) else []


def compare(folder, measured, runs, states):
    few = calibration_rows(runs, "dense", CALIBRATION_RUNS)
    more = few + calibration_rows(runs, "mixture", MIXTURE_RUNS)
    used = {row["run"] for row in more}
    points = {report.point_of(row) for row in more}
    others = [row for row in runs if report.point_of(row) not in points]  # repeats of what calibrates are no test
    rows, reports = [], {}
    configs = {f"lab-{model}": os.path.join(folder, model, "config.json") for model in ("dense", "mixture")}
    kernels = ("--kernels", os.path.join(folder, "kernels.csv"))
    for calibration, samples, flags in zip(SETTINGS, ([], few, more, few, profiled_rows(folder)),
                                           ((), (), (), kernels, ())):
        with Foretoken(os.path.join(folder, "cpu.textproto"), configs) as foretoken:
            if samples:
                reports[calibration] = foretoken.register_samples(samples, *flags)
            rows += predictions(foretoken, calibration, others, states, measured)
    rows += exact_lines(states, measured)
    return rows, used, reports


def cell(value):
    return f"{value:.6g}" if isinstance(value, float) else value


def write(rows):
    path = os.path.join(os.environ["FORETOKEN_BINARY_DIR"], "real_engine_predicted.csv")
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)


def main(folder):
    measured = {name: read(folder, name) for name in ("references", "runs", "states")}
    measured["run_requests"] = by_name(read(folder, "run_requests"), "run")
    measured["state_requests"] = by_name(read(folder, "state_requests"), "state")
    references = references_by_engine(measured["references"])
    runs = [row for row in kept(measured["runs"], "engine_name", references) if not int(row["failed"])]
    states = [row for row in kept(measured["states"], "engine", references) if row["status"] == "ok"]
    rows, used, reports = compare(folder, measured, runs, states)
    write(rows)
    with open(os.path.join(folder, "README.md"), "w", encoding="utf-8") as file:
        file.write(report.document(folder, measured, references, runs, states, used, rows, reports,
                                   MOST_DRIFT))


if __name__ == "__main__":
    main(sys.argv[1])
