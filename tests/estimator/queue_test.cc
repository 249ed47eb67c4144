// Closed forms of queues against the mean of simulated customers.
#include "estimator/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

namespace foretoken {
namespace {

// Customers one by one (Lindley's recursion): waits of a queue with constant service.
TEST(MeanWaitTest, IsTheMeanOfSimulatedWaits) {
  std::mt19937_64 random(45);
  std::exponential_distribution<double> gap(1);
  constexpr int kCustomers = 2'000'000;
  for (const double busy : {0.1, 0.5, 0.8}) {  // services of one second
    double wait = 0;
    double sum = 0;
    for (int i = 0; i < kCustomers; ++i) {
      wait = std::max(0.0, wait + 1 - gap(random) / busy);
      sum += wait;
    }
    // The mean of 2e6 correlated waits deviates by about 0.5% at 80% load; three such.
    EXPECT_NEAR(MeanWait(busy, Seconds(1)).value(), sum / kCustomers, 0.015 * sum / kCustomers) << busy;
  }
}

struct Simulated {
  double wait = 0, together = 0;
};

// Step by step: a step takes those who wait, at most as many as there are places. Without vacations none runs where
// nobody waits.
Simulated Simulate(const StepQueue& queue, int customers) {
  std::mt19937_64 random(46);
  std::exponential_distribution<double> gap(queue.rate);
  std::deque<double> waiting;
  Simulated sum;
  double now = 0;
  double next = gap(random);
  for (double done = 0; done < customers;) {
    if (waiting.empty() && queue.idle > 0) now = std::max(now, next);
    for (; next <= now; next += gap(random)) waiting.push_back(next);
    const double taken = std::min(queue.most, static_cast<double>(waiting.size()));
    for (double i = 0; i < taken; ++i) {
      sum.wait += (now - waiting.front()) / customers;
      sum.together += taken / customers;
      waiting.pop_front();
    }
    done += taken;
    now += (queue.empty + taken * queue.each).value();
  }
  return sum;
}

TEST(StepQueueTest, AgreesWithSimulatedSteps) {
  struct Case {
    double empty, each, most, idle, wait_bound;
  };
  const Case cases[] = {
      {1, 1, 1, 0, 0.02},   {1, 0.1, 4, 0, 0.05},  {1, 0.1, 64, 0, 0.02}, {1, 1, 4, 0, 0.08},
      {1, 1, 16, 0, 0.04},  {0.2, 1, 4, 0, 0.05},  {0.2, 1, 64, 0, 0.04}, {0, 1, 1, 1, 0.02},
      {0.2, 1, 2, 1, 0.16}, {0.2, 1, 16, 1, 0.13}, {1, 1, 4, 1, 0.13},    {1, 0.1, 16, 1, 0.08},
  };
  for (const auto& [empty, each, most, idle, wait_bound] : cases) {
    const Seconds longest(empty + most * each);
    for (const double load : {0.05, 0.2, 0.5, 0.8}) {
      const StepQueue queue{load * most / longest.value(), Seconds(empty), Seconds(each), most, longest, idle};
      const Simulated slow = Simulate(queue, 200'000);
      SCOPED_TRACE(testing::Message() << empty << " + n " << each << ", at most " << most << ", idle " << idle
                                      << ", load " << load);
      EXPECT_NEAR(queue.Wait().value() / slow.wait, 1, wait_bound);
      EXPECT_NEAR(queue.Together() / slow.together, 1, 0.15);
    }
  }
}

TEST(StepQueueTest, ARareCustomerMeetsNobody) {
  const StepQueue queue{1e-9, Seconds(1), Seconds(2), 8, Seconds(17), 1};
  EXPECT_NEAR(queue.Wait().value(), 0, 1e-8);
  EXPECT_NEAR(queue.Together(), 1, 1e-8);
  EXPECT_NEAR(queue.Followers(100), 0, 1e-8);
}

}  // namespace
}  // namespace foretoken
