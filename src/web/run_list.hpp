// The saved runs a server shows: files, what lies in folders, and runs that were made here. A browser names them by
// number, so that no name leads outside.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace kernbench::web {

class RunList {
 public:
  /// Files and folders; in folders, what ends in `.db` and is no link.
  explicit RunList(const std::vector<std::string>& given);

  /// One more file. Its number.
  int add(const std::string& path);
  /// All there are now, the newest first: [{id, name, bench, options, machine, total_ps, hash, ok, …}].
  nlohmann::ordered_json json();
  /// InputError (`web.no-run`) if there is none of that number, or its file is gone.
  std::string path(int id) const;

 private:
  struct Entry {
    int id = 0;
    std::string path;
    std::filesystem::file_time_type changed;
    std::string facts;  // JSON; empty: not read yet
  };
  void look_into_folders();
  int number_of(const std::string& path);
  void refresh(Entry& entry) const;

  mutable std::mutex mutex_;
  std::vector<std::string> folders_;
  std::vector<Entry> entries_;
};

}  // namespace kernbench::web
