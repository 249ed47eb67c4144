// The formats, each by its reader. A reader takes one record of a file, sets what it says of the run, and leaves the
// rest; what is wrong goes to the fields.
#ifndef FORETOKEN_CLIENT_CLI_IMPORT_FORMATS_H_
#define FORETOKEN_CLIENT_CLI_IMPORT_FORMATS_H_

#include "client/cli/import/field_reader.h"
#include "client/cli/import/imported_run.h"

namespace foretoken::cli {

// `vllm bench serve --save-result` (vLLM's vllm/benchmarks/serve.py), times in milliseconds.
void ReadVllmBenchServe(FieldReader& fields, ImportedRun& run);
// `vllm bench latency --output-json` (vllm/benchmarks/latency.py), times in seconds. It has no lengths and no batch.
void ReadVllmBenchLatency(FieldReader& fields, ImportedRun& run);
// `python -m sglang.bench_serving --output-file` (SGLang's python/sglang/bench_serving.py), times in milliseconds.
void ReadSglangBenchServing(FieldReader& fields, ImportedRun& run);
// `trtllm-bench throughput --report_json` (TensorRT-LLM's tensorrt_llm/bench/dataclasses/reporting.py), in
// milliseconds.
void ReadTrtllmBench(FieldReader& fields, ImportedRun& run);
// profile_export_genai_perf.json of `genai-perf profile`; each metric has its unit.
void ReadGenaiPerf(FieldReader& fields, ImportedRun& run);
// profile_export_aiperf.json of `aiperf profile` (AIPerf's docs/reference/json-export-schema.md); likewise.
void ReadAiperf(FieldReader& fields, ImportedRun& run);
// `llama-bench -o json` or its table (llama.cpp's tools/llama-bench), in nanoseconds or tokens/s.
void ReadLlamaBench(FieldReader& fields, ImportedRun& run);
// Results of InferenceX, before InferenceMAX (InferenceX's utils/process_result.py), in seconds.
void ReadInferencex(FieldReader& fields, ImportedRun& run);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_IMPORT_FORMATS_H_
