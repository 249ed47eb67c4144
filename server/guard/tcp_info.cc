// Apart from sockets.cc, because the kernel's and the C library's headers of TCP exclude one another.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

#include "server/guard/sockets.h"

namespace foretoken::guard {

int64_t BytesReceived(int fd) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  const bool has_it = size >= offsetof(tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received);
  return has_it ? static_cast<int64_t>(info.tcpi_bytes_received) : 0;
}

}  // namespace foretoken::guard
