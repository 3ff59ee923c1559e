// The sweeps a server shows: folders that were given, and those in them. A browser names them by number.
#pragma once

#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kernbench::web {

class SweepList {
 public:
  /// What was given and is no folder is left to others.
  explicit SweepList(const std::vector<std::string>& given);

  /// All there are now: [{id, name, bench, points}].
  nlohmann::ordered_json json();
  /// InputError (`web.no-sweep`) if there is none of that number.
  std::string path(int id) const;

 private:
  void look();

  mutable std::mutex mutex_;
  std::vector<std::string> folders_;
  std::vector<std::string> sweeps_;  // numbered from 1
};

}  // namespace kernbench::web
