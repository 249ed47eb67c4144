// Tells ThreadSanitizer by what gRPC 1.51 hands work from one thread to another without a lock: queues, and counts of
// what is still to come. The system's gRPC is compiled without the sanitizer. Without this, all that a call does would
// be reported against what gRPC did before it on another thread. The classes of queues are internal to gRPC; only their
// names count here.
#include <utility>

#include "absl/status/status.h"
#include "grpcpp/support/server_callback.h"
#include "tests/sanitizers/own_function.h"

struct grpc_closure;

namespace grpc_core {

using foretoken::Own;

class MultiProducerSingleConsumerQueue {
 public:
  struct Node;
  bool Push(Node* node);
  Node* Pop();
  Node* PopAndCheckEnd(bool* empty);
};

bool MultiProducerSingleConsumerQueue::Push(Node* node) {
  static auto* const own = Own<bool(MultiProducerSingleConsumerQueue*, Node*)>(
      "_ZN9grpc_core32MultiProducerSingleConsumerQueue4PushEPNS0_4NodeE");
  __tsan_release(this);
  return own(this, node);
}

MultiProducerSingleConsumerQueue::Node* MultiProducerSingleConsumerQueue::Pop() {
  static auto* const own =
      Own<Node*(MultiProducerSingleConsumerQueue*)>("_ZN9grpc_core32MultiProducerSingleConsumerQueue3PopEv");
  Node* const node = own(this);
  __tsan_acquire(this);
  return node;
}

MultiProducerSingleConsumerQueue::Node* MultiProducerSingleConsumerQueue::PopAndCheckEnd(bool* empty) {
  static auto* const own = Own<Node*(MultiProducerSingleConsumerQueue*, bool*)>(
      "_ZN9grpc_core32MultiProducerSingleConsumerQueue14PopAndCheckEndEPb");
  Node* const node = own(this, empty);
  __tsan_acquire(this);
  return node;
}

// Runs one closure of a call at a time, on whichever thread.
class CallCombiner {
 public:
  void Start(grpc_closure* closure, absl::Status error, const char* file, int line, const char* reason);
  void Stop(const char* file, int line, const char* reason);
};

void CallCombiner::Start(grpc_closure* closure, absl::Status error, const char* file, int line, const char* reason) {
  static auto* const own = Own<void(CallCombiner*, grpc_closure*, absl::Status, const char*, int, const char*)>(
      "_ZN9grpc_core12CallCombiner5StartEP12grpc_closureN4absl@6StatusEPKciS7_");
  __tsan_acquire(this);
  __tsan_release(this);
  own(this, closure, std::move(error), file, line, reason);
}

void CallCombiner::Stop(const char* file, int line, const char* reason) {
  static auto* const own =
      Own<void(CallCombiner*, const char*, int, const char*)>("_ZN9grpc_core12CallCombiner4StopEPKciS2_");
  __tsan_acquire(this);
  __tsan_release(this);
  own(this, file, line, reason);
}

}  // namespace grpc_core

namespace grpc::internal {

// The last of a call's callbacks has returned: all of them happened before the end of its reactor.
void ServerCallbackCall::ScheduleOnDone(bool inline_ondone) {
  static auto* const own =
      foretoken::Own<void(ServerCallbackCall*, bool)>("_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb");
  __tsan_acquire(&callbacks_outstanding_);
  own(this, inline_ondone);
}

// The handler has returned, and the call has ended for its caller: both happened before the reactor hears of it.
void ServerCallbackCall::CallOnCancel(ServerReactor* reactor) {
  static auto* const own = foretoken::Own<void(ServerCallbackCall*, ServerReactor*)>(
      "_ZN4grpc8internal18ServerCallbackCall12CallOnCancelEPNS0_13ServerReactorE");
  __tsan_acquire(&on_cancel_conditions_remaining_);
  own(this, reactor);
}

}  // namespace grpc::internal
