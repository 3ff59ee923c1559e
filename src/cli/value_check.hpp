// What the value of an option must be, said once: it is checked, and a wrong or missing one is answered with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class Option;
}

namespace kernbench::cli {

/// What an option takes: `must_be` ends the sentences "must be …" and "needs a value: …".
struct Accepted {
  std::string must_be;
  std::function<bool(std::string&)> take;  // false: not accepted; may rewrite the value
};

Accepted one_of(std::vector<std::string> words);
/// From `low` to `high`; `remark` explains one of them: "0: one per core".
Accepted whole_number(std::int64_t low, std::int64_t high = INT64_MAX, const std::string& remark = "");
/// Bytes with or without a unit: 4096, 32KiB, 1M.
Accepted size_in_bytes();
Accepted name_of_a_file();

/// Has `option` refuse other values with an InputError: `--threads two: must be a whole number from 0 to 1024`.
CLI::Option* check_value(CLI::Option* option, const Accepted& accepted);
/// The `must_be` of an option, or what it calls its value where it takes anything.
std::string accepted_values(CLI::Option& option);

}  // namespace kernbench::cli
