// A client that shows what came over the wire, faults included.
#ifndef FORETOKEN_TESTS_PROFILE_RAW_CLIENT_H_
#define FORETOKEN_TESTS_PROFILE_RAW_CLIENT_H_

#include <string>
#include <vector>

namespace foretoken::fake {

// One connection to 127.0.0.1. It closes at the end of its life.
class RawClient {
 public:
  explicit RawClient(int port);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void Send(const std::string& method, const std::string& path, const std::string& body = "");
  // Reads until what came contains `text`, or the other side is done. Whether it contains it.
  bool ReadUntil(const std::string& text);
  // Reads one answer to its end, or all that comes before the connection ends or 20 MB are there.
  void ReadAnswer();

  // Of what came since Send.
  const std::string& bytes() const { return bytes_; }
  std::string Status() const;               // "200 OK"
  std::string Body() const;                 // without the framing of chunks
  std::vector<std::string> Events() const;  // of the body, each without "data: " and the empty line
  bool whole() const { return whole_; }     // the answer ended as HTTP says
  bool reset() const { return reset_; }     // the connection was reset

 private:
  bool Fill();
  bool IsWhole() const;

  int socket_;
  std::string bytes_;
  bool whole_ = false;
  bool reset_ = false;
};

}  // namespace foretoken::fake

#endif  // FORETOKEN_TESTS_PROFILE_RAW_CLIENT_H_
