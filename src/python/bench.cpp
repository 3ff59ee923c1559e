// Benches: those that ship, those of Python, and the command line that runs them all.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/json.hpp"
#include "bench/run.hpp"
#include "bench/run_json.hpp"
#include "kernbench/cli.hpp"
#include "kernbench/error.hpp"
#include "kernbench/run_bench.hpp"
#include "python/host.hpp"
#include "python/registry.hpp"
#include "report/save.hpp"

namespace kernbench::python {

Registry& registry() {
  static auto* const all = new Registry(builtin_registry());
  return *all;
}

namespace {

// ── a host program in Python ──

/// What a host program of Python raised last, for callers that are Python again.
std::exception_ptr& raised() {
  static auto* const last = new std::exception_ptr;
  return *last;
}

Error::Info info_of(py::handle error) {
  const auto text = [&](const char* name) { return py::str(error.attr(name)).cast<std::string>(); };
  return {text("id"), text("where"), text("message"), text("hint")};
}

/// The error of ours that a Python exception stands for; any other is a failure of the program.
[[noreturn]] void throw_like(const py::error_already_set& error, const std::string& bench) {
  const py::module_ errors = py::module_::import("kernbench._errors");
  const py::object value = error.value();
  if (error.matches(PyExc_KeyboardInterrupt) || py::isinstance(value, errors.attr("Interrupted")))
    throw runtime::Interrupted({"python.interrupted", "", "the run was stopped", ""});
  if (py::isinstance(value, errors.attr("InternalError"))) throw InternalError(info_of(value));
  if (py::isinstance(value, errors.attr("InputError"))) throw InputError(info_of(value));
  if (py::isinstance(value, errors.attr("Error"))) throw SimulationError(info_of(value));
  py::object trace = error.trace();
  if (!trace) trace = py::none();
  errors.attr("show_traceback")(value, trace);
  throw SimulationError({"bench.failed", fmt::format("bench '{}'", bench),
                         fmt::format("its host function failed: {}", Raised(error).what()), ""});
}

/// `fn(torch, options, report)`, the torch over the run's own context.
bench::HostFunction host_function(const std::string& name, const py::object& fn) {
  const auto held = hold(fn);
  return [held, name](Torch& torch, const Options& options, BenchReport& report) {
    const py::gil_scoped_acquire gil;
    const auto host = std::make_shared<Host>(torch);
    struct Over {
      Host& host;
      ~Over() { host.abandon(); }
    } const over{*host};
    raised() = nullptr;
    try {
      py::dict values;
      for (const Param& param : options.params())
        values[py::str(param.name)] = to_python(options.value(param.name));
      (*held)(py::cast(PyTorch(host)), values, py::cast(&report, py::return_value_policy::reference));
    } catch (const py::error_already_set& error) {
      raised() = std::current_exception();
      throw_like(error, name);
    }
  };
}

void add_bench(const std::string& name, const std::string& doc, const std::vector<Param>& options,
               const py::object& fn, bool replace) {
  if (replace) registry().benches.remove(name);
  registry().benches.add({name, doc, options, host_function(name, fn)});
}

void bind_param(py::module_& m) {
  const auto range_of = [](const std::pair<double, double>& range) {
    return Range{range.first, range.second};
  };
  py::class_<Param>(m, "Param", "An option of a bench: a name, a type, a default, a range and one sentence.")
      .def_static(
          "integer",
          [=](const std::string& name, std::int64_t fallback, std::pair<double, double> range,
              const std::string& doc) { return Param::integer(name, fallback, range_of(range), doc); },
          py::arg("name"), py::arg("default"), py::arg("range") = std::pair(-1e18, 1e18), py::arg("doc") = "")
      .def_static(
          "number",
          [=](const std::string& name, double fallback, std::pair<double, double> range,
              const std::string& doc) { return Param::number(name, fallback, range_of(range), doc); },
          py::arg("name"), py::arg("default"), py::arg("range") = std::pair(-1e300, 1e300),
          py::arg("doc") = "")
      .def_static("flag", &Param::flag, py::arg("name"), py::arg("default"), py::arg("doc") = "")
      .def_static("text", &Param::text, py::arg("name"), py::arg("default"), py::arg("doc") = "")
      .def_static("input_file", &Param::input_file, py::arg("name"), py::arg("default"),
                  py::arg("built_in") = std::vector<std::string>(), py::arg("doc") = "")
      .def_static("output_file", &Param::output_file, py::arg("name"), py::arg("default"),
                  py::arg("doc") = "")
      .def_static("choice", &Param::choice, py::arg("name"), py::arg("default"), py::arg("choices"),
                  py::arg("doc") = "")
      .def_readonly("name", &Param::name)
      .def_readonly("doc", &Param::doc)
      .def_property_readonly("default", [](const Param& p) { return to_python(p.fallback); })
      .def_property_readonly("expectation", &Param::expectation)
      .def("__repr__", [](const Param& p) { return fmt::format("<Param {}: {}>", p.name, p.expectation()); });
}

ParamValue value_of(py::handle value) {
  if (PyBool_Check(value.ptr())) return value.cast<bool>();
  if (PyIndex_Check(value.ptr())) return value.cast<std::int64_t>();
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  return value.cast<double>();
}

void bind_report(py::module_& m) {
  py::class_<BenchReport>(m, "BenchReport", "What a bench has to say. Printed by whoever runs it.")
      .def_property_readonly("verify", &BenchReport::verify, "Whether the bench shall compare its results.")
      .def("verified", &BenchReport::verified, py::arg("right"), py::arg("complaint") = "",
           "The outcome of a comparison. Several are all to be right.")
      .def(
          "compare",
          [](BenchReport& r, const std::string& what, py::handle got, py::handle expected, double rtol,
             double atol) {
            const NdArray array = array_of(got);
            return r.compare(what, array, array_of(expected, array.dtype()), {rtol, atol});
          },
          py::arg("what"), py::arg("got"), py::arg("expected"), py::arg("rtol") = 0.0, py::arg("atol") = 0.0)
      .def(
          "result",
          [](BenchReport& r, std::string name, py::handle value) {
            r.result(std::move(name), value_of(value));
          },
          py::arg("name"), py::arg("value"), "A figure of this bench, in order, for `results` of the JSON.")
      .def("line", &BenchReport::line, py::arg("text"), "The one line that says what came out.")
      .def_property_readonly(
          "verdict", [](const BenchReport& r) { return std::string(r.verdict()); },
          "OK, FAIL or not checked.")
      .def_property_readonly("complaints", &BenchReport::complaints);
}

// ── runs ──

/// Runs with the GIL free; Ctrl-C sets the flag meanwhile.
template <class Fn>
auto listening(Fn fn) {
  std::atomic<bool> interrupt = false;
  try {
    const Listening free(interrupt);
    return fn(interrupt);
  } catch (const runtime::Interrupted&) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    throw;
  } catch (const Error&) {
    if (raised()) std::rethrow_exception(std::exchange(raised(), nullptr));
    throw;
  }
}

bench::RunResult run_bench(const std::string& name, const std::vector<std::string>& words,
                           const topology::Machine& machine, const std::string& device, bool verify,
                           bool hazards, bool strict, int threads, const std::string& ccl,
                           const std::vector<std::string>& ccl_overrides, const std::string& save) {
  const Bench& bench = registry().benches.at(name);
  const Options options = bench.read_options(words);
  raised() = nullptr;
  return listening([&](const std::atomic<bool>& interrupt) {
    bench::RunOptions how;
    how.device = DeviceSelector::parse(device);
    how.ccl = ccl;
    how.collectives = &registry().collectives;
    how.ccl_overrides = ccl_overrides;
    how.verify = verify;
    how.hazards = hazards;
    how.strict = strict;
    how.threads = threads;
    how.interrupt = &interrupt;
    if (!save.empty()) {
      report::check_place(save);
      how.finished = [&](Torch& torch, const bench::RunResult& result) {
        report::save(result, torch, {"", result.ccl, ccl_overrides, verify}, save, {.interrupt = &interrupt});
      };
    }
    return bench::run(bench, options, machine, how);
  });
}

py::dict results_of(const BenchReport& report) {
  py::dict results;
  for (const auto& [name, value] : report.results()) results[py::str(name)] = to_python(value);
  return results;
}

void bind_result(py::module_& m) {
  using bench::RunResult;
  py::class_<RunResult>(m, "BenchResult", py::dynamic_attr(),
                        "A bench that has run, and everything there is to say.")
      .def_readonly("bench", &RunResult::bench)
      .def_readonly("machine", &RunResult::machine)
      .def_property_readonly("ok", &RunResult::ok,
                             "Comparisons, bounds and, if strict, hazards are all right.")
      .def_property_readonly("line", [](const RunResult& r) { return r.report.text(); })
      .def_property_readonly("results", [](const RunResult& r) { return results_of(r.report); })
      .def_property_readonly("complaints", [](const RunResult& r) { return r.report.complaints(); })
      .def_property_readonly("total_ns", [](const RunResult& r) { return r.total.ns(); })
      .def_property_readonly("hash", [](const RunResult& r) { return fmt::format("{:016x}", r.hash); })
      .def_property_readonly("lower_bound_ns", [](const RunResult& r) { return r.lower_bound.time.ns(); })
      .def_property_readonly("bound_by", [](const RunResult& r) { return r.lower_bound.resource; })
      .def_property_readonly(
          "launches",
          [](const RunResult& r) {
            py::list all;
            for (const auto& launch : r.launches)
              all.append(py::make_tuple(launch.trace, launch.bound.time.ns(), launch.bound.resource));
            return all;
          },
          "(trace, lower bound in ns, what sets it) of each launch.")
      .def_readonly("summary", &RunResult::summary)
      .def_readonly("critical_path", &RunResult::critical_path)
      .def_readonly("energy", &RunResult::energy, "None: the machine file has no prices.")
      .def_readonly("hazards", &RunResult::hazards, "None: nobody looked for them.")
      .def_readonly("warnings", &RunResult::warnings, "Queues that limit the bandwidth of their links.")
      .def_readonly("_log", &RunResult::log)
      .def(
          "to_json", [](const RunResult& r) { return dump_json(to_json(r), 2); },
          "The document of `kernbench run --json`.")
      .def("__repr__", [](const RunResult& r) { return fmt::format("<{}: {}>", r.bench, r.report.text()); });
}

py::dict describe_bench(const std::string& name) {
  const Bench& bench = registry().benches.at(name);
  py::dict said;
  said["name"] = bench.name;
  said["description"] = bench.doc;
  said["options"] = bench.options;
  return said;
}

// ── the command line ──

/// Texts go where Python's own do.
struct PythonStreams {
  PythonStreams() {
    set_output({.out = [](std::string_view text) { write("stdout", text); },
                .err = [](std::string_view text) { write("stderr", text); }});
  }
  ~PythonStreams() { set_output({}); }
  PythonStreams(const PythonStreams&) = delete;
  PythonStreams& operator=(const PythonStreams&) = delete;

  static void write(const char* stream, std::string_view text) {
    const py::gil_scoped_acquire gil;
    const py::object file = py::module_::import("sys").attr(stream);
    if (file.is_none()) return;
    try {
      file.attr("write")(py::str(text.data(), text.size()));
      file.attr("flush")();
    } catch (const py::error_already_set& error) {
      if (error.matches(PyExc_BrokenPipeError)) throw ReaderGone{};
      throw InputError({"file.unwritable", fmt::format("sys.{}", stream), error.what(), ""});
    }
  }
};

int run_command_line(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const PythonStreams streams;
  const py::gil_scoped_release free;
  return cli_main(static_cast<int>(arguments.size()), argv.data(), registry());
}

}  // namespace

void bind_bench(py::module_& m) {
  bind_param(m);
  bind_report(m);
  bind_result(m);
  m.def("add_bench", &add_bench);
  m.def("bench_names", [] { return registry().benches.names(); });
  m.def("describe_bench", &describe_bench);
  m.def("run_bench", &run_bench);
  m.def("cli_main", &run_command_line);
  auto torch = py::reinterpret_borrow<py::class_<PyTorch>>(m.attr("Torch"));
  torch.def("_result", [](const PyTorch& s) {
    Torch& context = s.host->torch_to_look_at();
    return s.host->work([&] { return bench::result_of(context); });
  });
}

}  // namespace kernbench::python
