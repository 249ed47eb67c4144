// A function whose loops are compiled for processors with wider vectors as well; the loader picks. Every version gives
// the same bits, since none fuses a product with a sum (-ffp-contract=off). Worth it for the loops over a row's points
// alone: a tenth of a sweep. Not under a sanitizer, whose checks in what picks would run before it is set up.
#ifndef FORETOKEN_ESTIMATOR_BASE_WIDE_VECTORS_H_
#define FORETOKEN_ESTIMATOR_BASE_WIDE_VECTORS_H_

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define FORETOKEN_WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define FORETOKEN_WIDE_VECTORS
#endif

#endif  // FORETOKEN_ESTIMATOR_BASE_WIDE_VECTORS_H_
