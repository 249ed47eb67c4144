// When the running sequences of a replica complete, and when this frees batch slots and KV cache for waiting requests.
//
// Where the remaining tokens of each are known, each completes after so many steps. Else their mean and the least of
// them are known. In an engine that admits a request at each completion, the remaining tokens are spread evenly from
// the least to as far beyond the mean. So the i-th of `running` sequences completes after least + 2 (remaining - least)
// i / (running + 1) steps, the mean of the i-th of as many independent uniform draws. [ours]
//
// Example: four sequences with 20 remaining tokens on average complete after 8, 16, 24 and 32 steps; with at least 10
// each, after 14, 18, 22 and 26.
// Leaves out: which of the sequences completes first; requests that arrive later.
#ifndef FORETOKEN_ESTIMATOR_SERVING_COMPLETIONS_H_
#define FORETOKEN_ESTIMATOR_SERVING_COMPLETIONS_H_

#include <optional>
#include <vector>

namespace foretoken {

class Completions {
 public:
  // `running` sequences with `remaining` output tokens on average, each at least `least`; absent: none completes.
  // `each`: those of each, shortest first; null: not known. REQUIRES: running is a whole number; `each` outlives the
  // Completions and has as many.
  Completions(double running, std::optional<double> remaining, double least = 0,
              const std::vector<double>* each = nullptr);

  double running() const { return running_; }
  // Steps from one completion to the next, on average; infinity: none completes.
  double gap() const { return gap_; }
  // Steps before which none completes.
  double first() const { return first_; }
  // Steps until the last completion. Nothing runs: 0; none completes: infinity.
  double Last() const;
  // How many have completed after `steps`, and how many still run.
  double Ended(double steps) const;
  double Left(double steps) const { return running_ - Ended(steps); }
  // Mean number that run in the steps after `first` up to `last`; Left(first) if there is no step between.
  double MeanLeft(double first, double last) const;

 private:
  // Decode steps of all sequences together in the first `steps`.
  double Made(double steps) const;

  double running_;
  double gap_;
  double first_;
  const std::vector<double>* each_;
};

// A resource that completions release: batch slots, or tokens of KV cache. Requests take what is released and release
// it again when they complete.
struct SlotRelease {
  Completions completions;  // of the running sequences
  double each = 1;          // held by each running sequence
  double again = 1;         // the part of it that whole requests can take
  double joined = 0;        // taken by requests that begin now
  double hold = 1;          // steps for which a request keeps what it took, at least 1

  // The amount released after `steps`; what is released several times counts each time. Completions of running
  // sequences count one by one. Completions of the requests that replaced them count as a fraction of their generation
  // less half a completion, the mean difference between a whole number and the fraction above it.
  double Freed(double steps) const;
  // Steps until `needed` is released; `needed` may be a mean between whole numbers. REQUIRES: the running sequences
  // complete; something is held.
  double StepsUntil(double needed) const;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_COMPLETIONS_H_
