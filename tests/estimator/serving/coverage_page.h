// The table of coverage (coverage.h) as a page of documentation.
#ifndef FORETOKEN_TESTS_ESTIMATOR_SERVING_COVERAGE_PAGE_H_
#define FORETOKEN_TESTS_ESTIMATOR_SERVING_COVERAGE_PAGE_H_

#include <string>

namespace foretoken {

// Markdown: a grid of features by methods and policies, then what refusals and warnings say.
std::string CoverageAsMarkdown();

}  // namespace foretoken

#endif  // FORETOKEN_TESTS_ESTIMATOR_SERVING_COVERAGE_PAGE_H_
