// File descriptors: every connection takes one. The soft limit that a process starts with is often 1,024, and a
// listener of gRPC 1.51 that finds none left never accepts again, not even once connections have ended.
#ifndef FORETOKEN_SERVER_OPS_DESCRIPTORS_H_
#define FORETOKEN_SERVER_OPS_DESCRIPTORS_H_

namespace foretoken::ops {

// Raises the soft limit to the hard one. Where the system forbids it, the limit stays.
void RaiseDescriptorLimit();

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_DESCRIPTORS_H_
