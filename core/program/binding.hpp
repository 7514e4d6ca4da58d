// What the bindings of programs share.
#pragma once

#include <nanobind/nanobind.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "call.hpp"
#include "require.hpp"
#include "soacraft/files/program_file.hpp"

namespace soacraft {
namespace program {

void bind_calls(nb::module_& m);  // calls.cpp
void bind_store(nb::module_& m);  // store.cpp

}  // namespace program
}  // namespace soacraft
