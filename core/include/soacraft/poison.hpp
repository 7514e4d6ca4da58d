// Arrays that are cut from one piece of memory lie next to each other, and a step outside one would land in another
// unseen. In a build with the address sanitizer a gap that must not be touched follows each of them.
#pragma once

#include <cstddef>

#include "scalars/target.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define SOACRAFT_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SOACRAFT_POISON 1
#endif
#endif
#if defined(SOACRAFT_POISON)
#include <sanitizer/asan_interface.h>
#endif

SOACRAFT_RIGID_BEGIN

// What an array of so many bytes takes: whole cache lines, and the gap.
constexpr std::size_t cut_size(std::size_t bytes) {
#if defined(SOACRAFT_POISON)
    return (bytes + 63) / 64 * 64 + 64;
#else
    return (bytes + 63) / 64 * 64;
#endif
}

// An array of so many bytes begins here.
inline void mark_cut(char* at, std::size_t bytes) {
#if defined(SOACRAFT_POISON)
    ASAN_UNPOISON_MEMORY_REGION(at, bytes);
    ASAN_POISON_MEMORY_REGION(at + bytes, cut_size(bytes) - bytes);
#else
    (void)at, (void)bytes;
#endif
}

SOACRAFT_RIGID_END
