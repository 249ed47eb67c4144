// File descriptors: every connection takes one. The soft limit that a process starts with is often 1,024, and a
// descriptor that is wanted and not there fails something else: the store, a renewed certificate. So connections leave
// some free.
#ifndef FORETOKEN_SERVER_OPS_DESCRIPTORS_H_
#define FORETOKEN_SERVER_OPS_DESCRIPTORS_H_

namespace foretoken::ops {

// Raises the soft limit to the hard one. Where the system forbids it, the limit stays.
void RaiseDescriptorLimit();

// How many connections the soft limit leaves room for, beside the store, the log, metrics and gRPC's own descriptors.
int DescriptorsForConnections();

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_DESCRIPTORS_H_
