#include "web/sweep_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/json.hpp"
#include "kernbench/error.hpp"
#include "web/given_files.hpp"

namespace kernbench::web {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A finished sweep whose page is made of files of this folder alone.
bool is_whole_sweep(const std::string& folder) {
  const std::string gemm = folder + "/gemm_sweep.json";
  std::error_code error;
  return is_plain_folder(folder) && is_plain_file(folder + "/sweep.json") &&
         (is_plain_file(gemm) || fs::symlink_status(gemm, error).type() == fs::file_type::not_found);
}

/// A folder whose sweep cannot be read is listed by its name alone.
Json facts_of_sweep(const std::string& folder) try {
  const Json sweep = parse_json_or_discard(read_text_file(folder + "/sweep.json"));
  return {{"bench", sweep.at("bench")}, {"points", sweep.at("rows").size()}};
} catch (const std::exception& error) {
  return {{"bench", nullptr}, {"points", 0}};
}

}  // namespace

SweepList::SweepList(const std::vector<std::string>& given) {
  for (const std::string& path : given)
    if (fs::is_directory(path)) folders_.push_back(fs::canonical(path).string());
  look();
}

/// Links are left alone: they may lead out of the folder.
void SweepList::look() {
  for (const std::string& folder : folders_) {
    std::vector<std::string> found;
    if (is_whole_sweep(folder)) found.push_back(folder);
    std::error_code error;
    for (const auto& inside : fs::directory_iterator(folder, error))
      if (is_whole_sweep(inside.path().string())) found.push_back(inside.path().string());
    std::ranges::sort(found);
    for (const std::string& path : found)
      if (std::ranges::find(sweeps_, path) == sweeps_.end()) sweeps_.push_back(path);
  }
}

Json SweepList::json() {
  const std::lock_guard lock(mutex_);
  look();
  Json list = Json::array();
  for (std::size_t i = 0; i < sweeps_.size(); ++i) {
    if (!is_whole_sweep(sweeps_[i])) continue;
    Json one = {{"id", i + 1}, {"name", fs::path(sweeps_[i] + "/").parent_path().filename().string()}};
    one.update(facts_of_sweep(sweeps_[i]));
    list.push_back(std::move(one));
  }
  return list;
}

std::string SweepList::path(int id) const {
  const std::lock_guard lock(mutex_);
  if (id < 1 || static_cast<std::size_t>(id) > sweeps_.size() ||
      !is_whole_sweep(sweeps_[static_cast<std::size_t>(id) - 1]))
    throw InputError({"web.no-sweep", fmt::format("sweep {}", id), "there is no sweep of this number", ""});
  return sweeps_[static_cast<std::size_t>(id) - 1];
}

}  // namespace kernbench::web
