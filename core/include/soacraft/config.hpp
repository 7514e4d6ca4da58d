// Names shared by every kernel: the index type, a function that also runs on a GPU, a pointer without alias.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define SOACRAFT_INLINE __host__ __device__ inline
#else
#define SOACRAFT_INLINE inline
#endif

#if defined(_MSC_VER)
#define SOACRAFT_RESTRICT __restrict
#else
#define SOACRAFT_RESTRICT __restrict__
#endif

namespace soacraft {

using index = std::int64_t;

}  // namespace soacraft
