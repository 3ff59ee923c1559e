// `tl` in Python: the kernel language. The spellings of the prototype (`dir=`, `src=`, `src_addr=`) are taken too.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "kernbench/error.hpp"
#include "python/host.hpp"
#include "python/recording.hpp"

namespace kernbench::python {
namespace {

using Class = py::class_<PyTl>;

tl::Context& at_line(const PyTl& self) { return self.recording->at_line(); }
PyTile made(const PyTl& self, tl::Tile tile) { return {self.recording, tile}; }
PyOp made(const PyTl& self, tl::Op op) { return {self.recording, op}; }
PyShard made(const PyTl& self, tl::Shard shard) { return {self.recording, std::move(shard)}; }

tl::Tile tile_of(py::handle value, const char* what) {
  if (py::isinstance<PyTensorHandle>(value)) return loaded(value.cast<const PyTensorHandle&>()).tile;
  if (!py::isinstance<PyTile>(value))
    throw py::type_error(fmt::format("{} is a tile, not {}", what, Py_TYPE(value.ptr())->tp_name));
  return value.cast<const PyTile&>().get();
}
tl::Tile tile_or_none(py::handle value, const char* what) {
  return value.is_none() ? tl::Tile() : tile_of(value, what);
}

[[noreturn]] void refuse(const std::string& text) { throw py::type_error(text); }

/// The one that is given of two spellings of an argument.
py::handle either(py::handle name, py::handle older, const char* call, const char* what) {
  if (!name.is_none() && !older.is_none()) refuse(fmt::format("{}() got {} twice", call, what));
  if (name.is_none() && older.is_none()) refuse(fmt::format("{}() needs {}", call, what));
  return name.is_none() ? older : name;
}

std::string_view text_of(py::handle value, const char* what) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_Check(value.ptr()) ? PyUnicode_AsUTF8AndSize(value.ptr(), &size) : nullptr;
  if (text == nullptr) refuse(fmt::format("{} is a str, not {}", what, Py_TYPE(value.ptr())->tp_name));
  return {text, static_cast<std::size_t>(size)};
}

// ── program ──

py::object number_as(double number, DType dtype) {
  if (dtype == DType::i1) return py::bool_(number != 0);
  if (is_integer(dtype)) return py::int_(static_cast<std::int64_t>(number));
  return py::float_(number);
}

/// May have to wait for an earlier launch, so others may run meanwhile.
py::object load_scalar(const PyTl& self, py::handle ptr, DType dtype) {
  tl::Context& tl = at_line(self);
  const tl::Ptr at = ptr_of(ptr);
  const auto read = [&] { return tl.load_scalar(at, dtype); };
  Host* const host = self.recording->host();
  return number_as(host != nullptr ? host->work(read) : read(), dtype);
}

std::int64_t whole_division(std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : a / b; }

std::int64_t cdiv(const PyTl& self, std::int64_t a, std::int64_t b) {
  if (b <= 0) at_line(self).cdiv(a, b);
  return whole_division(a, b);
}

void bind_program(Class& c) {
  c.def(
      "program_id", [](const PyTl& s, int axis) { return at_line(s).program_id(axis); }, py::arg("axis") = 0,
      "Axis 0: the PE in its cube, 1: the cube in its SIP, 2: the SIP.");
  c.def(
      "num_programs", [](const PyTl& s, int axis) { return at_line(s).num_programs(axis); },
      py::arg("axis") = 0, "How many there are along an axis of this launch.");
  c.def("cdiv", &cdiv, py::arg("a"), py::arg("b"), "⌈a / b⌉ of integers, b > 0.");
  c.def(
      "static_range",
      [](const PyTl&, const py::args& bounds) {
        return py::module_::import("builtins").attr("range")(*bounds);
      },
      "range(...)");
  c.def("load_scalar", &load_scalar, py::arg("ptr"), py::arg("dtype"),
        "The number at ptr as the host last wrote it. The PE waits for it, so kernels may branch on it.");
  c.def(
      "shard", [](const PyTl& s, py::handle t) { return made(s, at_line(s).shard(ptr_of(t))); },
      py::arg("tensor"), "The running PE's piece of a tensor argument.");
  c.def(
      "shards",
      [](const PyTl& s, py::handle t) {
        std::vector<PyShard> all;
        for (auto& shard : at_line(s).shards(ptr_of(t))) all.push_back(made(s, std::move(shard)));
        return all;
      },
      py::arg("tensor"), "All pieces of a tensor argument that the running PE holds, in dealing order.");
}

// ── create and reshape ──

/// The number that fills elements of that dtype. A double holds whole numbers of 53 bits.
double filling(py::handle value, DType dtype, const char* call) {
  const double number = py::cast<double>(value);
  if (!PyLong_Check(value.ptr()) || is_float(dtype)) return number;
  const auto held = py::reinterpret_steal<py::object>(PyLong_FromDouble(number));
  if (!held.equal(value))
    refuse(
        fmt::format("{}: a number has 53 bits, and {} needs more; put it together of two halves: "
                    "tl.full(shape, n >> 32, dtype) << 32 | (n & 0xffffffff)",
                    call, std::string(py::str(value))));
  return number;
}

void bind_create(Class& c) {
  c.def(
      "zeros",
      [](const PyTl& s, const tl::Dims& shape, DType t) { return made(s, at_line(s).zeros(shape, t)); },
      py::arg("shape"), py::arg("dtype"), "A tile of zeros.");
  c.def(
      "full",
      [](const PyTl& s, const tl::Dims& shape, py::handle value, DType t) {
        return made(s, at_line(s).full(shape, filling(value, t, "full"), t));
      },
      py::arg("shape"), py::arg("value"), py::arg("dtype"), "A tile of one number.");
  c.def(
      "arange",
      [](const PyTl& s, std::int64_t begin, std::optional<std::int64_t> end) {
        return made(s, end ? at_line(s).arange(begin, *end) : at_line(s).arange(0, begin));
      },
      py::arg("begin"), py::arg("end") = py::none(), "begin … end−1 as i32; with one argument 0 … begin−1.");
  c.def(
      "cast", [](const PyTl& s, const PyTile& x, DType t) { return made(s, at_line(s).cast(x.get(), t)); },
      py::arg("x"), py::arg("dtype"), "The same numbers, rounded to another dtype.");
  c.def(
      "bitcast",
      [](const PyTl& s, const PyTile& x, DType t) { return made(s, at_line(s).bitcast(x.get(), t)); },
      py::arg("x"), py::arg("dtype"), "The same bits as another dtype of that size; not of i1.");
  c.def(
      "copy", [](const PyTl& s, const PyTile& x) { return made(s, at_line(s).copy(x.get())); }, py::arg("x"),
      "A tile of its own, of what is a view.");
  c.def(
      "reshape",
      [](const PyTl& s, const PyTile& x, const tl::Dims& shape) {
        return made(s, at_line(s).reshape(x.get(), shape));
      },
      py::arg("x"), py::arg("shape"), "One extent may be -1.");
  c.def(
      "trans",
      [](const PyTl& s, const PyTile& x, const tl::Dims& axes) {
        return made(s, at_line(s).trans(x.get(), axes));
      },
      py::arg("x"), py::arg("axes") = py::none(), "Swaps the last two axes, or orders the axes as given.");
  c.def(
      "expand_dims",
      [](const PyTl& s, const PyTile& x, int axis) { return made(s, at_line(s).expand_dims(x.get(), axis)); },
      py::arg("x"), py::arg("axis"), "A view with one more axis, of one element.");
  c.def(
      "broadcast_to",
      [](const PyTl& s, const PyTile& x, const tl::Dims& shape) {
        return made(s, at_line(s).broadcast_to(x.get(), shape));
      },
      py::arg("x"), py::arg("shape"), "A view of that shape, by NumPy's rules.");
}

// ── memory and matrix ──

PyTile load(const PyTl& self, py::handle ptr, const tl::Dims& shape, DType dtype, const tl::Dims& strides,
            py::handle mask, py::handle other) {
  tl::Context& tl = at_line(self);
  if (strides.given() || !mask.is_none())
    return made(self, tl.load(ptr_of(ptr), shape, dtype,
                              {.strides = strides,
                               .mask = tile_or_none(mask, "mask"),
                               .other = filling(other, dtype, "load")}));
  return made(self, tl.load(ptr_of(ptr), shape, dtype));
}

PyOp store(const PyTl& self, py::handle ptr, py::handle tile, const tl::Dims& strides, py::handle mask,
           py::handle older) {
  tl::Context& tl = at_line(self);
  return made(self, tl.store(ptr_of(ptr), tile_of(either(tile, older, "store", "a tile"), "what is stored"),
                             {.strides = strides, .mask = tile_or_none(mask, "mask")}));
}

/// A command, a tile, or what recv_async returned: that gives its tile.
py::object wait(const PyTl& self, py::handle what) {
  tl::Context& tl = at_line(self);
  if (py::isinstance<PyPending>(what))
    return tl.wait(what.cast<const PyPending&>().get()),
           py::cast(made(self, what.cast<const PyPending&>().tile));
  if (py::isinstance<PyOp>(what)) return tl.wait(what.cast<const PyOp&>().op), py::none();
  tl.wait(tile_of(what, "what is waited for"));
  return py::reinterpret_borrow<py::object>(what);
}

tl::EpilogueOp epilogue_step(py::handle step) {
  if (py::isinstance<py::str>(step)) return {.op = text_of(step, "an epilogue step"), .operand = {}};
  const py::tuple parts(py::reinterpret_borrow<py::object>(step));
  if (parts.size() < 1 || parts.size() > 3)
    refuse("an epilogue step is a name or (name, operand[, 'per_k_step' | 'per_output_tile'])");
  tl::EpilogueOp made{.op = text_of(parts[0], "the name of an epilogue step"), .operand = {}};
  if (parts.size() > 1 && !parts[1].is_none()) made.operand = operand_of(parts[1]);
  if (parts.size() < 3) return made;
  const auto point = text_of(parts[2], "the point of an epilogue step");
  if (point == "per_k_step")
    made.point = isa::EpiloguePoint::per_k_step;
  else if (point != "per_output_tile")
    refuse(fmt::format("an epilogue step acts 'per_k_step' or 'per_output_tile', not '{}'", point));
  return made;
}

PyOp composite(const PyTl& self, const std::string& op, const PyTile& a, const PyTile& b, const PyTile& out,
               const py::list& epilogue) {
  tl::CompositeOptions options;
  for (const py::handle step : epilogue) options.epilogue.push_back(epilogue_step(step));
  return made(self, at_line(self).composite(op, a.get(), b.get(), out.get(), options));
}

void bind_memory(Class& c) {
  c.def("load", &load, py::arg("ptr"), py::arg("shape"), py::arg("dtype") = "f16",
        py::arg("strides") = py::none(), py::arg("mask") = py::none(), py::arg("other") = 0.0,
        "A tile from memory. Strides are in elements; lanes that the mask turns off are not read and hold "
        "`other`.");
  c.def("store", &store, py::arg("ptr"), py::arg("tile") = py::none(), py::arg("strides") = py::none(),
        py::arg("mask") = py::none(), py::kw_only(), py::arg("handle") = py::none(),
        "Writes a tile to memory, converted to the tensor's dtype; strides in elements.");
  c.def(
      "ref",
      [](const PyTl& s, py::handle ptr, const tl::Dims& shape, DType t, const tl::Dims& strides) {
        return made(s, at_line(s).ref(ptr_of(ptr), shape, t, strides));
      },
      py::arg("ptr"), py::arg("shape"), py::arg("dtype"), py::arg("strides") = py::none(),
      "A tensor in memory as an operand of composite.");
  c.def("wait", &wait, py::arg("what"),
        "Issue holds until the command has retired; of recv_async: gives the tile.");
  c.def(
      "fence", [](const PyTl& s) { at_line(s).fence(); },
      "Issue holds until every earlier command has retired.");
  c.def(
      "dot",
      [](const PyTl& s, const PyTile& a, const PyTile& b, py::handle acc, py::handle out_dtype) {
        tl::DotOptions options{.acc = tile_or_none(acc, "acc"), .out_dtype = {}};
        if (!out_dtype.is_none()) options.out_dtype = dtype_of(out_dtype);
        return made(s, at_line(s).dot(a.get(), b.get(), options));
      },
      py::arg("a"), py::arg("b"), py::arg("acc") = py::none(), py::arg("out_dtype") = py::none(),
      "a[M, K] · b[K, N] (+ acc): f32, of i8 i32, unless out_dtype says otherwise.");
  c.def("composite", &composite, py::arg("op"), py::arg("a"), py::arg("b"), py::arg("out"),
        py::arg("epilogue") = py::list(),
        "op is \"gemm\": out = a · b, streamed tile by tile; out is a reference. Epilogue: names or (name, "
        "operand).");
}

// ── elementwise and reductions ──

/// Those that Python has no operator for, by the names of the one list there is.
bool is_call(const MathOpInfo& op) {
  switch (op.op) {
    case MathOp::cast:
    case MathOp::bitcast:
    case MathOp::copy:
      return false;
    default:  // the kind says it
      return op.kind == MathKind::elementwise;
  }
}

/// `and`, `or` and `not` are Python's own words.
std::string spelled(std::string_view name) {
  const bool is_word = name == "and" || name == "or" || name == "not";
  return (is_word ? "logical_" : "") + std::string(name);
}

/// What it costs; what it is, its name says.
std::string doc_of(const MathOpInfo& info) {
  const char* const cost = info.cost == MathCost::simple     ? "simple"
                           : info.cost == MathCost::division ? "divide"
                                                             : "transcendental";
  return fmt::format("Element by element, with NumPy's broadcasting; {}_cycles of the vector unit.", cost);
}

void bind_elementwise(Class& c) {
  for (const MathOpInfo& info : math_ops()) {
    if (!is_call(info)) continue;
    const MathOp op = info.op;
    const std::string name = spelled(info.name), doc = doc_of(info);
    if (info.operands == 1)
      c.def(
          name.c_str(),
          [op](const PyTl& s, py::handle x) {
            const tl::Operand operands[] = {operand_of(x)};
            return made(s, at_line(s).math(op, operands));
          },
          py::arg("x"), doc.c_str());
    else if (info.operands == 2)
      c.def(
          name.c_str(),
          [op](const PyTl& s, py::handle a, py::handle b) {
            const tl::Operand operands[] = {operand_of(a), operand_of(b)};
            return made(s, at_line(s).math(op, operands));
          },
          py::arg("a"), py::arg("b"), doc.c_str());
    else if (op == MathOp::clamp)
      c.def(
          name.c_str(),
          [op](const PyTl& s, py::handle x, py::handle least, py::handle most, py::handle min,
               py::handle max) {
            const tl::Operand operands[] = {operand_of(x),
                                            operand_of(either(least, min, "clamp", "a least value")),
                                            operand_of(either(most, max, "clamp", "a largest value"))};
            return made(s, at_line(s).math(op, operands));
          },
          py::arg("x"), py::arg("least") = py::none(), py::arg("most") = py::none(), py::kw_only(),
          py::arg("min") = py::none(), py::arg("max") = py::none(), doc.c_str());
    else
      c.def(
          name.c_str(),
          [op](const PyTl& s, py::handle a, py::handle b, py::handle third) {
            const tl::Operand operands[] = {operand_of(a), operand_of(b), operand_of(third)};
            return made(s, at_line(s).math(op, operands));
          },
          op == MathOp::where ? py::arg("mask") : py::arg("a"),
          op == MathOp::where ? py::arg("a") : py::arg("b"),
          op == MathOp::where ? py::arg("b") : py::arg("c"), doc.c_str());
  }
}

void bind_reductions(Class& c) {
  using Reduce =
      tl::Tile (tl::Context::*)(const tl::Tile&, std::optional<int>, bool, const tl::MathOptions&, tl::At);
  const auto define = [&](const char* name, Reduce reduce) {
    c.def(
        name,
        [reduce](const PyTl& s, const PyTile& x, std::optional<int> axis, bool keep_dims,
                 py::handle out_dtype) {
          tl::MathOptions options;
          if (!out_dtype.is_none()) options.out_dtype = dtype_of(out_dtype);
          return made(s, (at_line(s).*reduce)(x.get(), axis, keep_dims, options, tl::At::current()));
        },
        py::arg("x"), py::arg("axis") = py::none(), py::arg("keep_dims") = false,
        py::arg("out_dtype") = py::none(),
        "Over one axis, or over all if none is given; rounded once to out_dtype, if given.");
  };
  define("sum", &tl::Context::sum);
  define("max", &tl::Context::max);
  define("min", &tl::Context::min);
  c.def(
      "argmax",
      [](const PyTl& s, const PyTile& x, std::optional<int> axis, bool keep_dims) {
        return made(s, at_line(s).argmax(x.get(), axis, keep_dims));
      },
      py::arg("x"), py::arg("axis") = py::none(), py::arg("keep_dims") = false,
      "The index of the first largest, over one axis or over all.");
  c.def(
      "softmax",
      [](const PyTl& s, const PyTile& x, int axis) { return made(s, at_line(s).softmax(x.get(), axis)); },
      py::arg("x"), py::arg("axis") = -1, "Recorded as max, sub, exp, sum, div.");
}

// ── queues ──

/// A tile, or (src_addr, shape, dtype), which is loaded first.
PyOp send(const PyTl& self, py::handle direction, py::handle tile, py::handle dir, py::handle src,
          py::handle src_addr, py::handle nbytes, py::handle shape, py::handle dtype, py::handle space) {
  tl::Context& tl = at_line(self);
  const auto to = text_of(either(direction, dir, "send", "a direction"), "a direction");
  if (!space.is_none()) space_of(text_of(space, "space"));
  if (src_addr.is_none()) {
    const py::handle message = either(tile, src, "send", "a tile");
    if (!py::isinstance<PyTensorHandle>(message))
      return made(self, tl.send(to, tile_of(message, "a message")));
    const auto& handle = message.cast<const PyTensorHandle&>();
    return made(self, tl.send(to, tl.ref(tl::Ptr(handle.addr), tl::Dims(handle.shape), handle.dtype)));
  }
  const DType type = dtype.is_none() ? DType::f16 : dtype_of(dtype);
  if (shape.is_none() && nbytes.is_none()) refuse("send(src_addr=…) needs a shape or nbytes");
  const std::int64_t flat[] = {shape.is_none() ? nbytes.cast<std::int64_t>() / itemsize(type) : 0};
  const tl::Dims dims = shape.is_none() ? tl::Dims(std::span<const std::int64_t>(flat)) : dims_of(shape);
  return made(self, tl.send(to, tl.load(ptr_of(src_addr), dims, type)));
}

struct Received {
  std::string direction;  // empty: any
  tl::Dims shape;
  DType dtype;
  tl::RecvOptions options;
};

tl::Dims scalar_dims() { return tl::Dims(std::span<const std::int64_t>()); }

Received received(const char* call, py::handle direction, const tl::Dims& shape, py::handle dtype,
                  py::handle dir, py::handle dst_addr, py::handle dst_space, bool any = false) {
  const bool from_any = any && direction.is_none() && dir.is_none();
  Received r{from_any ? std::string()
                      : std::string(text_of(either(direction, dir, call, "a direction"), "a direction")),
             shape.given() ? shape : scalar_dims(),
             dtype_of(dtype),
             {}};
  if (from_any && !dst_addr.is_none()) refuse(fmt::format("{}(dst_addr=…) needs a direction", call));
  if (!dst_addr.is_none()) r.options.dst_addr = ptr_of(dst_addr);
  if (!dst_space.is_none()) r.options.dst_space = space_of(text_of(dst_space, "dst_space"));
  return r;
}

void bind_queues(Class& c) {
  const py::none none;
  c.def("send", &send, py::arg("direction") = none, py::arg("tile") = none, py::kw_only(),
        py::arg("dir") = none, py::arg("src") = none, py::arg("src_addr") = none, py::arg("nbytes") = none,
        py::arg("shape") = none, py::arg("dtype") = none, py::arg("space") = none,
        "Sends a tile to the neighbour in that direction. With src_addr: what lies there, loaded first.");
  c.def(
      "recv",
      [](const PyTl& s, py::handle direction, const tl::Dims& shape, py::handle dtype, py::handle dir,
         py::handle dst_addr, py::handle dst_space) {
        const auto r = received("recv", direction, shape, dtype, dir, dst_addr, dst_space, true);
        if (r.direction.empty()) return made(s, at_line(s).recv_any(r.shape, r.dtype));
        return made(s, at_line(s).recv(r.direction, r.shape, r.dtype, r.options));
      },
      py::arg("direction") = none, py::arg("shape") = none, py::arg("dtype") = "f16", py::kw_only(),
      py::arg("dir") = none, py::arg("dst_addr") = none, py::arg("dst_space") = none,
      "The oldest message from that direction, or without one from any. With dst_addr it is moved there.");
  c.def(
      "recv_async",
      [](const PyTl& s, py::handle direction, const tl::Dims& shape, py::handle dtype, py::handle dir,
         py::handle dst_addr, py::handle dst_space) {
        const auto r = received("recv_async", direction, shape, dtype, dir, dst_addr, dst_space);
        return PyPending{{s.recording, at_line(s).recv_async(r.direction, r.shape, r.dtype, r.options)}};
      },
      py::arg("direction") = none, py::arg("shape") = none, py::arg("dtype") = "f16", py::kw_only(),
      py::arg("dir") = none, py::arg("dst_addr") = none, py::arg("dst_space") = none,
      "The same, without waiting for the message. What uses the tile waits for it, and so does tl.wait, "
      "which "
      "returns the tile.");
  c.def(
      "recv_any",
      [](const PyTl& s, const tl::Dims& shape, DType dtype) {
        return made(s, at_line(s).recv_any(shape, dtype));
      },
      py::arg("shape"), py::arg("dtype"),
      "The oldest message of any direction that no earlier receive claims.");
}

// ── the recording ──

std::vector<tl::Queue> queues_of(const py::iterable& names) {
  std::vector<tl::Queue> queues;
  for (const py::handle name : names)
    queues.push_back({.direction = std::string(text_of(name, "a direction"))});
  return queues;
}

tl::ScalarSource scalars_of(const py::object& source) {
  const auto held = hold(source);
  return [held](std::uint64_t address, DType dtype) {
    const py::gil_scoped_acquire gil;
    return (*held)(address, dtype).cast<double>();
  };
}

PyTl make(std::string kernel, const PeCoord& pe, std::array<int, 3> num_programs, std::int64_t scratch,
          const py::object& queues, const std::vector<PyShard>& shards, const py::object& scalars) {
  tl::Environment environment{.kernel = std::move(kernel),
                              .pe = pe,
                              .num_programs = num_programs,
                              .scratch = Bytes(scratch),
                              .queues = {},
                              .shards = {},
                              .scalars = {}};
  if (!queues.is_none()) environment.queues = queues_of(queues);
  for (const auto& shard : shards) environment.shards.push_back(shard.shard);
  if (!scalars.is_none()) environment.scalars = scalars_of(scalars);
  return {std::make_shared<Recording>(std::move(environment))};
}

void bind_recording(Class& c) {
  c.def(py::init(&make), py::kw_only(), py::arg("kernel") = "kernel", py::arg("pe") = py::make_tuple(0, 0, 0),
        py::arg("num_programs") = py::make_tuple(1, 1, 1), py::arg("scratch") = 1 << 20,
        py::arg("queues") = py::none(), py::arg("shards") = py::list(), py::arg("scalars") = py::none(),
        "A context alone, to record a kernel without any machine: see run_kernel.");
  c.def(
      "begin",
      [](const PyTl& s) {
        s.recording->context("tl").begin();
        Recording::begin(s.recording);
      },
      "Starts a new program.");
  c.def(
      "finish", [](const PyTl& s) { s.recording->context("tl").finish(); },
      "Checks the scratch of the program.");
  c.def(
      "set_line",
      [](const PyTl& s, const std::optional<std::string>& file, std::uint32_t line) {
        s.recording->pin_line(file.value_or(""), line);
      },
      py::arg("file"), py::arg("line") = 0,
      "From now on calls count as made at this line; None: at the line that runs, again.");
  c.def_property_readonly(
      "commands", [](const PyTl& s) { return commands_of(s.recording->context("tl")); },
      "What was recorded, a list of command objects.");
  c.def_property_readonly(
      "listing", [](const PyTl& s) { return isa::listing(s.recording->context("tl").program()); },
      "One command a line, numbered, with its source line.");
  c.def_property_readonly("fingerprint",
                          [](const PyTl& s) { return s.recording->context("tl").program().fingerprint(); });
  c.def_property_readonly("pe", [](const PyTl& s) { return s.recording->context("tl").environment().pe; });
  c.def_property_readonly(
      "directions",
      [](const PyTl& s) -> py::object {
        const auto& queues = s.recording->context("tl").environment().queues;
        if (!queues) return py::none();
        py::list names;
        for (const auto& queue : *queues) names.append(queue.direction);
        return names;
      },
      "The queues of this PE; None: any direction is accepted.");
}

void bind_ptr(py::module_& m) {
  py::class_<tl::Ptr> ptr(m, "Ptr", "A virtual address. Arithmetic is in bytes.");
  ptr.def(py::init([](std::uint64_t address, py::handle dtype) {
            return dtype.is_none() ? tl::Ptr(address) : tl::Ptr(address, dtype_of(dtype));
          }),
          py::arg("address") = 0, py::arg("dtype") = py::none());
  ptr.def_property_readonly(
      "dtype",
      [](tl::Ptr p) -> py::object {
        if (!p.dtype()) return py::none();
        return to_python(*p.dtype());
      },
      "Of the tensor it leads to; None: it is a plain number.");
  ptr.def(
      "as_", [](tl::Ptr p, DType dtype) { return p.as(dtype); }, py::arg("dtype"),
      "The same address, read and written as another dtype on purpose.");
  ptr.def_property_readonly("address", &tl::Ptr::address);
  ptr.def("__int__", &tl::Ptr::address).def("__index__", &tl::Ptr::address);
  ptr.def("__bool__", [](tl::Ptr p) { return !p.is_null(); });
  ptr.def("__hash__", [](tl::Ptr p) { return std::hash<std::uint64_t>()(p.address()); });
  ptr.def("__repr__", [](tl::Ptr p) { return fmt::format("Ptr({:#x})", p.address()); });
  ptr.def("__format__", [](tl::Ptr p, const std::string& spec) {
    return py::module_::import("builtins").attr("format")(py::int_(p.address()), spec);
  });
  ptr.def(
      "__add__", [](tl::Ptr p, std::int64_t n) { return p + n; }, py::is_operator());
  ptr.def(
      "__radd__", [](tl::Ptr p, std::int64_t n) { return p + n; }, py::is_operator());
  ptr.def(
      "__add__", [](tl::Ptr p, const PyTile& t) { return p + tl::PointerTile(t.get()); }, py::is_operator());
  ptr.def(
      "__radd__", [](tl::Ptr p, const PyTile& t) { return p + tl::PointerTile(t.get()); }, py::is_operator());
  ptr.def(
      "__sub__", [](tl::Ptr p, tl::Ptr q) { return p - q; }, py::is_operator());
  ptr.def(
      "__sub__", [](tl::Ptr p, std::int64_t n) { return p - n; }, py::is_operator());
  ptr.def(
      "__mod__",
      [](tl::Ptr p, std::uint64_t n) {
        if (n != 0) return p.address() % n;
        PyErr_SetString(PyExc_ZeroDivisionError, "a pointer modulo 0");
        throw py::error_already_set();
      },
      py::is_operator());
  const auto compare = [&](const char* name, auto holds) {
    ptr.def(
        name, [holds](tl::Ptr p, tl::Ptr q) { return holds(p.address(), q.address()); }, py::is_operator());
    ptr.def(
        name, [holds](tl::Ptr p, std::uint64_t q) { return holds(p.address(), q); }, py::is_operator());
  };
  compare("__eq__", std::equal_to<std::uint64_t>());
  compare("__ne__", std::not_equal_to<std::uint64_t>());
  compare("__lt__", std::less<std::uint64_t>());
  compare("__le__", std::less_equal<std::uint64_t>());
  compare("__gt__", std::greater<std::uint64_t>());
  compare("__ge__", std::greater_equal<std::uint64_t>());
  py::implicitly_convertible<py::int_, tl::Ptr>();
}

}  // namespace

void bind_tl(py::module_& m) {
  bind_ptr(m);
  Class c(m, "TlContext", py::dynamic_attr(),
          "The kernel language: each call records a command and hands back a tile.");
  bind_program(c);
  bind_create(c);
  bind_memory(c);
  bind_elementwise(c);
  bind_reductions(c);
  bind_queues(c);
  bind_recording(c);
  bind_lanes(c);
  bind_arrangements(c);
}

}  // namespace kernbench::python
