#include "client/cli/profile/completion.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>

#include "absl/random/distributions.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

// Ids that every vocabulary of a served model has, above the bytes and special tokens that stand first.
constexpr int kFirstId = 300;
constexpr int kLastId = 4999;

Value Text(const std::string& text) {
  Value value;
  value.set_string_value(text);
  return value;
}

Value Number(double number) {
  Value value;
  value.set_number_value(number);
  return value;
}

Value Bool(bool flag) {
  Value value;
  value.set_bool_value(flag);
  return value;
}

// Words of five digits, because every tokenizer splits those in about the same way.
std::string Words(const Ask& ask, absl::BitGenRef random) {
  const double words = (ask.prompt_tokens - ask.scale.fixed_tokens) / ask.scale.tokens_per_word;
  std::string text;
  for (int i = 0; i < std::max(1L, std::lround(words)); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : " ", absl::Uniform(random, 10000, 100000));
  }
  return text;
}

// "[1204,877,...]".
std::string TokenIds(const Ask& ask, absl::BitGenRef random) {
  std::string ids = "[";
  for (int i = 0; i < ask.prompt_tokens; ++i) {
    absl::StrAppend(&ids, i == 0 ? "" : ",", absl::Uniform(absl::IntervalClosed, random, kFirstId, kLastId));
  }
  return ids + "]";
}

// The field of the prompt. It is written here, because it is long and a Struct of it would take milliseconds.
std::string PromptField(const Ask& ask, absl::BitGenRef random) {
  switch (ask.api) {
    case Api::kCompletions:
      return absl::StrCat("\"prompt\":", TokenIds(ask, random));
    case Api::kWords:
      return absl::StrCat("\"prompt\":\"", Words(ask, random), "\"");
    case Api::kChat:
      return absl::StrCat("\"messages\":[{\"role\":\"user\",\"content\":\"", Words(ask, random), "\"}]");
  }
  return "";
}

const Value* Find(const Struct& object, const std::string& name) {
  const auto found = object.fields().find(name);
  return found == object.fields().end() || found->second.has_null_value() ? nullptr : &found->second;
}

std::optional<int> Count(const Struct& object, const std::string& name) {
  const Value* value = Find(object, name);
  if (value == nullptr || !value->has_number_value()) return std::nullopt;
  return static_cast<int>(std::clamp(value->number_value(), 0.0, 1e9));
}

bool HasText(const Struct& object, const std::string& name) {
  const Value* value = Find(object, name);
  return value != nullptr && value->has_string_value() && !value->string_value().empty();
}

// A choice of a completion has its text, also an empty one: a token may be no whole character. A choice of a chat has
// a delta, whose first may hold the role alone.
bool HoldsToken(const Struct& choice) {
  if (Find(choice, "text") != nullptr) return true;
  const Value* delta = Find(choice, "delta");
  if (delta == nullptr || !delta->has_struct_value()) return false;
  const Struct& fields = delta->struct_value();
  return HasText(fields, "content") || HasText(fields, "reasoning_content") || HasText(fields, "reasoning");
}

void ReadUsage(const Struct& usage, Event& event) {
  event.prompt_tokens = Count(usage, "prompt_tokens");
  event.output_tokens = Count(usage, "completion_tokens");
  const Value* details = Find(usage, "prompt_tokens_details");
  if (details != nullptr && details->has_struct_value()) {
    event.cached_tokens = Count(details->struct_value(), "cached_tokens");
  }
}

absl::Status ErrorOf(const Value& error) {
  const Value* message = error.has_struct_value() ? Find(error.struct_value(), "message") : &error;
  const bool text = message != nullptr && message->has_string_value();
  return absl::InternalError(
      absl::StrCat("the endpoint says: ", text ? client::PrintableLine(message->string_value()) : "an error"));
}

}  // namespace

const char* PathOf(Api api) { return api == Api::kChat ? "/v1/chat/completions" : "/v1/completions"; }

std::string BodyOf(const Ask& ask, absl::BitGenRef random) {
  Struct body;
  auto& fields = *body.mutable_fields();
  fields["model"] = Text(ask.model);
  fields["max_tokens"] = Number(ask.output_tokens);
  fields["min_tokens"] = Number(ask.output_tokens);
  fields["ignore_eos"] = Bool(true);
  fields["temperature"] = Number(0);
  fields["stream"] = Bool(true);
  (*fields["stream_options"].mutable_struct_value()->mutable_fields())["include_usage"] = Bool(true);
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(body, &json);
  json.pop_back();  // the closing brace
  return absl::StrCat(json, ",", PromptField(ask, random), "}");
}

absl::StatusOr<Event> ReadEvent(std::string_view data) {
  if (data == "[DONE]") return Event{.done = true};
  Struct chunk;
  if (!google::protobuf::util::JsonStringToMessage(std::string(data), &chunk).ok()) {
    return absl::InvalidArgumentError("an event that is no JSON object");
  }
  if (const Value* error = Find(chunk, "error"); error != nullptr) return ErrorOf(*error);
  const Value* choices = Find(chunk, "choices");
  const Value* usage = Find(chunk, "usage");
  if (choices == nullptr && usage == nullptr) {
    return absl::InvalidArgumentError("an event with neither \"choices\" nor \"usage\", so no chunk of a completion");
  }
  Event event;
  if (choices != nullptr) {
    for (const Value& choice : choices->list_value().values()) event.token |= HoldsToken(choice.struct_value());
  }
  if (usage != nullptr && usage->has_struct_value()) ReadUsage(usage->struct_value(), event);
  return event;
}

}  // namespace foretoken::cli
