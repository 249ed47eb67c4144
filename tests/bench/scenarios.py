"""What tests/bench/run measures of a server: each function starts one and gives rows of the table."""

import statistics
import time

from table import Row

MESSAGE_PREFIX_BYTES = 8  # gRPC's 5 and 3 of the field that holds the payload


def median(values):
    return statistics.median(values)


def cpu(result):
    return result["server_user_us"] + result["server_system_us"]


def errors_of(*results):
    return sum(one["errors"] for one in results)


def unary(start_server, driver_of, rounds):
    """One call in closed loop beside the empty call and one of its own lengths, then at a fixed pace."""
    with start_server() as server:
        driver = driver_of(server)
        empty, payload, dense, moe, paced = [], [], [], [], []
        for _ in range(rounds):
            empty.append(driver.run("empty"))
            dense.append(driver.run("estimate"))
            payload.append(driver.run("payload", reply_bytes=round(dense[-1]["response_bytes"]) - MESSAGE_PREFIX_BYTES))
            moe.append(driver.run("moe"))
            paced.append(driver.run("estimate", rate=5000))
    ratio = median(b["calls_per_second"] / a["calls_per_second"] for a, b in zip(empty, dense))
    return [
        Row("empty call: rate", median(one["calls_per_second"] for one in empty), "calls/s"),
        Row("empty call: server CPU", median(map(cpu, empty)), "us"),
        Row("call of an Estimate's lengths: rate / empty call's",
            median(b["calls_per_second"] / a["calls_per_second"] for a, b in zip(empty, payload)), ""),
        Row("call of an Estimate's lengths: server CPU / empty call's",
            median(cpu(b) / cpu(a) for a, b in zip(empty, payload)), ""),
        Row("Estimate: rate", median(one["calls_per_second"] for one in dense), "calls/s"),
        Row("Estimate: rate / empty call's", ratio, "", 0.95, True),
        Row("Estimate: server CPU", median(map(cpu, dense)), "us"),
        Row("Estimate: server CPU / empty call's", median(cpu(b) / cpu(a) for a, b in zip(empty, dense)), "", 1.10),
        Row("Estimate: server CPU / that of a call of its lengths",
            median(cpu(b) / cpu(a) for a, b in zip(payload, dense)), ""),
        Row("Estimate of experts and latent attention: server CPU / empty call's",
            median(cpu(b) / cpu(a) for a, b in zip(empty, moe)), ""),
        Row("Estimate at 5,000/s: p50", median(one["p50_us"] for one in paced), "us"),
        Row("Estimate at 5,000/s: p99", median(one["p99_us"] for one in paced), "us"),
        Row("Estimate at 5,000/s: p99.9", median(one["p999_us"] for one in paced), "us"),
        Row("Estimate: errors", errors_of(*empty, *payload, *dense, *moe, *paced), "", 0),
    ]


def batch(start_server, driver_of, rounds):
    with start_server() as server:
        driver = driver_of(server)
        large, live, small = [], [], []
        for _ in range(rounds):
            large.append(driver.run("batch", candidates=1000, in_flight=4))
            live.append(driver.run("live_batch", candidates=1000, in_flight=4))
            small.append(driver.run("batch", candidates=10, rate=10000))
    return [
        Row("BatchEstimate of 1,000: candidates", median(one["calls_per_second"] * 1e-3 for one in large), "M/s", 1.5,
            True),
        Row("BatchEstimate of 1,000 live loads: candidates", median(one["calls_per_second"] * 1e-3 for one in live),
            "M/s"),
        Row("BatchEstimate of 10 at 10,000/s: p50", median(one["p50_us"] for one in small), "us", 150),
        Row("BatchEstimate of 10 at 10,000/s: p99", median(one["p99_us"] for one in small), "us", 1000),
        Row("BatchEstimate of 10 at 10,000/s: p99.9", median(one["p999_us"] for one in small), "us"),
        Row("BatchEstimate of 10: server CPU", median(map(cpu, small)), "us"),
        Row("BatchEstimate: errors", errors_of(*large, *live, *small), "", 0),
    ]


def sweep(start_server, driver_of, rounds):
    """A million points of one model, and the mix, beside the constant columns of as many."""
    with start_server() as server:
        driver = driver_of(server)
        driver.run("sweep", values=20, seconds=0)
        columns, dense, mix = [], [], []
        for _ in range(rounds):
            columns.append(driver.run("columns", values=200))
            dense.append(driver.run("sweep"))
            mix.append(driver.run("mix"))
    return [
        Row("constant columns: points", median(one["points_per_second"] for one in columns) / 1e6, "M/s"),
        Row("constant columns: server CPU of a point", median(one["server_ns_per_point"] for one in columns), "ns"),
        Row("Sweep, dense: points", median(one["points_per_second"] for one in dense) / 1e6, "M/s", 25, True),
        Row("Sweep, dense: points / constant columns'",
            median(b["points_per_second"] / a["points_per_second"] for a, b in zip(columns, dense)), "", 0.5, True),
        Row("Sweep, dense: server CPU of a point", median(one["server_ns_per_point"] for one in dense), "ns"),
        Row("Sweep, mix: points", median(one["points_per_second"] for one in mix) / 1e6, "M/s", 8, True),
        Row("Sweep, mix: server CPU of a point", median(one["server_ns_per_point"] for one in mix), "ns"),
        Row("Sweep, mix: refused points", median(one["refused_points"] / one["points"] for one in mix), "share"),
        Row("Sweep: first point after the call", median(one["first_point_ms"] for one in dense + mix), "ms", 2),
        Row("Sweep: errors", errors_of(*columns, *dense, *mix), "", 0),
    ]


def slow_reader(start_server, driver_of, rounds):
    """A sweep of a million points whose reader stops: memory stays, other calls do not notice."""
    growth, ratios = [], []
    for _ in range(rounds):
        with start_server() as server:
            driver = driver_of(server)
            alone = driver.run("estimate", rate=5000)
            reader = driver.start("slow", background=True, seconds=driver.seconds + 2)
            beside = driver.run("estimate", rate=5000)
            growth.append(driver.finish(reader)["server_growth_mib"])
            ratios.append(beside["p99_us"] / alone["p99_us"])
    return [Row("1 M points to a reader that stops: server memory grows", median(growth), "MiB", 16),
            Row("1 M points to a reader that stops: Estimate p99 / without it", median(ratios), "", 2)]


def crowd(start_server, driver_of, rounds):
    """A thousand connections ask while 64 sweeps run on others."""
    p99, memory, errors = [], [], 0
    for _ in range(rounds):
        with start_server() as server:
            driver = driver_of(server)
            sweeps = driver.start("sweep", background=True, connections=64, seconds=driver.seconds + 1, values=50)
            calls = driver.run("estimate", rate=5000, connections=1000)
            memory.append(server.resident_mib())
            swept = driver.finish(sweeps)
            errors += errors_of(calls, swept) + calls["failed"] + swept["failed"]
            p99.append(calls["p99_us"] / 1e3)
    return [Row("1,000 connections and 64 sweeps: Estimate p99 at 5,000/s", median(p99), "ms", 5),
            Row("1,000 connections and 64 sweeps: server memory", median(memory), "MiB"),
            Row("1,000 connections and 64 sweeps: errors", errors, "", 0)]


def storm(start_server, driver_of, rounds):
    """Registrations, 50 a second, beside Estimates."""
    ratios, errors = [], 0
    for _ in range(rounds):
        with start_server() as server:
            driver = driver_of(server)
            alone = driver.run("estimate", rate=5000)
            writes = driver.start("register", background=True, rate=50, seconds=driver.seconds + 1)
            beside = driver.run("estimate", rate=5000)
            written = driver.finish(writes)
            errors += errors_of(alone, beside, written) + written["failed"]
            ratios.append(beside["p99_us"] / alone["p99_us"])
    return [Row("50 registrations a second: Estimate p99 / without them", median(ratios), "", 1.5),
            Row("50 registrations a second: errors", errors, "", 0)]


def start(start_server, _, rounds):
    starts, idle = [], []
    for _ in range(rounds):
        with start_server() as server:
            starts.append(1e3 * server.start_seconds)
            time.sleep(1)  # settled
            idle.append(server.resident_mib())
    return [Row("start to serving", median(starts), "ms", 150), Row("idle memory", median(idle), "MiB", 40)]


ALL = {"unary": unary, "batch": batch, "sweep": sweep, "slow_reader": slow_reader, "crowd": crowd, "storm": storm,
       "start": start}
