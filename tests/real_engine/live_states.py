"""Live states: a replica with known running, waiting and half prefilled work, then one more request, the probe.

A router that asks foretoken knows what is recorded here: of each sequence that it sent the tokens that came back and
those that are left, of each prompt without a token its length, and the engine's gauges.

What is measured goes to two tables: a row for each request of each state, and a row for each state with the probe's
times. The load is taken away when the probe has ended, so a state lasts a few seconds.
"""

import asyncio
import dataclasses
import random
import statistics
import time

from engine import MAX_NUM_SEQS
from record import Machine, now, reference
from requests_client import Request, random_prompt

STATE_COLUMNS = [
    "state", "kind", "engine", "model", "flags", "time", "max_num_seqs", "max_num_batched_tokens", "kv_block_tokens",
    "kv_tokens", "gauge_running", "gauge_waiting", "gauge_kv_share", "decoding", "context_mean", "remaining_mean",
    "remaining_min", "remaining_max", "without_token", "without_token_tokens", "probe_prompt_tokens",
    "probe_output_tokens", "probe_cached_tokens", "probe_ttft_s", "probe_tpot_s", "probe_e2e_s", "status",
    "preemptions", "steal_share", "driver_core_share", "reference_ttft_s", "reference_tpot_s"]
REQUEST_COLUMNS = ["state", "role", "sent_s", "prompt_tokens", "output_tokens", "received_tokens", "context_tokens",
                   "remaining_tokens", "first_token_s", "last_token_s", "status"]
REFERENCE_EVERY = 6
PREFILL_TOKENS_PER_SECOND = 1000  # roughly: decides when a prompt is half prefilled, and nothing else
PROBES = (32, 128, 256, 512, 1024)
LONGEST_PREPARATION = 60


@dataclasses.dataclass
class State:
    """Lengths are (prompt, output). `half`: prompts that are being prefilled, `waiting`: those that come after them."""
    kind: str
    running: list
    half: list
    waiting: list
    probe: tuple
    half_share: float = 0.0  # of the prefill of `half` that is over when the probe comes
    prefix: int = 0  # tokens with which the running prompts and the probe's begin alike


def decoding(generator, count, low, high, remaining, batched_tokens):
    """Sequences that decode with about so many tokens left: the first ones decode while the last are prefilled."""
    prompts = [generator.randint(low, high) for _ in range(count)]
    steps = [sum(prompts[i + 1:]) // batched_tokens + 2 for i in range(count)]
    return [(prompt, before + 2 + left) for prompt, before, left in zip(prompts, steps, remaining)]


def remaining_tokens(generator, count, low, high):
    if generator.random() < 0.5:
        return [generator.randint(low, high)] * count
    return [generator.randint(low, high) for _ in range(count)]


def prompts(generator, count, low, high):
    return [(generator.randint(low, high), generator.randint(8, 64)) for _ in range(count)]


PREFIX_CACHED = "prefix cached"
# What may be drawn of each kind: (running, prompt, remaining, half, waiting, prompt of these), each (least, most).
KINDS = {
    "idle": ((0, 0), (32, 64), (1, 1), (0, 0), (0, 0), (32, 64)),
    "seats free": ((1, 12), (32, 300), (24, 120), (0, 0), (0, 0), (32, 64)),
    "seats full": ((MAX_NUM_SEQS, MAX_NUM_SEQS), (32, 128), (3, 48), (0, 0), (0, 8), (32, 400)),
    "queue": ((0, 15), (32, 160), (24, 96), (0, 0), (1, 8), (64, 500)),
    "half prefilled": ((0, 10), (32, 160), (32, 96), (1, 2), (0, 2), (64, 300)),
    "long contexts": ((2, 6), (700, 1400), (16, 64), (0, 0), (0, 2), (64, 300)),
    "cache full": ((6, 12), (128, 320), (4, 64), (0, 0), (0, 3), (64, 400)),
    PREFIX_CACHED: ((1, 12), (32, 160), (24, 96), (0, 0), (0, 3), (64, 300)),
}
SHARES = {"idle": 1, "seats free": 5, "seats full": 7, "queue": 7, "half prefilled": 6, "long contexts": 2}


def draw(generator, kind, batched_tokens):
    running, context, left, half, waiting, length = KINDS[kind]
    count = generator.randint(*running)
    prefix = 32 * generator.randint(4, 24) if kind == PREFIX_CACHED else 0
    context = [prefix + tokens for tokens in context]
    return State(
        kind,
        decoding(generator, count, *context, remaining_tokens(generator, count, *left), batched_tokens),
        [(generator.randint(1, 3) * 512 + generator.randint(100, 400), 16) for _ in range(generator.randint(*half))],
        prompts(generator, generator.randint(*waiting), *length),
        (prefix + generator.choice(PROBES), generator.randint(8, 24)),
        generator.uniform(0.05, 0.9),
        prefix)


def plan(count, kinds, batched_tokens, seed):
    """The kinds take turns, so that a plan cut short has all of them."""
    generator = random.Random(seed)
    turn = [kind for kind, share in kinds.items() for _ in range(share)]
    generator.shuffle(turn)
    return [draw(generator, turn[i % len(turn)], batched_tokens) for i in range(count)]


async def until(condition):
    deadline = time.monotonic() + LONGEST_PREPARATION
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the state was not reached")
        await asyncio.sleep(0.001)


def with_prefix(prefix, prompt, output):
    return Request(prompt, output, [*prefix, *random_prompt(random, prompt - len(prefix))], counted=True)


class Load:
    """The requests of a state, and the tasks that run them."""

    def __init__(self, engine):
        self.engine, self.requests, self.tasks = engine, [], []

    def send(self, lengths, role, prefix=()):
        for prompt, output in lengths:
            request = with_prefix(prefix, prompt, output)
            request.role = role
            self.requests.append(request)
            self.tasks.append(asyncio.create_task(request.run(self.engine.port, self.engine.model)))

    async def take_away(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await asyncio.to_thread(self.engine.wait_until_idle)


async def prepare(load, state, prefix):
    """Sends everything but the probe, and waits until the replica is in the state."""
    load.send(state.running, "running", prefix)
    await until(lambda: all(request.received for request in load.requests))
    await asyncio.sleep(random.uniform(0.01, 0.06))  # the probe meets any part of a step
    load.send(state.half, "half")
    await asyncio.sleep(state.half_share * sum(length for length, _ in state.half) / PREFILL_TOKENS_PER_SECOND)
    load.send(state.waiting, "waiting")
    await asyncio.sleep(0.01)


def seen(load, sent):
    """Rows of the requests as a router sees them when the probe leaves; times are filled in later."""
    return [{"role": request.role, "sent_s": request.sent - sent, "prompt_tokens": request.prompt_tokens,
             "output_tokens": request.output_tokens, "received_tokens": request.received,
             "context_tokens": request.prompt_tokens + request.received,
             "remaining_tokens": request.output_tokens - request.received, "status": request.status}
            for request in load.requests]


def add_times(rows, load, sent):
    for row, request in zip(rows, load.requests):
        row["first_token_s"] = None if request.first is None else request.first - sent
        row["last_token_s"] = None if request.last is None else request.last - sent


def summary(rows, gauges):
    decoding_now = [row for row in rows if row["received_tokens"] and row["remaining_tokens"] > 0]
    silent = [row for row in rows if not row["received_tokens"]]
    left = [row["remaining_tokens"] for row in decoding_now]
    return {"gauge_running": gauges["num_requests_running"], "gauge_waiting": gauges["num_requests_waiting"],
            "gauge_kv_share": gauges["kv_cache_usage_perc"], "decoding": len(decoding_now),
            "context_mean": statistics.fmean(row["context_tokens"] for row in decoding_now) if left else None,
            "remaining_mean": statistics.fmean(left) if left else None,
            "remaining_min": min(left, default=None), "remaining_max": max(left, default=None),
            "without_token": len(silent), "without_token_tokens": sum(row["prompt_tokens"] for row in silent)}


async def probe(engine, state):
    """(rows of the load, columns of the state)."""
    load, prefix = Load(engine), random_prompt(random, state.prefix)
    try:
        await prepare(load, state, prefix)
        gauges = await asyncio.to_thread(engine.gauges)
        request = with_prefix(prefix, *state.probe)
        rows = seen(load, time.perf_counter())
        await request.run(engine.port, engine.model)
        add_times(rows, load, request.sent)
        after = await asyncio.to_thread(engine.gauges)
    finally:
        await load.take_away()
    preempted = after["num_preemptions_total"] - gauges["num_preemptions_total"]
    return rows, {**summary(rows, gauges), "probe_cached_tokens": state.prefix,
                  "probe_prompt_tokens": request.prompt_tokens, "probe_output_tokens": request.output_tokens,
                  "probe_ttft_s": request.ttft, "probe_tpot_s": request.tpot, "probe_e2e_s": request.e2e,
                  "status": request.status,
                  "preemptions": preempted}


def engine_columns(engine):
    return {"engine": engine.name, "model": engine.model, "flags": engine.stated_flags, "max_num_seqs": MAX_NUM_SEQS,
            "max_num_batched_tokens": engine.batched_tokens, "kv_block_tokens": engine.block_tokens,
            "kv_tokens": engine.kv_tokens()}


async def measure(engine, states, tables, deadline):
    """Until the plan or the time is over; the number of states measured."""
    machine, beside = Machine(), None
    for index, state in enumerate(states):
        if time.monotonic() > deadline:
            return index
        if index % REFERENCE_EVERY == 0:
            beside = await reference(engine, tables["references"])
            machine.shares()
        name = f"{engine.name}-{tables['states'].count() + 1}"
        try:
            rows, columns = await probe(engine, state)
        except (TimeoutError, RuntimeError) as error:
            print(f"{name}: {error}", flush=True)
            continue
        for row in rows:
            tables["state_requests"].add({"state": name, **row})
        tables["states"].add({"state": name, "kind": state.kind, "time": now(), **engine_columns(engine), **columns,
                              **machine.shares(), "reference_ttft_s": beside["ttft_s"],
                              "reference_tpot_s": beside["tpot_s"]})
    return len(states)
