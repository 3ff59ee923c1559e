// The op log as columns of numbers, and everything that is derived from it.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <map>

#include "kernbench/error.hpp"
#include "kernbench/saved_run.hpp"
#include "kernbench/trace.hpp"
#include "python/host.hpp"
#include "python/registry.hpp"
#include "report/explain.hpp"
#include "report/html.hpp"

namespace kernbench::python {
namespace {

using trace::RunLog;

/// One record, as NumPy sees it. Texts are numbers in tables.
struct Row {
  std::uint16_t partition;
  std::uint32_t id;
  std::uint16_t kind;
  std::int16_t sip, cube, pe;
  std::uint32_t launch;
  std::uint16_t name;
  std::int64_t start_ps, end_ps;
  std::uint64_t amount;
  std::int64_t command;
  std::uint16_t file;
  std::uint32_t line;
  std::int32_t cause_partition;
  std::int64_t cause_id, cause_ps;
  std::uint16_t reason;
};

/// Texts in the order in which they are first met.
class Names {
 public:
  std::uint16_t operator()(std::string_view text) {
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    KB_ASSERT(texts_.size() < UINT16_MAX, "more than 65,534 different names in one log");
    const auto number = static_cast<std::uint16_t>(texts_.size());
    texts_.emplace_back(text);
    numbers_.emplace(text, number);
    return number;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, std::uint16_t, std::less<>> numbers_;
};

struct Tables {
  Names kinds, names, files, reasons;
};

Row row_of(const trace::Op& op, Tables& tables) {
  return {.partition = op.id.partition,
          .id = op.id.id,
          .kind = tables.kinds(op.kind),
          .sip = static_cast<std::int16_t>(op.pe.sip),
          .cube = static_cast<std::int16_t>(op.pe.cube),
          .pe = static_cast<std::int16_t>(op.pe.pe),
          .launch = op.launch,
          .name = tables.names(op.name),
          .start_ps = op.start.ps(),
          .end_ps = op.end.ps(),
          .amount = op.amount,
          .command = op.command == trace::Op::kNoCommand ? -1 : static_cast<std::int64_t>(op.command),
          .file = tables.files(op.file),
          .line = op.line,
          .cause_partition = op.cause ? op.cause->partition : -1,
          .cause_id = op.cause ? static_cast<std::int64_t>(op.cause->id) : -1,
          .cause_ps = op.cause ? op.cause_instant.ps() : -1,
          .reason = tables.reasons(op.reason)};
}

py::tuple columns(const RunLog& log) {
  py::array_t<Row> rows(static_cast<py::ssize_t>(log.size()));
  Tables tables;
  Row* next = rows.mutable_data();
  {
    const py::gil_scoped_release free;
    log.for_each([&](const trace::Op& op) { *next++ = row_of(op, tables); });
  }
  return py::make_tuple(rows, tables.kinds.texts(), tables.names.texts(), tables.files.texts(),
                        tables.reasons.texts());
}

py::dict uses_of(const trace::EngineUses& uses) {
  py::dict all;
  const auto add = [&](const char* name, const trace::EngineUse& use) {
    py::dict one;
    one["count"] = use.count;
    one["amount"] = use.amount;
    one["busy_ns"] = use.busy.ns();
    all[name] = one;
  };
  add("gemm", uses.gemm);
  add("math", uses.math);
  add("dma_read", uses.dma_read);
  add("dma_write", uses.dma_write);
  add("ipcq_send", uses.ipcq_send);
  add("ipcq_recv", uses.ipcq_recv);
  return all;
}

void bind_summary(py::module_& m) {
  using trace::Summary;
  py::class_<Summary> c(m, "Summary", "Counts, amounts and busy times per kind of engine.");
  c.def_readonly("records", &Summary::records);
  c.def_property_readonly("total", [](const Summary& s) { return uses_of(s.total); });
  c.def_property_readonly(
      "pes",
      [](const Summary& s) {
        py::dict all;
        for (const auto& pe : s.pes) {
          all[py::cast(pe.pe)] = uses_of(pe.engines);
        }
        return all;
      },
      "{(sip, cube, pe): uses}");
  c.def_property_readonly("exec_ns", [](const Summary& s) { return s.exec.ns(); });
  const auto count = [&](const char* name, trace::EngineUse trace::EngineUses::*use) {
    c.def_property_readonly(name, [use](const Summary& s) { return (s.total.*use).count; });
  };
  count("gemm_count", &trace::EngineUses::gemm);
  count("math_count", &trace::EngineUses::math);
  count("dma_read_count", &trace::EngineUses::dma_read);
  count("dma_write_count", &trace::EngineUses::dma_write);
  count("ipcq_send_count", &trace::EngineUses::ipcq_send);
  count("ipcq_recv_count", &trace::EngineUses::ipcq_recv);
  c.def_property_readonly("utilization", [](const Summary& s) {
    const auto u = trace::utilization(s);
    py::dict all;
    all["gemm"] = u.gemm, all["math"] = u.math, all["dma_read"] = u.dma_read, all["dma_write"] = u.dma_write;
    return all;
  });
  c.def("to_json", [](const Summary& s) { return trace::to_json(s); });
  c.def("__str__", [](const Summary& s) { return trace::to_text(s); });
}

void bind_hazards(py::module_& m) {
  using runtime::HazardReport;
  py::class_<HazardReport>(m, "Hazard", "Something the simulated hardware would not forgive.")
      .def_readonly("kind", &HazardReport::kind)
      .def_readonly("text", &HazardReport::text)
      .def_readonly("occurrences", &HazardReport::occurrences)
      .def("__str__", [](const HazardReport& h) { return h.text; })
      .def("__repr__", [](const HazardReport& h) { return fmt::format("<hazard {}: {}>", h.kind, h.text); });
}

}  // namespace

void bind_log(py::module_& m) {
  PYBIND11_NUMPY_DTYPE(Row, partition, id, kind, sip, cube, pe, launch, name, start_ps, end_ps, amount,
                       command, file, line, cause_partition, cause_id, cause_ps, reason);
  bind_summary(m);
  bind_hazards(m);
  py::class_<RunLog>(m, "RunLog", py::dynamic_attr(), "The log of a run: every operation of the machine.")
      .def("__len__", &RunLog::size)
      .def("_columns", &columns)
      .def("summary", &RunLog::summary, py::call_guard<py::gil_scoped_release>())
      .def(
          "critical_path", [](const RunLog& log) { return log.critical_path(); },
          py::call_guard<py::gil_scoped_release>(), py::keep_alive<0, 1>())
      .def("hash", &RunLog::hash, py::call_guard<py::gil_scoped_release>(), "Equal hashes mean equal runs.");
  m.def(
      "open_log", [](const std::string& path) { return SavedRun::open(path).log(); }, py::arg("path"));
  m.def(
      "compare_logs",
      [](const RunLog& before, const RunLog& after, std::size_t limit) {
        return trace::to_text(trace::compare(before, after, limit), after);
      },
      py::arg("before"), py::arg("after"), py::arg("limit") = 20);
  m.def(
      "saved_json", [](const std::string& path) { return SavedRun::open(path).json(); }, py::arg("path"));
  m.def(
      "saved_query",
      [](const std::string& path, const std::string& sql) { return SavedRun::open(path).query(sql); },
      py::arg("path"), py::arg("sql"));
  m.def(
      "explain_run", [](const std::string& path) { return report::explanation(SavedRun::open(path)); },
      py::arg("path"));
  m.def(
      "report_page",
      [](const std::vector<std::string>& paths) {
        std::vector<SavedRun> runs;
        for (const std::string& path : paths) runs.push_back(SavedRun::open(path));
        return report::html_page(runs, registry().components);
      },
      py::arg("paths"), py::call_guard<py::gil_scoped_release>());
  auto torch = py::reinterpret_borrow<py::class_<PyTorch>>(m.attr("Torch"));
  torch.def("_log", [](const PyTorch& s) { return s.host->torch_to_look_at().log(); });
  torch.def("_save", [](const PyTorch& s, const std::string& path) {
    Torch& context = s.host->torch_to_look_at();
    s.host->work([&] { save_run(context, path); });
  });
  torch.def("_hazards", [](const PyTorch& s) {
    Torch& context = s.host->torch_to_look_at();
    return s.host->work([&] { return context.hazards(); });
  });
}

}  // namespace kernbench::python
