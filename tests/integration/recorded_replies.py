#!/usr/bin/env python3
"""Records the replies to random questions, and compares them with those of another build: a redesign changes none.

    tests/integration/recorded_replies.py record FILE       asks seeded questions until 1,000 were answered, writes all
    tests/integration/recorded_replies.py compare FILE      asks them again; exit code 1 where a reply differs

Texts of warnings and errors are compared apart, because they may become clearer. FORETOKEN_BINARY_DIR: the build.
"""

import argparse
import json
import random
import sys

from support.foretoken_api import Refused
from support.server_process import API, ServerProcess

ESTIMATE = "EstimatorService/Estimate"
COUNT = 1000  # answers; refusals come on top


def one_of(dice, **choices):
    """Some of the fields, each with one of its values."""
    return {name: dice.choice(values) for name, values in choices.items() if dice.random() < 0.4}


def workload(dice):
    fields = {"prompt_tokens": dice.choice((1, 17, 128, 1000, 4096, 30000)),
              "output_tokens": dice.choice((1, 2, 33, 256, 2000))}
    fields.update(one_of(
        dice, batch_size=(1, 2, 7, 16, 64, 300), request_rate_per_second=(0.1, 1.0, 5.0),
        batching_policy=("BATCHING_POLICY_STATIC", "BATCHING_POLICY_DYNAMIC", "BATCHING_POLICY_CONTINUOUS"),
        kv_cache_mode=("KV_CACHE_MODE_CACHED", "KV_CACHE_MODE_NONE", "KV_CACHE_MODE_PROMPT_CACHE"),
        capacity_policy=("CAPACITY_POLICY_REFUSE", "CAPACITY_POLICY_WAVES")))
    if fields["prompt_tokens"] > 100:
        fields.update(one_of(dice, cached_prefix_tokens=(16, 64)))
    if dice.random() < 0.1:
        fields["output_length_distribution"] = {"mean_tokens": 100.0}
    return fields


def deployment(dice):
    return one_of(
        dice, tensor_parallel=(1, 2, 4, 8), pipeline_parallel=(1, 2, 4), expert_parallel=(1, 2, 8), data_parallel=(1, 2),
        weight_dtype=("DTYPE_BF16", "DTYPE_FP8", "DTYPE_INT4"), kv_cache_dtype=("DTYPE_BF16", "DTYPE_FP8"),
        engine=("vllm", "sglang", "tensorrt-llm"), prefill_chunk_tokens=(512, 2048), memory_utilization=(0.8, 0.95),
        attention_kernel=("ATTENTION_KERNEL_FLASH", "ATTENTION_KERNEL_NAIVE"), unfused_elementwise=(True, False),
        price_per_device_hour=(2.5,))


def live_load(dice):
    return {"running_sequences": dice.choice((0, 1, 8, 40)), **one_of(
        dice, running_context_tokens=(100.0, 3000.0), remaining_output_tokens=(10.0, 300.0), waiting_requests=(0, 1, 9),
        in_flight_prefill_tokens=(0, 5000), free_kv_tokens=(2000, 200000), max_num_seqs=(40, 256),
        max_num_batched_tokens=(512, 8192))}


def question(dice, models, devices):
    scenario = {"model_id": dice.choice(models), "hardware_id": dice.choice(devices), "workload": workload(dice),
                "deployment": deployment(dice)}
    if dice.random() < 0.25:
        scenario["live_load"] = live_load(dice)
    if dice.random() < 0.1:
        scenario["speculative_decoding"] = {"draft_model_id": "llama-3.2-1b", "draft_tokens": 4, "acceptance_rate": 0.7}
    if dice.random() < 0.1:
        scenario["disaggregated_prefill"] = {"prefill_replicas": 2, "decode_replicas": 3,
                                             "transfer_bytes_per_second": 50e9}
    scenario.update(one_of(dice, slo=({"max_ttft_seconds": 1.0, "max_tpot_seconds": 0.05},),
                           method=("METHOD_OPERATOR_MODEL", "METHOD_SPEED_OF_LIGHT", "METHOD_LINEAR_PROFILE",
                                   "METHOD_KPI")))
    return scenario


def without_texts(reply):
    for warning in reply.estimate.warnings:
        warning.message = ""
    return reply.SerializeToString(deterministic=True).hex()


def ask(client, scenario):
    """(reply without its texts, texts): both equal where nothing changed."""
    method = API.method(ESTIMATE)
    request = API.build(method.input_type, {"scenario": scenario, "include_operators": True})
    try:
        reply = client.call(ESTIMATE, request=request)
        texts = [warning.message for warning in reply.estimate.warnings]
        return without_texts(reply), texts
    except Refused as refused:
        return f"{refused.code.name} {refused.reason} {refused.fields}", [refused.message]


def catalog_ids(client, path):
    return sorted(entry.spec.id for entry in client.call(path, page_size=1000).entries)


def record(client, path):
    models = catalog_ids(client, "CatalogService/ListModels")
    devices = catalog_ids(client, "CatalogService/ListHardware")
    dice, usual = random.Random(20), ("nvidia-h100-sxm-80gb", "nvidia-a100-sxm-80gb", "amd-mi300x-192gb")
    with open(path, "w", encoding="utf-8") as file:
        answered = 0
        while answered < COUNT:
            scenario = question(dice, models, dice.choice((devices, usual)))
            reply, texts = ask(client, scenario)
            answered += " " not in reply
            file.write(json.dumps([scenario, reply, texts]) + "\n")


def compare(client, path):
    asked = answered = differ = texts_differ = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            scenario, was, texts_were = json.loads(line)
            now, texts = ask(client, scenario)
            asked, answered = asked + 1, answered + (" " not in now)
            if now != was:
                differ += 1
                print(f"differs: {json.dumps(scenario)}\n  was {was[:200]}\n  is  {now[:200]}")
            texts_differ += texts != texts_were
    print(f"{asked} questions, {answered} answered; {differ} replies differ, {texts_differ} in their texts")
    return 1 if differ or not answered else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file")
    arguments = parser.parse_args()
    with ServerProcess() as server:
        return (record if arguments.action == "record" else compare)(server.client, arguments.file)


if __name__ == "__main__":
    sys.exit(main() or 0)
