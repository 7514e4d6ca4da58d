# find_package(soacraft) gives the target soacraft::core: header-only kernels, C++17.
include("${CMAKE_CURRENT_LIST_DIR}/soacraftTargets.cmake")
