// Asks a server for one estimate: consumer HOST:PORT MODEL HARDWARE.
#include <iostream>

#include "client/client.h"
#include "client/status_details.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: consumer HOST:PORT MODEL HARDWARE\n";
    return 2;
  }
  foretoken::v1::EstimateRequest request;
  foretoken::v1::Scenario& scenario = *request.mutable_scenario();
  scenario.set_model_id(argv[2]);
  scenario.set_hardware_id(argv[3]);
  scenario.mutable_workload()->set_prompt_tokens(1024);
  scenario.mutable_workload()->set_output_tokens(128);

  const foretoken::client::Client client(foretoken::client::Dial(argv[1]));
  const auto response = client.Estimate(request);
  if (!response.ok()) {
    std::cerr << foretoken::client::Describe(response.status()) << "\n";
    return 1;
  }
  std::cout << response->estimate().e2e().seconds() << " s\n";
  return 0;
}
