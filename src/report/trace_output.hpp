// Trace events as text, into a file that may be compressed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/new_file.hpp"
#include "kernbench/units.hpp"

namespace kernbench::report {

class TraceOutput {
 public:
  explicit TraceOutput(const std::string& path);
  ~TraceOutput();
  TraceOutput(const TraceOutput&) = delete;
  TraceOutput& operator=(const TraceOutput&) = delete;

  /// One event: `fields` is what stands between its braces.
  void event(std::string_view fields);
  /// Ends the list; `about` is an object that goes beside it.
  void finish(std::string_view about);

 private:
  class Packer;
  void flush();

  NewFile file_;
  std::unique_ptr<Packer> packer_;  // of `.gz`
  std::string buffer_;
  bool first_ = true;
};

/// Microseconds, to the picosecond: `1.250000`.
std::string microseconds(Time time);
/// A JSON string, with its quotes.
std::string json_string(std::string_view text);

}  // namespace kernbench::report
