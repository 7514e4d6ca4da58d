# Flags of the compiled code, by compiler. GCC builds what the tests run; Clang builds the program of the core (`./run check`).
# AppleClang and clang-cl are untried: their flags are those that say the same.
#
#   soacraft_optimized    kernels: contracted to fused multiplications; no errno, no traps
#   soacraft_exact        what must round as Python does: nothing is contracted
#   soacraft_unrolled     kernels: straight code is not gathered into vectors, for one state is one lane
#   soacraft_warnings     warnings
if(MSVC AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "soacraft: the kernels use vector types, which cl.exe does not have. "
    "Take clang-cl, which comes with Visual Studio: cmake -T ClangCL, or pip install . -C cmake.args=-TClangCL (untried).")
elseif(MSVC)  # clang-cl, untried
  set(soacraft_optimized /O2 /clang:-ffp-contract=fast /clang:-fno-math-errno /clang:-fno-trapping-math)
  set(soacraft_exact /O2 /clang:-ffp-contract=off)
  set(soacraft_unrolled /clang:-fno-slp-vectorize)
  set(soacraft_warnings /W3)
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # Clang; AppleClang, untried
  set(soacraft_optimized -O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math)
  set(soacraft_exact -O3 -ffp-contract=off)
  set(soacraft_unrolled -fno-slp-vectorize)
  set(soacraft_warnings -Wall -Wextra)
else()
  set(soacraft_optimized -O3 -ffp-contract=fast -fno-math-errno -fno-trapping-math)
  set(soacraft_exact -O3 -ffp-contract=off)
  set(soacraft_unrolled -fno-tree-slp-vectorize)
  set(soacraft_warnings -Wall -Wextra -Wno-psabi)
endif()

# Kernels for newer instruction sets are chosen at run time where the compiler can ask the processor: GCC and Clang on Linux.
set(soacraft_choice OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT MSVC AND NOT APPLE)
  set(soacraft_choice ON)
endif()
