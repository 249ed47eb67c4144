// The devices of this machine, as its driver names them: for a person to compare with the hardware that was stated.
#ifndef FORETOKEN_CLIENT_CLI_PROFILE_LOCAL_DEVICE_H_
#define FORETOKEN_CLIENT_CLI_PROFILE_LOCAL_DEVICE_H_

#include <string>

namespace foretoken::cli {

// Whether the server of a URL runs on this machine: its host is a loopback address.
bool IsLocal(const std::string& url);

// "2 x NVIDIA H100 80GB HBM3 (nvidia-smi)", or where no driver tells "AMD EPYC 9354 (/proc/cpuinfo)"; empty: nothing is
// known. A driver that does not answer within 5 s tells nothing.
std::string LocalDevice();

// "2 x A, 1 x B" of lines that name a device each.
std::string CountedNames(const std::string& lines);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_PROFILE_LOCAL_DEVICE_H_
