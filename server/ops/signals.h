// Termination by SIGTERM, SIGINT or SIGHUP without a signal handler: the signals are blocked in every thread, and one
// thread waits for them as for any other event.
#ifndef FORETOKEN_SERVER_OPS_SIGNALS_H_
#define FORETOKEN_SERVER_OPS_SIGNALS_H_

#include <string_view>

namespace foretoken::ops {

// REQUIRES: called before any other thread starts, so that all inherit the mask. Ignores SIGPIPE too.
void BlockTerminationSignals();

// Waits for SIGTERM, SIGINT or SIGHUP and gives its name. From then on a second one ends the process at once.
std::string_view WaitForTerminationSignal();

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_SIGNALS_H_
