"""What foretoken predicts of the measured runs and states, through a foretokend of its own.

    with Foretoken(spec, configs) as foretoken:
        foretoken.register_samples(rows)
        foretoken.state(row), foretoken.loop(row), foretoken.simulated(row, requests)

Each gives {"ttft": seconds, ...}, or {"refused": reason}.
"""

import csv
import os
import statistics
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("FORETOKEN_SOURCE_DIR", ROOT)
os.environ.setdefault("FORETOKEN_BINARY_DIR", os.path.join(ROOT, "build", "release"))
sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))

# pylint: disable=wrong-import-position
from support.foretoken_api import Refused, as_dict
from support.server_process import ServerProcess

ENGINE = "vllm@0.32.0"
SEEDS = 5  # simulations of a loop whose lengths are drawn
SAMPLE_COLUMNS = ("hardware", "model", "engine", "engine_version", "weight_dtype", "activation_dtype", "kv_cache_dtype",
                  "batching", "batch_size", "request_rate", "requests", "prefill_chunk_tokens", "prompt_tokens", "prompt_tokens_min",
                  "output_tokens", "output_tokens_min", "max_num_batched_tokens", "max_num_seqs", "scheduler", "ttft_s",
                  "tpot_s", "e2e_s", "source")


def whole(row, name, default=0):
    return int(float(row[name])) if row[name] else default


def mean_and_spread(row, name):
    most = whole(row, f"{name}_tokens")
    least = whole(row, f"{name}_tokens_min", most)
    return (least + most) // 2, (most - least) // 2


def cached(tokens):
    return {"cached_prefix_tokens": tokens, "kv_cache_mode": "KV_CACHE_MODE_PROMPT_CACHE"} if tokens else {}


class Foretoken(ServerProcess):
    """`spec`: path of the HardwareSpec; `configs`: {catalog id: path of a config.json}."""

    def __init__(self, spec, configs):
        super().__init__(wrapper=["taskset", "-c", "1"])
        self.spec = spec
        for model, config in configs.items():
            self.run("register-model", config, "--id", model)
        self.run("register-hardware", spec)

    def run(self, *arguments):
        done = self.cli(*arguments)
        if done.returncode:
            raise RuntimeError(f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def register_samples(self, rows, *more):
        """The report of the fit. `more`: flags."""
        with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, SAMPLE_COLUMNS, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
            file.flush()
            return self.run("register-hardware", self.spec, "--samples", file.name, "--etag", "*", *more)

    def scenario(self, model, batched_tokens, workload, **more):
        return {"model_id": model, "hardware_id": self.hardware(),
                "deployment": {"engine": ENGINE, "prefill_chunk_tokens": batched_tokens, **more.pop("deployment", {})},
                "workload": {"batching_policy": "BATCHING_POLICY_CONTINUOUS", **workload}, **more}

    def hardware(self):
        with open(self.spec, encoding="utf-8") as file:
            return next(line.split('"')[1] for line in file if line.startswith("id:"))

    def estimate(self, scenario):
        try:
            reply = as_dict(self.client.call("EstimatorService/Estimate", scenario=scenario))["estimate"]
        except Refused as refused:
            return {"refused": f"{refused.reason} {refused.fields}: {refused.message}"}
        return {metric: reply[metric]["seconds"] for metric in ("ttft", "tpot", "e2e") if metric in reply}

    def state(self, row, requests, each):
        """Of the probe under the load. `each`: the load lists its running sequences one by one."""
        workload = {"batch_size": 1, "prompt_tokens": whole(row, "probe_prompt_tokens"),
                    "output_tokens": whole(row, "probe_output_tokens"), **cached(whole(row, "probe_cached_tokens"))}
        return self.estimate(self.scenario(f"lab-{row['model']}", whole(row, "max_num_batched_tokens"), workload,
                                           live_load=live_load(row, requests, each)))

    def workload(self, row):
        (prompt, prompt_spread), (output, output_spread) = (mean_and_spread(row, name) for name in ("prompt", "output"))
        load = {"prompt_tokens": prompt, "output_tokens": output, **cached(whole(row, "cached_prefix_tokens"))}
        if row["request_rate"]:
            return load | {"request_rate_per_second": float(row["request_rate"])}
        return load | {"batch_size": whole(row, "batch_size"), "prompt_spread_tokens": prompt_spread,
                       "output_spread_tokens": output_spread, "closed_loop_requests": whole(row, "requests")}

    def loop(self, row):
        """By the closed form. It has no place for the size of the KV cache."""
        return self.estimate(self.scenario(row["model"], whole(row, "max_num_batched_tokens"), self.workload(row),
                                           deployment={"max_num_seqs": whole(row, "max_num_seqs")}))

    def simulated(self, row, requests):
        """The measured requests of a rate when they came; a closed loop by its lengths, over some seeds."""
        scenario = self.scenario(row["model"], whole(row, "max_num_batched_tokens"), self.workload(row))
        scenario["workload"].pop("closed_loop_requests", None)
        scheduler = {"policy": "SCHEDULER_POLICY_MIXED", "kv_block_tokens": 32,
                     **{name: whole(row, name) for name in ("max_num_seqs", "max_num_batched_tokens", "kv_tokens")}}
        if row["request_rate"]:
            return self.simulate(scenario, {"trace": trace(requests), "scheduler": scheduler, "whole_run": True})
        lengths = {f"{name}_lengths": {"uniform": {"low_tokens": whole(row, f"{name}_tokens_min"),
                                                   "high_tokens": whole(row, f"{name}_tokens")}}
                   for name in ("prompt", "output")}
        simulation = {"closed_loop": {"concurrency": whole(row, "batch_size")}, "requests": whole(row, "requests"),
                      "warmup_requests": 0, "whole_run": True, "scheduler": scheduler, **lengths}
        answers = [self.simulate(scenario, simulation | {"seed": seed}) for seed in range(1, SEEDS + 1)]
        refused = [answer for answer in answers if "refused" in answer]
        if refused:
            return refused[0]
        return {name: statistics.fmean(answer[name] for answer in answers) for name in answers[0]}

    def simulate(self, scenario, simulation):
        try:
            reply = as_dict(self.client.call("EstimatorService/Simulate", scenario=scenario, simulation=simulation))
        except Refused as refused:
            return {"refused": f"{refused.reason} {refused.fields}: {refused.message}"}
        return {f"{metric}{suffix}": reply[metric][value]["seconds"] for metric in ("ttft", "tpot", "itl", "e2e")
                for suffix, value in (("", "mean"), ("_p90", "p90")) if metric in reply}


def trace(requests):
    start = min(float(request["sent_s"]) for request in requests)
    in_order = sorted(requests, key=lambda request: float(request["sent_s"]))
    return {"requests": [{"arrival_seconds": float(request["sent_s"]) - start,
                          **{name: int(request[name]) for name in ("prompt_tokens", "output_tokens")}}
                         for request in in_order]}


def blocks(tokens, block):
    return -(-tokens // block) * block


def in_flight(row, requests):
    """(prompts that the engine has begun, their tokens that are not prefilled yet). Those are begun that run beyond the
    sequences that decode, the oldest first; what the KV cache holds beyond these sequences is prefilled."""
    decoding = [r for r in requests if int(r["received_tokens"]) and int(r["remaining_tokens"]) > 0]
    silent = sorted((r for r in requests if not int(r["received_tokens"])), key=lambda r: float(r["sent_s"]))
    begun = silent[:max(0, whole(row, "gauge_running") - len(decoding))]
    held = float(row["gauge_kv_share"]) * whole(row, "kv_tokens")
    of_decoding = sum(blocks(int(r["context_tokens"]), whole(row, "kv_block_tokens")) for r in decoding)
    tokens = sum(int(r["prompt_tokens"]) for r in begun)
    return begun, round(tokens - min(max(0.0, held - of_decoding), tokens))


def one_by_one(requests):
    """The sequences that decode: how far each is, and what it still has to make."""
    return [{"context_tokens": int(r["context_tokens"]), "remaining_output_tokens": int(r["remaining_tokens"])}
            for r in requests if int(r["received_tokens"]) and int(r["remaining_tokens"]) > 0]


def live_load(row, requests, each):
    """What a router tells of a state: `row` of states.csv, `requests` of state_requests.csv. Its running sequences by
    their means, or one by one."""
    begun, left = in_flight(row, requests)
    begun_tokens = sum(int(r["prompt_tokens"]) for r in begun)
    load = {"max_num_seqs": whole(row, "max_num_seqs"),
            "max_num_batched_tokens": whole(row, "max_num_batched_tokens"),
            "kv_block_tokens": whole(row, "kv_block_tokens"),
            "free_kv_tokens": round((1 - float(row["gauge_kv_share"])) * whole(row, "kv_tokens")),
            "waiting_requests": whole(row, "without_token") - len(begun),
            "queued_prefill_tokens": whole(row, "without_token_tokens") - begun_tokens,
            "in_flight_prefill_tokens": left}
    running = one_by_one(requests)
    if each and len(running) == whole(row, "decoding"):
        return load | {"running": running}
    load["running_sequences"] = whole(row, "decoding")
    if load["running_sequences"]:
        load |= {"running_context_tokens": float(row["context_mean"]),
                 "remaining_output_tokens": float(row["remaining_mean"])}
    return load
