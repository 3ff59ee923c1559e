#include "web/run_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "kernbench/error.hpp"
#include "kernbench/saved_run.hpp"
#include "web/given_files.hpp"

namespace kernbench::web {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// What a list says of a run. A file that cannot be read is listed with the reason.
Json facts_of(const std::string& path) try {
  const SavedRun run = SavedRun::open(path);
  const Json all = parse_json(run.json());
  return {{"bench", all.value("bench", Json())},
          {"options", all.value("options", Json::object())},
          {"machine", all.at("machine").at("source")},
          {"total_ps", run.total().ps()},
          {"ops", run.op_count()},
          {"hash", run.value("hash")},
          {"ok", all.value("ok", Json())},
          {"verified", all.value("verified", Json())},
          {"failure", all.value("failure", Json())}};
} catch (const std::exception& error) {
  return {{"error", error.what()}};
}

}  // namespace

RunList::RunList(const std::vector<std::string>& given) {
  for (const std::string& path : given) {
    if (fs::is_directory(path))
      folders_.push_back(fs::canonical(path).string());
    else
      number_of(fs::canonical(path).string());
  }
  look_into_folders();
}

int RunList::add(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return number_of(path);
}

int RunList::number_of(const std::string& path) {
  const auto known = std::ranges::find(entries_, path, &Entry::path);
  if (known != entries_.end()) return known->id;
  entries_.push_back({static_cast<int>(entries_.size()) + 1, path, {}, ""});
  return entries_.back().id;
}

/// Links are left alone: they may lead out of the folder.
void RunList::look_into_folders() {
  for (const std::string& folder : folders_) {
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& file : fs::directory_iterator(folder, error))
      if (file.path().extension() == ".db" && is_plain_file(file.path().string()))
        found.push_back(file.path().string());
    std::ranges::sort(found);
    for (const std::string& path : found) number_of(path);
  }
}

void RunList::refresh(Entry& entry) const {
  std::error_code error;
  const auto changed = fs::last_write_time(entry.path, error);
  if (!entry.facts.empty() && changed == entry.changed) return;
  entry.changed = changed;
  entry.facts = dump_json(facts_of(entry.path));
}

Json RunList::json() {
  const std::lock_guard lock(mutex_);
  look_into_folders();
  Json list = Json::array();
  for (Entry& entry : entries_) {
    if (!is_plain_file(entry.path)) continue;
    refresh(entry);
    Json one = {{"id", entry.id}, {"name", fs::path(entry.path).filename().string()}};
    one.update(parse_json(entry.facts));
    list.push_back(std::move(one));
  }
  std::ranges::reverse(list);
  return list;
}

std::string RunList::path(int id) const {
  const std::lock_guard lock(mutex_);
  const auto entry = std::ranges::find(entries_, id, &Entry::id);
  if (entry == entries_.end() || !is_plain_file(entry->path))
    throw InputError({"web.no-run", fmt::format("run {}", id), "there is no run of this number", ""});
  return entry->path;
}

}  // namespace kernbench::web
