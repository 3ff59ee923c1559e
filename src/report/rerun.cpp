#include "report/rerun.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/json.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "kernbench/error.hpp"
#include "report/reading.hpp"

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;

bool is_of_ccl(const std::string& override) { return override.starts_with("ccl."); }

/// An option's value as a word of the command line has it.
std::string word_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return dump_json(value);
  std::string text = "[";
  for (const Json& one : value) text += (text.size() > 1 ? ", " : "") + word_of(one);
  return text + "]";
}

/// Options at their defaults are left out: older files have them also where they do not apply.
std::vector<std::string> words_of(const Json& options, const Bench& bench) {
  const bench::Options defaults(bench.options);
  std::vector<std::string> words;
  for (const auto& [name, value] : options.items()) {
    const std::string word = word_of(value);
    const bool is_default = defaults.find(name) != nullptr && to_yaml(defaults.value(name)) == word;
    if (!value.is_null() && !is_default) words.push_back(fmt::format("{}={}", name, word));
  }
  return words;
}

/// Files that a saved run names were chosen by whoever wrote it: reading a pipe or a device could wait for ever.
void refuse_other_than_regular_file(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(name, error);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw InputError({"explain.file", shown_path(name),
                      "the saved run reads this file, which is not a regular file",
                      "make the run again with a regular file of your own, and save it"});
}

void check_read_files(const bench::Options& options) {
  for (const Param& param : options.params())
    if (param.file == Param::File::read &&
        std::ranges::find(param.choices, options.text(param.name)) == param.choices.end())
      refuse_other_than_regular_file(options.text(param.name));
}

const Bench& bench_of(const SavedRun& run, const Registry& registry) {
  const std::string name = run.value("bench");
  if (!name.empty() && registry.benches.find(name) != nullptr) return *registry.benches.find(name);
  throw InputError(
      {"explain.no-bench", shown_path(run.path()),
       name.empty()
           ? std::string("the run is of a program of one's own, which cannot be run again from its file")
           : fmt::format("the run is of bench {}, which this program does not have", quote(name)),
       "run your program again with the changed machine, save_run it, and compare: kernbench diff A B"});
}

}  // namespace

Rerun::Rerun(const SavedRun& run, const Registry& registry)
    : registry_(registry), yaml_(run.machine()), path_(run.path()), bench_(&bench_of(run, registry)) {
  reading(run.path(), [&] { read(run); });
  machine_ = machine_with({});
}

void Rerun::read(const SavedRun& run) {
  const Json all = parse_json(run.json());
  options_ = bench_->read_options(words_of(all.at("options"), *bench_));
  check_read_files(options_);
  options_.drop_output_files();  // a saved run does not decide which files of this user are written
  device_ = all.at("device").get<std::string>();
  ccl_ = all.at("recipe").at("ccl").get<std::string>();
  if (all.at("recipe").contains("ccl_text"))  // files written earlier have only its name
    ccl_text_ = all.at("recipe").at("ccl_text").get<std::string>();
  else if (ccl_ != "default")
    refuse_other_than_regular_file(ccl_);
  ccl_overrides_ = all.at("recipe").at("ccl_overrides").get<std::vector<std::string>>();
}

topology::Machine Rerun::machine_with(const Overrides& overrides) const {
  Overrides of_machine;
  std::ranges::copy_if(overrides, std::back_inserter(of_machine), std::not_fn(is_of_ccl));
  return topology::load_machine_text(yaml_, path_, of_machine, registry_.components);
}

ccl::Config Rerun::collectives(const Overrides& overrides) const {
  const auto all = options_with(overrides).ccl_overrides;
  if (ccl_text_) return ccl::load_config_text(*ccl_text_, ccl_, all, registry_.collectives);
  return ccl::load_config(ccl_, all, registry_.collectives);
}

bench::RunOptions Rerun::options_with(const Overrides& overrides) const {
  bench::RunOptions how;
  how.device = DeviceSelector::parse(device_);
  how.ccl = ccl_;
  how.ccl_text = ccl_text_;
  how.collectives = &registry_.collectives;
  how.ccl_overrides = ccl_overrides_;
  std::ranges::copy_if(overrides, std::back_inserter(how.ccl_overrides), is_of_ccl);
  how.threads = 1;
  return how;
}

void Rerun::check(const Variant& variant) const {
  machine_with(variant.overrides);
  collectives(variant.overrides);
}

VariantResult Rerun::one(const Variant& variant, const std::atomic<bool>* interrupt) const {
  bench::RunOptions how = options_with(variant.overrides);
  how.interrupt = interrupt;
  const bench::RunResult result = bench::run(*bench_, options_, machine_with(variant.overrides), how);
  VariantResult out{result.total, result.hash, result.lower_bound.time, {}, 0, {}};
  if (!result.critical_path.by_resource.empty()) {
    out.limit = result.critical_path.by_resource.front().name;
    out.limit_share = result.critical_path.by_resource.front().fraction;
  }
  return out;
}

std::vector<VariantResult> Rerun::all(const std::vector<Variant>& variants,
                                      const std::atomic<bool>* interrupt,
                                      const std::function<void(std::size_t)>& done) const {
  std::vector<VariantResult> results(variants.size());
  std::atomic<std::size_t> next = 0;
  std::size_t ended = 0;
  std::mutex mutex;
  std::exception_ptr stopped;
  const auto work = [&] {
    for (std::size_t i = next++; i < variants.size(); i = next++) {
      try {
        results[i] = one(variants[i], interrupt);
      } catch (const runtime::Interrupted&) {
        const std::scoped_lock lock(mutex);
        stopped = std::current_exception();
        next = variants.size();
      } catch (const std::exception& error) {
        results[i].failure = error.what();
      }
      const std::scoped_lock lock(mutex);
      ++ended;
      if (done) done(ended);
    }
  };
  {
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    const auto helpers =
        start_helpers(std::min(static_cast<int>(variants.size()), cores) - 1, [&](int) { work(); });
    work();
  }
  if (stopped) std::rethrow_exception(stopped);
  return results;
}

}  // namespace kernbench::report
