"""Closed and open loops against a served model: a row for each run, and a row for each request.

A point says what is offered, by the columns of `foretoken profile --points`: batch_size users that all start at once,
or requests at request_rate with gaps of arrival_cv; requests of the run; lengths, uniform between two where the _min is
stated. cached_prefix_tokens is ours: so many tokens at the start of every prompt are alike.
"""

import asyncio
import random
import statistics
import time

from engine import MAX_NUM_SEQS, VERSION
from machine import HARDWARE_ID
from record import Machine, now, reference
from requests_client import Request, random_prompt

METRICS = ("ttft", "tpot", "itl", "e2e")
RUN_COLUMNS = [
    "run", "time", "engine_name", "flags", "hardware", "model", "engine", "engine_version", "weight_dtype",
    "activation_dtype", "kv_cache_dtype", "batching", "batch_size", "request_rate", "arrival_cv", "requests",
    "prompt_tokens", "prompt_tokens_min", "output_tokens", "output_tokens_min", "cached_prefix_tokens",
    "max_num_batched_tokens", "max_num_seqs", "scheduler", "kv_tokens", "ttft_s", "tpot_s", "e2e_s",
    *(f"{metric}_p{p}_s" for metric in METRICS for p in (50, 90, 99)), "failed", "preemptions", "seconds",
    "steal_share", "driver_core_share", "reference_ttft_s", "reference_tpot_s", "source"]
REQUEST_COLUMNS = ["run", "request", "sent_s", "ttft_s", "tpot_s", "e2e_s", "prompt_tokens", "output_tokens", "status"]
LONGEST_RUN_SECONDS = 100


def drawn_lengths(point, generator):
    def length(name):
        most = point[f"{name}_tokens"]
        return generator.randint(point.get(f"{name}_tokens_min") or most, most)
    return [(length("prompt"), length("output")) for _ in range(point["requests"])]


def offered(point, seed):
    """The requests of a run, in order."""
    generator = random.Random(seed)
    prefix = random_prompt(generator, point.get("cached_prefix_tokens") or 0)
    return [Request(prompt, output, prefix + random_prompt(generator, prompt - len(prefix)))
            for prompt, output in drawn_lengths(point, generator)]


def arrivals(point, seed):
    """Seconds from the start, gaps gamma-distributed."""
    generator, at, times = random.Random(seed + 1), 0.0, []
    shape = 1 / float(point.get("arrival_cv") or 1) ** 2
    for _ in range(point["requests"]):
        times.append(at)
        at += generator.gammavariate(shape, 1 / (shape * point["request_rate"]))
    return times


async def closed_loop(engine, requests, users):
    waiting = list(reversed(requests))

    async def user():
        while waiting:
            await waiting.pop().run(engine.port, engine.model)

    await asyncio.gather(*(user() for _ in range(users)))


async def open_loop(engine, requests, times):
    start = time.perf_counter()

    async def arrive(request, at):
        await asyncio.sleep(max(0.0, start + at - time.perf_counter()))
        await request.run(engine.port, engine.model)

    await asyncio.gather(*(arrive(request, at) for request, at in zip(requests, times)))


async def drive(engine, point, requests, seed):
    """Runs them, or as many as end in time."""
    run = (closed_loop(engine, requests, point["batch_size"]) if not point.get("request_rate")
           else open_loop(engine, requests, arrivals(point, seed)))
    try:
        await asyncio.wait_for(run, LONGEST_RUN_SECONDS)
    except asyncio.TimeoutError:
        print(f"cut after {LONGEST_RUN_SECONDS} s: {point}", flush=True)


def quantile(values, share):
    """On straight lines between values, as numpy has them."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    return ordered[low] + (at - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def times_of(requests):
    """Columns of the times: means, then quantiles. ITL is of every gap of every request."""
    good = [request for request in requests if request.status == "ok"]
    values = {"ttft": [r.ttft for r in good], "tpot": [r.tpot for r in good if r.tpot is not None],
              "itl": [gap for r in good for gap in r.gaps], "e2e": [r.e2e for r in good]}
    values = {metric: seen for metric, seen in values.items() if seen}
    tails = {f"{metric}_p{p}_s": quantile(seen, p / 100) for metric, seen in values.items() for p in (50, 90, 99)}
    return tails | {f"{metric}_s": statistics.fmean(seen) for metric, seen in values.items() if metric != "itl"}


def fixed_columns(engine):
    return {"engine_name": engine.name, "flags": engine.stated_flags, "hardware": HARDWARE_ID,
            "model": f"lab-{engine.model}", "engine": "vllm", "engine_version": VERSION, "weight_dtype": "bf16",
            "activation_dtype": "bf16", "kv_cache_dtype": "bf16", "batching": "continuous", "scheduler": "mixed",
            "max_num_seqs": MAX_NUM_SEQS, "max_num_batched_tokens": engine.batched_tokens,
            "kv_tokens": engine.kv_tokens()}


def write_requests(table, run, requests):
    start = min(request.sent for request in requests if request.sent)
    for index, request in enumerate(requests):
        if request.sent:
            table.add({"run": run, "request": index, "sent_s": request.sent - start, "ttft_s": request.ttft,
                       "tpot_s": request.tpot, "e2e_s": request.e2e, "prompt_tokens": request.prompt_tokens,
                       "output_tokens": request.output_tokens, "status": request.status})


async def measure_point(engine, point, tables, seed, before):
    """The reference point after the run."""
    name = f"{engine.name}-{tables['runs'].count() + 1}"
    requests, machine = offered(point, seed), Machine()
    preempted = engine.gauges()["num_preemptions_total"]
    start = time.perf_counter()
    await drive(engine, point, requests, seed)
    seconds = time.perf_counter() - start
    await asyncio.to_thread(engine.wait_until_idle)
    preemptions = engine.gauges()["num_preemptions_total"] - preempted
    shares, after = machine.shares(), await reference(engine, tables["references"])
    write_requests(tables["run_requests"], name, requests)
    tables["runs"].add({
        "run": name, "time": now(), "batch_size": 1, **point, **fixed_columns(engine), **times_of(requests), **shares,
        "failed": sum(request.status != "ok" for request in requests), "preemptions": preemptions, "seconds": seconds,
        **{f"reference_{name}": (before[name] + after[name]) / 2 for name in ("ttft_s", "tpot_s")},
        "source": "tests/real_engine/loops.py"})
    return after


async def measure(engine, points, tables, deadline, seed=1):
    """Until the points or the time are over; the number of points measured."""
    beside = await reference(engine, tables["references"])
    for index, point in enumerate(points):
        if time.monotonic() > deadline:
            return index
        beside = await measure_point(engine, point, tables, seed + 100 * index, beside)
    return len(points)
