// Measured times of real hardware, to stand beside simulated ones where the dimensions are the same. Nothing is interpolated.
//
// A baseline is a CSV file with the columns `op`, `dims` and `us_median`, in any order among others; lines that begin with #
// are comments. `h200` ships inside the program; others are files of the user.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/embedded_text.hpp"
#include "kernbench/param.hpp"

namespace kernbench::bench {

/// Ended by a null name. Generated from data/baselines.
extern const EmbeddedText kEmbeddedTexts[];

class Baseline {
 public:
  /// The one that ships under this name, or a file. InputError (`baseline.…`) if it is neither, or lacks a column.
  static Baseline load(const std::string& name_or_file);
  /// The option `beside` of a bench: one that ships, a file, or (by default) nothing.
  static Param option(std::string doc);

  const std::string& name() const { return name_; }
  /// Microseconds of an operation with exactly these dimensions, as they were measured: with the launch.
  std::optional<double> median_us(std::string_view op, std::string_view dims) const;
  /// The measured time of an empty launch (`empty_add`); 0 if the file does not have it.
  double launch_us() const { return launch_us_; }
  /// Without the launch, to stand beside the time on the PEs. None if nothing is left.
  std::optional<double> work_us(std::string_view op, std::string_view dims) const;
  /// A line to print below a comparison: what its columns include.
  std::string legend() const;

 private:
  std::string name_;
  double launch_us_ = 0;
  std::map<std::pair<std::string, std::string>, double> times_;
};

}  // namespace kernbench::bench
