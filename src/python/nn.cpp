// Operations on tensors: kernbench/nn.hpp and attention.hpp.
#include "kernbench/nn.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "data/numerics/elementwise.hpp"
#include "kernbench/attention.hpp"
#include "kernbench/error.hpp"
#include "python/models.hpp"

namespace kernbench::python {
namespace {

constexpr auto kOf = [](const PyTensor& t) -> const Tensor& { return t.get(); };

/// Runs an operation on tensors, the first of which says where, and the result lies there, too.
template <class Fn, class... More>
PyTensor on(Fn fn, const PyTensor& first, const More&... more) {
  check_one_context(first, {&more...});
  return {first.host, first.host->work([&] { return fn(kOf(first), kOf(more)...); })};
}

std::optional<DType> maybe_dtype(py::handle value) {
  return value.is_none() ? std::nullopt : std::optional(dtype_of(value));
}

nn::OpOptions options_of(py::handle out_dtype, const std::string& name) {
  return {.out_dtype = maybe_dtype(out_dtype), .name = name};
}

/// A name, or (name, tensor) or (name, number), as `composite` takes them.
nn::Epilogue epilogue_of(py::handle step) {
  if (py::isinstance<py::str>(step)) return {.op = step.cast<std::string>()};
  const py::tuple both(py::reinterpret_borrow<py::object>(step));
  if (both.size() != 2) throw py::type_error("a step of an epilogue is a name, or (name, tensor or number)");
  nn::Epilogue made{.op = both[0].cast<std::string>()};
  if (py::isinstance<PyTensor>(both[1]))
    made.operand = both[1].cast<const PyTensor&>().get();
  else
    made.number = both[1].cast<double>();
  return made;
}

using Unary = Tensor (*)(const Tensor&, const nn::OpOptions&);
using Binary = Tensor (*)(const Tensor&, const Tensor&, const nn::OpOptions&);

void bind_unary(py::module_& m, const char* name, Unary fn, const char* doc) {
  m.def(
      name,
      [fn](const PyTensor& x, py::handle out_dtype, const std::string& called) {
        const auto options = options_of(out_dtype, called);
        return on([&](const Tensor& t) { return fn(t, options); }, x);
      },
      py::arg("x"), py::kw_only(), py::arg("out_dtype") = py::none(), py::arg("name") = "", doc);
}

void bind_binary(py::module_& m, const char* name, Binary fn, const char* a, const char* b, const char* doc) {
  m.def(
      name,
      [fn](const PyTensor& x, const PyTensor& y, py::handle out_dtype, const std::string& called) {
        const auto options = options_of(out_dtype, called);
        return on([&](const Tensor& s, const Tensor& t) { return fn(s, t, options); }, x, y);
      },
      py::arg(a), py::arg(b), py::kw_only(), py::arg("out_dtype") = py::none(), py::arg("name") = "", doc);
}

PyTensor matmul(const PyTensor& a, const PyTensor& b, py::handle out_dtype, const py::list& epilogue,
                const std::string& name, const std::string& result) {
  nn::MatmulOptions options{
      .out_dtype = maybe_dtype(out_dtype), .name = name, .result = runtime::parse_split(result)};
  for (const py::handle step : epilogue) options.epilogue.push_back(epilogue_of(step));
  return on([&](const Tensor& s, const Tensor& t) { return nn::matmul(s, t, options); }, a, b);
}

void bind_rows(py::module_& m) {
  bind_unary(m, "nn_softmax", &nn::softmax, "Over the last axis; every PE has whole rows.");
  m.def(
      "nn_rms_norm",
      [](const PyTensor& x, const PyTensor& weight, double eps, py::handle out_dtype,
         const std::string& name) {
        const auto options = options_of(out_dtype, name);
        return on([&](const Tensor& t, const Tensor& w) { return nn::rms_norm(t, w, eps, options); }, x,
                  weight);
      },
      py::arg("x"), py::arg("weight"), py::arg("eps") = 1e-5, py::kw_only(),
      py::arg("out_dtype") = py::none(), py::arg("name") = "", "x / √(mean(x²) + eps) · weight.");
  m.def(
      "nn_layer_norm",
      [](const PyTensor& x, const PyTensor& weight, const PyTensor& bias, double eps, py::handle out_dtype,
         const std::string& name) {
        const auto options = options_of(out_dtype, name);
        return on([&](const Tensor& t, const Tensor& w,
                      const Tensor& b) { return nn::layer_norm(t, w, b, eps, options); },
                  x, weight, bias);
      },
      py::arg("x"), py::arg("weight"), py::arg("bias"), py::arg("eps") = 1e-5, py::kw_only(),
      py::arg("out_dtype") = py::none(), py::arg("name") = "", "(x − mean) / √(var + eps) · weight + bias.");
}

void bind_positions(py::module_& m) {
  m.def(
      "nn_rope",
      [](const PyTensor& x, const PyTensor& cos, const PyTensor& sin, py::handle out_dtype,
         const std::string& name) {
        const auto options = options_of(out_dtype, name);
        return on(
            [&](const Tensor& t, const Tensor& c, const Tensor& s) { return nn::rope(t, c, s, options); }, x,
            cos, sin);
      },
      py::arg("x"), py::arg("cos"), py::arg("sin"), py::kw_only(), py::arg("out_dtype") = py::none(),
      py::arg("name") = "", "Rotary positions: x (…, S, d), cos and sin (S, d / 2) in f32.");
  m.def(
      "nn_rope_tables",
      [](const PyTorch& torch, std::int64_t length, std::int64_t d, py::handle dp, double base,
         std::int64_t first) {
        Torch& context = torch.host->torch();
        const DPPolicy policy = policy_of(dp).value_or(DPPolicy{});
        auto tables =
            torch.host->work([&] { return nn::rope_tables(context, length, d, policy, base, first); });
        return py::make_tuple(PyTensor(torch.host, tables.cos), PyTensor(torch.host, tables.sin));
      },
      py::arg("torch"), py::arg("length"), py::arg("d"), py::arg("dp") = py::none(),
      py::arg("base") = 10000.0, py::arg("first") = 0,
      "(cos, sin) for positions first … first + length − 1.");
}

/// `kv_length` is one number, or one for each sequence.
std::vector<std::int64_t> lengths_of(py::handle value) {
  if (value.is_none()) return {};
  if (py::isinstance<py::int_>(value)) return {value.cast<std::int64_t>()};
  return value.cast<std::vector<std::int64_t>>();
}

nn::KeyPlacement key_placement_of(const std::string& name) {
  if (name == "shared") return nn::KeyPlacement::shared;
  if (name == "copied") return nn::KeyPlacement::copied;
  throw InputError(
      {"attention.placement", "", "unknown placement of keys '" + name + "'", "known: shared, copied"});
}

PyTensor attention(const PyTensor& q, const PyTensor& k, const PyTensor& v, bool causal,
                   std::optional<double> scale, py::handle kv_length, py::handle scores,
                   const std::string& name) {
  nn::AttentionOptions options;
  options.causal = causal;
  options.scale = scale;
  options.kv_length = lengths_of(kv_length);
  options.scores = maybe_dtype(scores);
  options.name = name;
  Torch& torch = q.host->torch();
  return on([&](const Tensor& a, const Tensor& b,
                const Tensor& c) { return nn::attention(torch, a, b, c, options); },
            q, k, v);
}

void bind_attention_of_sips(py::module_& m) {
  m.def("nn_attention", &attention, py::arg("q"), py::arg("k"), py::arg("v"), py::kw_only(),
        py::arg("causal") = false, py::arg("scale") = py::none(), py::arg("kv_length") = py::none(),
        py::arg("scores") = py::none(), py::arg("name") = "attention",
        "softmax(q·kᵀ/√d)·v of q (batch, h_q, S, d), k and v (batch, h_kv, S, d).");
  m.def(
      "nn_attention_queries",
      [](const PyTorch& torch, const Shape& q, std::int64_t h_kv, DType dtype) {
        return nn::attention_queries(torch.host->torch().machine(), q, h_kv, dtype);
      },
      py::arg("torch"), py::arg("q"), py::arg("h_kv"), py::arg("dtype") = "f16", "Where q lies best.");
  m.def(
      "nn_attention_keys",
      [](const PyTorch& torch, const Shape& k, const std::string& placement, DType dtype) {
        return nn::attention_keys(torch.host->torch().machine(), k, key_placement_of(placement), dtype);
      },
      py::arg("torch"), py::arg("k"), py::arg("placement") = "copied", py::arg("dtype") = "f16",
      "Where k and v have to lie: 'copied' for prefill, 'shared' for decode.");
}

py::list operations() {
  py::list all;
  for (const nn::Operation& op : nn::operations()) {
    py::dict entry;
    entry["name"] = op.name, entry["doc"] = op.doc, entry["layouts"] = op.layouts, entry["cost"] = op.cost;
    all.append(entry);
  }
  return all;
}

void bind_moves(py::module_& m) {
  bind_binary(m, "nn_embedding", &nn::embedding, "ids", "table",
              "Row ids[i] of the table for every i; ids are i32.");
  m.def(
      "nn_redistribute",
      [](const PyTensor& x, py::handle dp, py::handle out_dtype, const std::string& name) {
        const auto options = options_of(out_dtype, name);
        const DPPolicy policy = policy_of(dp).value_or(DPPolicy{});
        return on([&](const Tensor& t) { return nn::redistribute(t, policy, options); }, x);
      },
      py::arg("x"), py::arg("dp"), py::kw_only(), py::arg("out_dtype") = py::none(), py::arg("name") = "",
      "The same tensor in another place of its SIP, moved on the device.");
  m.def(
      "nn_spread",
      [](const PyTorch& torch, const std::string& split, std::int64_t extent) {
        return nn::spread(torch.host->torch(), runtime::parse_split(split), extent);
      },
      py::arg("torch"), py::arg("split"), py::arg("extent"),
      "The split over the largest grid of PEs of a SIP whose number divides the extent.");
  m.def("nn_operations", &operations, "What each operation is, which layouts it takes, and what it costs.");
}

/// a @ b, a + b, a * b, a.redistribute(dp).
void bind_operators(py::module_& m) {
  auto c = py::reinterpret_borrow<py::class_<PyTensor>>(m.attr("Tensor"));
  const std::pair<const char*, Binary> operators[] = {{"__add__", &nn::add}, {"__mul__", &nn::mul}};
  for (const auto& [name, fn] : operators)
    c.def(
        name,
        [fn = fn](const PyTensor& a, const PyTensor& b) {
          return on([&](const Tensor& s, const Tensor& t) { return fn(s, t, {}); }, a, b);
        },
        py::is_operator());
  c.def(
      "__matmul__",
      [](const PyTensor& a, const PyTensor& b) {
        return on([](const Tensor& s, const Tensor& t) { return nn::matmul(s, t); }, a, b);
      },
      py::is_operator());
  c.def(
      "redistribute",
      [](const PyTensor& x, py::handle dp) {
        const DPPolicy policy = policy_of(dp).value_or(DPPolicy{});
        return on([&](const Tensor& t) { return nn::redistribute(t, policy); }, x);
      },
      py::arg("dp"), "The same tensor in another place of its SIP, moved on the device.");
}

/// A function of f32 as tiles are computed, so that a number that is known while a kernel is recorded has the same bits.
py::object float_function(const std::string& name, const py::object& x) {
  const auto from = py::array_t<float, py::array::c_style | py::array::forcecast>::ensure(x);
  const auto op = std::ranges::find(math_ops(), name, &MathOpInfo::name);
  if (!from || op == math_ops().end() || op->operands != 1 || op->result != ResultRule::real)
    throw InputError(
        {"python.function", name, "no function of one float", "exp, exp2, log, log2, sin, cos, tanh, erf …"});
  py::array_t<float> to(std::vector<py::ssize_t>(from.shape(), from.shape() + from.ndim()));
  const Shape shape{static_cast<std::int64_t>(from.size())};
  const data::ConstArray in(DType::f32, shape, reinterpret_cast<const std::byte*>(from.data()));
  data::elementwise(op->op, {&in, 1},
                    data::Array(DType::f32, shape, reinterpret_cast<std::byte*>(to.mutable_data())));
  return to;
}

}  // namespace

void check_one_context(const PyTensor& first, std::initializer_list<const PyTensor*> more) {
  first.get();
  for (const PyTensor* t : more)
    if (t->get(), t->host != first.host)
      throw InputError({"tensor.other-context", t->tensor.name(), "an operation on tensors of two contexts",
                        "make both in one Torch"});
}

void bind_nn(py::module_& m) {
  m.def("float_function", &float_function, py::arg("name"), py::arg("x"),
        "exp, log, sin … of f32 numbers, with the bits that tiles have on every computer.");
  m.def("nn_matmul", &matmul, py::arg("a"), py::arg("b"), py::kw_only(), py::arg("out_dtype") = py::none(),
        py::arg("epilogue") = py::list(), py::arg("name") = "matmul", py::arg("result") = "replicate",
        "a[…, M, K] · b[K, N], sums in f32. Epilogue: names or (name, tensor or number).");
  bind_binary(m, "nn_add", &nn::add, "a", "b", "a + b; the second may be a vector as long as a row.");
  bind_binary(m, "nn_mul", &nn::mul, "a", "b", "a · b; the second may be a vector as long as a row.");
  bind_unary(m, "nn_relu", &nn::relu, "max(x, 0)");
  bind_unary(m, "nn_gelu", &nn::gelu, "x · ½ (1 + erf(x / √2))");
  bind_unary(m, "nn_silu", &nn::silu, "x · sigmoid(x)");
  bind_rows(m);
  bind_positions(m);
  bind_moves(m);
  bind_attention_of_sips(m);
  bind_operators(m);
}

}  // namespace kernbench::python
