// The folder of a sweep: points that are done, one JSON line each, and what is made of them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sweep/background_sync.hpp"
#include "sweep/folder_lock.hpp"

namespace kernbench::sweep {

class Folder {
 public:
  /// Makes the folder if it does not exist, and locks it for as long as this object lives. A line that a kill has cut off is dropped.
  /// InputError (`sweep.folder`) if another sweep works in it, it cannot be written, or its points are damaged.
  explicit Folder(const std::string& path);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  /// The lines of points, by key; the last of equal ones.
  const std::map<std::string, std::string>& lines() const { return lines_; }
  /// Appends a line: it survives this process at once, the computer as soon as it is on the disk, which is seen to meanwhile.
  void add(const std::string& key, const std::string& line);
  /// Waits until all lines are on the disk. InputError if that failed.
  void finish();
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// A folder inside; nothing if it is there.
  void make(const std::string& name) const;

 private:
  void read_points();

  const std::string path_;
  std::optional<FolderLock> lock_;
  int points_ = -1;
  std::optional<BackgroundSync> sync_;  // of the points
  std::map<std::string, std::string> lines_;
};

}  // namespace kernbench::sweep
