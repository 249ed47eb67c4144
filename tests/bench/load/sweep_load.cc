#include "tests/bench/load/sweep_load.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "client/client.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "server/rpc/baseline.grpc.pb.h"

namespace foretoken::bench {
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

ProcessUse Difference(const ProcessUse& before, const ProcessUse& after) {
  return {.user_seconds = after.user_seconds - before.user_seconds,
          .system_seconds = after.system_seconds - before.system_seconds,
          .resident_bytes = after.resident_bytes};
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Reads one sweep to its end, and notes when its first points came.
void ReadSweep(client::Client& client, const v1::SweepRequest& request, StreamResult& result,
               std::vector<double>& first_points) {
  const Clock::time_point start = Clock::now();
  const auto sweep = client.Sweep(request);
  absl::Status status = sweep->ReadHeader().status();
  bool first = true;
  while (status.ok()) {
    const auto chunk = sweep->ReadChunk();
    status = chunk.status();
    if (!status.ok() || !chunk->has_value()) break;
    if (first) first_points.push_back(Since(start));
    first = false;
    result.points += (*chunk)->num_points();
  }
  result.refused_points += sweep->summary().refused_points();
  if (status.ok()) return;
  ++result.errors;
  std::fprintf(stderr, "foretoken-load: %s\n", status.ToString().c_str());
}

}  // namespace

StreamResult RunSweeps(const std::string& address, const v1::SweepRequest& request, int parallel, double seconds,
                       int server_pid) {
  std::vector<StreamResult> results(static_cast<size_t>(parallel));
  std::vector<std::vector<double>> first_points(results.size());
  const ProcessUse before = ReadProcess(server_pid);
  const Clock::time_point start = Clock::now();
  std::vector<std::thread> readers;
  for (size_t i = 0; i < results.size(); ++i) {
    readers.emplace_back([&, i] {
      client::Client client(client::Dial(address));
      do {
        ReadSweep(client, request, results[i], first_points[i]);
      } while (Since(start) < seconds && results[i].errors == 0);
    });
  }
  StreamResult total;
  std::vector<double> all_first_points;
  for (size_t i = 0; i < results.size(); ++i) {
    readers[i].join();
    total.points += results[i].points;
    total.refused_points += results[i].refused_points;
    total.errors += results[i].errors;
    all_first_points.insert(all_first_points.end(), first_points[i].begin(), first_points[i].end());
  }
  total.first_point_seconds = Median(std::move(all_first_points));
  total.seconds = Since(start);
  total.server = Difference(before, ReadProcess(server_pid));
  total.resident_growth_bytes = total.server.resident_bytes - before.resident_bytes;
  return total;
}

StreamResult RunColumns(const std::string& address, const v1::SweepRequest& request, int64_t points, int server_pid) {
  const auto stub =
      baseline::BaselineService::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  baseline::ColumnsRequest columns;
  columns.set_total_points(points);
  columns.set_metrics(request.metrics_size());
  columns.set_chunk_points(request.has_chunk_points() ? request.chunk_points() : 2048);
  StreamResult result;
  const ProcessUse before = ReadProcess(server_pid);
  const Clock::time_point start = Clock::now();
  grpc::ClientContext context;
  const auto reader = stub->Columns(&context, columns);
  while (true) {
    v1::SweepResponse message;  // a new one each time, as the client library reads
    if (!reader->Read(&message)) break;
    if (result.points == 0) result.first_point_seconds = Since(start);
    result.points += message.chunk().num_points();
  }
  const grpc::Status status = reader->Finish();
  if (!status.ok()) {
    result.errors = 1;
    std::fprintf(stderr, "foretoken-load: status %d: %s\n", status.error_code(), status.error_message().c_str());
  }
  result.seconds = Since(start);
  result.server = Difference(before, ReadProcess(server_pid));
  return result;
}

StreamResult RunSlowReader(const std::string& address, const v1::SweepRequest& request, double seconds,
                           int server_pid) {
  StreamResult result;
  const ProcessUse before = ReadProcess(server_pid);
  client::Client client(client::Dial(address));
  const auto sweep = client.Sweep(request);
  absl::Status status = sweep->ReadHeader().status();
  if (status.ok()) {
    const auto chunk = sweep->ReadChunk();
    status = chunk.status();
    if (status.ok() && chunk->has_value()) result.points = (*chunk)->num_points();
  }
  if (!status.ok()) {
    ++result.errors;
    std::fprintf(stderr, "foretoken-load: %s\n", status.ToString().c_str());
    return result;
  }
  const Clock::time_point start = Clock::now();
  while (Since(start) < seconds) {
    const double resident = ReadProcess(server_pid).resident_bytes;
    result.resident_growth_bytes = std::max(result.resident_growth_bytes, resident - before.resident_bytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  result.seconds = Since(start);
  return result;
}

}  // namespace foretoken::bench
