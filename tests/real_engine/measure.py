"""Measures a served model, the most valuable first, and writes every row as it comes.

    taskset -c 1 FOLDER/venv/bin/python measure.py FOLDER OUTPUT [--minutes 35] [--quick]

All engines start together and stay; one at a time is asked. --quick: a few of everything, to see that it works.
"""

import argparse
import asyncio
import contextlib
import csv
import os
import signal
import sys
import time

import live_states
import loops
import points
from engine import Engine
from record import REFERENCE_COLUMNS, Table
from requests_client import Request

ENGINES = {  # name: (model, flags)
    "dense": ("dense", {"max-num-batched-tokens": 512}),
    "mixture": ("mixture", {"max-num-batched-tokens": 512}),
    "dense-2048": ("dense", {"max-num-batched-tokens": 2048}),
    "dense-prefix": ("dense", {"max-num-batched-tokens": 512, "enable-prefix-caching": None}),
    "dense-small": ("dense", {"max-num-batched-tokens": 512, "num-gpu-blocks-override": 96}),
}
CACHE_FULL = {"cache full": 1}
PREFIX_CACHED = {live_states.PREFIX_CACHED: 1}
BUDGET_KINDS = {"half prefilled": 2, "queue": 2, "seats full": 1}


def tables(folder):
    columns = {"references": REFERENCE_COLUMNS, "states": live_states.STATE_COLUMNS,
               "state_requests": live_states.REQUEST_COLUMNS, "runs": loops.RUN_COLUMNS,
               "run_requests": loops.REQUEST_COLUMNS}
    return {name: Table(os.path.join(folder, name + ".csv"), names) for name, names in columns.items()}


def states(kinds, count, seed):
    return lambda engine, written, deadline: live_states.measure(
        engine, live_states.plan(count, kinds, engine.batched_tokens, seed), written, deadline)


def runs(offered, seed=1):
    return lambda engine, written, deadline: loops.measure(engine, offered, written, deadline, seed)


def capacity(written, model, prompt, output):
    """Requests/s that 16 users got, as measured before."""
    with open(written["runs"].path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if (row["model"], row["batch_size"], row["prompt_tokens"], row["output_tokens"]) == (
                    f"lab-{model}", "16", str(prompt), str(output)):
                return int(row["requests"]) / float(row["seconds"])
    raise LookupError("16 users have not been measured")


def open_runs(prompt, output, prompt_min, output_min, count):
    async def run(engine, written, deadline):
        most = capacity(written, engine.model, prompt, output)
        offered = points.open_loops(most, prompt, output, prompt_min, output_min)
        return await loops.measure(engine, offered[:count], written, deadline, 7)
    return run


PLAN = [  # (engine, experiment); what is repeated tells how far two runs of the same differ
    ("dense", states(live_states.SHARES, 60, 1)), ("dense", runs(points.CLOSED[:14])),
    ("mixture", states(live_states.SHARES, 30, 2)), ("mixture", runs(points.MIXTURE)),
    ("dense", open_runs(256, 64, 256, 64, 6)), ("dense", runs(points.CLOSED[1:3])),
    ("dense", states(live_states.SHARES, 60, 3)), ("dense-2048", runs(points.OTHER_BUDGET)),
    ("dense-small", states(CACHE_FULL, 20, 5)), ("dense-small", runs(points.SMALL_CACHE)),
    ("dense-prefix", states(PREFIX_CACHED, 16, 8)), ("dense-prefix", runs(points.PREFIX)),
    ("dense", runs(points.CLOSED[14:], 51)), ("dense-2048", states(BUDGET_KINDS, 20, 4)),
    ("dense", states(live_states.SHARES, 15, 1)), ("dense", runs(points.CLOSED[1:3])),
    ("dense", open_runs(512, 128, 64, 16, 6)), ("mixture", open_runs(256, 64, 256, 64, 3)),
    ("mixture", states(live_states.SHARES, 30, 6))]
QUICK = [("dense", states(live_states.SHARES, 6, 1)), ("dense", runs([points.closed(16, 256, 64, 24)])),
         ("dense", open_runs(256, 64, 256, 64, 1)), ("mixture", states(live_states.SHARES, 3, 1)),
         ("mixture", runs([points.closed(4, 256, 64, 8)])), ("dense-2048", states(BUDGET_KINDS, 2, 1)),
         ("dense-small", states(CACHE_FULL, 3, 1)), ("dense-small", runs(points.SMALL_CACHE[:1])),
         ("dense-prefix", runs(points.PREFIX[:1])),
         ("dense-prefix", states(PREFIX_CACHED, 2, 1))]


async def warm_up(engine):
    """The first prompts take longer than all others."""
    for prompt in (256, 1024, 64):
        await Request(prompt, 8).run(engine.port, engine.model)


async def follow(plan, engines, written, deadline):
    for index, (name, experiment) in enumerate(plan):
        if time.monotonic() > deadline:
            return
        start = time.monotonic()
        engines[name].resume()
        try:
            done = await experiment(engines[name], written, deadline)
        except (LookupError, RuntimeError, OSError) as error:  # the other parts go on
            done = repr(error)
        engines[name].pause()
        seconds = time.monotonic() - start
        print(f"{time.strftime('%H:%M:%S')} part {index} on {name}: {done} in {seconds:.0f} s", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("home")
    arguments.add_argument("output")
    arguments.add_argument("--minutes", type=float, default=35)
    arguments.add_argument("--wait-until", help="HH:MM in UTC: engines start now, measuring then")
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), help="default: all")
    asked = arguments.parse_args()
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(1))  # and ends the engines
    with contextlib.ExitStack() as stack:
        engines = {}
        for name in asked.engines:  # one after the other: they share a core
            model, flags = ENGINES[name]
            engines[name] = stack.enter_context(Engine(asked.home, model, flags, name))
            print(f"{time.strftime('%H:%M:%S')} {name} serves", flush=True)
            asyncio.run(warm_up(engines[name]))
            engines[name].pause()
        while asked.wait_until and time.strftime("%H:%M", time.gmtime()) < asked.wait_until:
            time.sleep(1)
        deadline = time.monotonic() + 60 * asked.minutes
        plan = [part for part in (QUICK if asked.quick else PLAN) if part[0] in asked.engines]
        asyncio.run(follow(plan, engines, tables(asked.output), deadline))


if __name__ == "__main__":
    main()
