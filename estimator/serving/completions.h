// When the sequences that a replica runs now end, and the seats that this frees for those that wait.
//
// Only the mean of their remaining tokens is known. In an engine that admits a request whenever one ends they are
// spread evenly up to twice the mean: the i-th of R ends after 2 r i / (R + 1) steps, as the i-th of R independent
// uniform draws does on average. One alone ends after r. [ours]
//
// Example: four sequences with 20 tokens left on average end after 8, 16, 24 and 32 steps.
// Leaves out: that one which ends early is not known to be this one; requests that come later.
#ifndef FORETOKEN_ESTIMATOR_SERVING_COMPLETIONS_H_
#define FORETOKEN_ESTIMATOR_SERVING_COMPLETIONS_H_

#include <optional>

namespace foretoken {

class Completions {
 public:
  // `running` sequences that have `remaining` tokens to make on average; absent: none ends.
  // REQUIRES: running is a whole number.
  Completions(double running, std::optional<double> remaining);

  double running() const { return running_; }
  // Steps from one ending to the next; infinity: none ends.
  double gap() const { return gap_; }
  // Steps until the last has ended. None runs: 0; none ends: infinity.
  double Last() const;
  // How many have ended after `steps`, and how many still run.
  double Ended(double steps) const;
  double Left(double steps) const { return running_ - Ended(steps); }
  // How many run in the steps after `first` up to `last`, on average; without a step between them Left(first).
  double MeanLeft(double first, double last) const;

 private:
  // Steps that all make together in the first `steps`.
  double Made(double steps) const;

  double running_;
  double gap_;
};

// What becomes free as sequences end, and again as the requests end that took it: seats, or tokens of KV cache.
struct SlotRelease {
  Completions completions;  // of those that run now
  double each = 1;          // what one of them holds
  double again = 1;         // what requests can take of that, who come whole
  double joined = 0;        // what requests take that begin now
  double hold = 1;          // steps that a request keeps what it has taken, at least 1

  // How much has become free after `steps`, counted anew whenever it does. The endings of those running are counted one
  // by one, those of who took their seats, while not all of a generation have ended, as half an ending less than a
  // fraction of them: a whole number is so much less on average.
  double Freed(double steps) const;
  // Steps until `needed` has become free, where that is not a whole number as the mean of one. REQUIRES: those running
  // end; someone holds something.
  double StepsUntil(double needed) const;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_COMPLETIONS_H_
