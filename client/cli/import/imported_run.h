// One run of a benchmark, as the file of its tool tells it.
#ifndef FORETOKEN_CLIENT_CLI_IMPORT_IMPORTED_RUN_H_
#define FORETOKEN_CLIENT_CLI_IMPORT_IMPORTED_RUN_H_

#include <map>
#include <string>

#include "foretoken/v1/catalog_service.pb.h"

namespace foretoken::cli {

// Faults of files and flags that one message names at most.
inline constexpr size_t kMostImportFaults = 20;

struct ImportedRun {
  std::string place;  // "run.json:3", for messages
  // What the file calls these; empty where it does not say. Hardware and weights are there to notice that a file mixes
  // several, because the catalog knows neither name.
  std::string hardware;
  std::string model;
  std::string framework;
  std::string weights;
  // Of the engine that ran; empty where the file does not say.
  std::string engine;
  std::string engine_version;
  // What the file says; all else is not set. `deployment.engine` and `model_id` never are.
  v1::ProfileSample sample;
  // prompt_tokens and output_tokens are those of the longest request, not the mean.
  bool lengths_are_longest = false;
  bool without_prompt = false;                // a decode after no context; prompt_tokens is 0 because of it
  std::map<std::string, double> percentiles;  // as Measurement::percentiles
  std::string left_out;                       // why the run cannot be a row; empty: it can
};

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_IMPORT_IMPORTED_RUN_H_
