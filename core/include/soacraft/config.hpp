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

// Kernels are built several times, for several instruction sets. Each build has a namespace of its own, so that the
// linker never joins code meant for different machines.
#if !defined(SOACRAFT_TARGET)
#define SOACRAFT_TARGET portable
#endif
#define SOACRAFT_TEXT2(x) #x
#define SOACRAFT_TEXT(x) SOACRAFT_TEXT2(x)
#define SOACRAFT_TARGET_NAME SOACRAFT_TEXT(SOACRAFT_TARGET)

// How many states a register holds.
#if !defined(SOACRAFT_LANES)
#if defined(__AVX512F__)
#define SOACRAFT_LANES 8
#elif defined(__AVX__)
#define SOACRAFT_LANES 4
#else
#define SOACRAFT_LANES 2
#endif
#endif

#define SOACRAFT_BEGIN \
    namespace soacraft { \
    inline namespace SOACRAFT_TARGET {
#define SOACRAFT_END \
    }                \
    }

namespace soacraft {

using index = std::int64_t;

}  // namespace soacraft
