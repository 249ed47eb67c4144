// Marks a function whose loops are compiled a second time, for processors with wider vectors; the loader picks one.
// Both versions give the same bits, because none fuses a product with a sum (-ffp-contract=off). It saves a tenth of a
// sweep in the loops over a row's points, and nothing elsewhere. Off under a sanitizer: the function that picks runs
// before the sanitizer is set up. The preset tsan hides __SANITIZE_THREAD__ from headers, but not the other name.
#ifndef FORETOKEN_ESTIMATOR_BASE_WIDE_VECTORS_H_
#define FORETOKEN_ESTIMATOR_BASE_WIDE_VECTORS_H_

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(_GLIBCXX_TSAN)
#define FORETOKEN_WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define FORETOKEN_WIDE_VECTORS
#endif

#endif  // FORETOKEN_ESTIMATOR_BASE_WIDE_VECTORS_H_
