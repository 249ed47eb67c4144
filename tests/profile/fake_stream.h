// How the fake endpoint writes an answer: the texts of vLLM's events, and the faults of a stream.
#ifndef FORETOKEN_TESTS_PROFILE_FAKE_STREAM_H_
#define FORETOKEN_TESTS_PROFILE_FAKE_STREAM_H_

#include <cstdint>
#include <string>

#include "tests/profile/fake_engine.h"
#include "tests/profile/fake_faults.h"
#include "tests/profile/fake_http.h"

namespace foretoken::fake {

// One answer.
struct FakeAnswer {
  bool chat = false;
  int64_t number = 0;  // of the request: which faults it gets
  std::string model;
  int64_t created = 0;  // Unix seconds
  int64_t prompt_tokens = 0;
  int64_t output_tokens = 0;
  bool stops = false;      // finish_reason "stop", not "length"
  bool has_usage = false;  // in a chunk of its own

  std::string Head(bool chunk) const;  // {"id": ... "model": ...,
  std::string Usage() const;           // {"prompt_tokens": ...}
  const char* FinishReason() const { return stops ? "stop" : "length"; }
};

// Sends an event a token as the engine makes them. False: not all was sent, because of a fault, or because the client
// left or the engine stopped; then the connection ends.
bool StreamAnswer(const FakeAnswer& answer, const Generation& generation, const FakeFaults& faults,
                  HttpConnection& connection);

// Sends all of it when the engine has made it. False: as above.
bool WriteAnswer(const FakeAnswer& answer, const Generation& generation, HttpConnection& connection);

}  // namespace foretoken::fake

#endif  // FORETOKEN_TESTS_PROFILE_FAKE_STREAM_H_
