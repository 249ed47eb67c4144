// Closed forms of queues against the mean of simulated customers.
#include "estimator/serving/queueing.h"

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

// Steps of empty + n each, in balance: as many come during the mean step as it lasts.
StepQueue LinearQueue(double rate, double empty, double each, double most, double idle) {
  StepQueue queue{.rate = rate, .most = most, .idle = idle, .empty = Seconds(empty), .each = Seconds(each)};
  queue.longest = Seconds(empty + most * each);
  double low = 0;
  double high = most;
  for (int i = 0; i < 60; ++i) {
    queue.arriving = (low + high) / 2;
    queue.taking = Seconds(empty + queue.Group() * each);
    const double nobody = std::pow(1 - queue.arriving / most, most);
    const double step = idle > 0 ? queue.taking.value() : nobody * empty + (1 - nobody) * queue.taking.value();
    (queue.arriving < rate * step ? low : high) = queue.arriving;
  }
  return queue;
}

TEST(StepQueueTest, AgreesWithSimulatedSteps) {
  struct Case {
    double empty, each, most, idle, wait_bound;
  };
  const Case cases[] = {
      {1, 1, 1, 0, 0.02},   {1, 0.1, 4, 0, 0.05},  {1, 0.1, 64, 0, 0.02}, {1, 1, 4, 0, 0.08},
      {1, 1, 16, 0, 0.04},  {0.2, 1, 4, 0, 0.05},  {0.2, 1, 64, 0, 0.04}, {0, 1, 1, 1, 0.02},
      {0.2, 1, 2, 1, 0.16}, {0.2, 1, 16, 1, 0.23}, {1, 1, 4, 1, 0.13},    {1, 0.1, 16, 1, 0.08},
  };
  for (const auto& [empty, each, most, idle, wait_bound] : cases) {
    const Seconds longest(empty + most * each);
    for (const double load : {0.05, 0.2, 0.5, 0.8}) {
      const StepQueue queue = LinearQueue(load * most / longest.value(), empty, each, most, idle);
      const Simulated slow = Simulate(queue, 200'000);
      SCOPED_TRACE(testing::Message() << empty << " + n " << each << ", at most " << most << ", idle " << idle
                                      << ", load " << load);
      EXPECT_NEAR(queue.Wait().value() / slow.wait, 1, wait_bound);
      EXPECT_NEAR(queue.Together() / slow.together, 1, 0.15);
    }
  }
}

TEST(StepQueueTest, ARareCustomerMeetsNobody) {
  const StepQueue queue = LinearQueue(1e-9, 1, 2, 8, 1);
  EXPECT_NEAR(queue.Wait().value(), 0, 1e-8);
  EXPECT_NEAR(queue.Together(), 1, 1e-8);
  EXPECT_NEAR(queue.Followers(100), 0, 1e-8);
}

}  // namespace
}  // namespace foretoken
