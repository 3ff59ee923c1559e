// What a saved run holds may be made up, with checksums that fit: whoever reads it says so, as of any other damage.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <new>
#include <string>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::report {

/// Calls `fn`, which reads the saved run of that name. A row that names another which is not there, or JSON without the keys it
/// was written with, is an InputError `run-file.damaged`.
template <class Fn>
auto reading(const std::string& path, Fn&& fn) {
  try {
    return fn();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw InputError({"run-file.damaged", shown_path(path),
                      fmt::format("the content is not what was written: {}", printable(error.what())),
                      "save the run again: kernbench run … --save FILE"});
  }
}

}  // namespace kernbench::report
