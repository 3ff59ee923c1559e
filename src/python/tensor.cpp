// Tensors and their placement.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "kernbench/error.hpp"
#include "python/host.hpp"
#include "python/recording.hpp"
#include "runtime/engine.hpp"

namespace kernbench::python {
namespace {

using Class = py::class_<PyTensor>;

/// A piece of a tensor with the physical address of its first byte.
struct PlacedShard : ShardSpec {
  std::uint64_t pa = 0;
};

std::vector<PlacedShard> shards_of(const Tensor& tensor) {
  const runtime::Storage& storage = *tensor.state()->storage();
  const runtime::Layout& layout = storage.layout;
  std::vector<PlacedShard> placed;
  std::size_t next = 0;
  const auto specs = tensor.shards();
  for (std::size_t h = 0; h < layout.holders().size(); ++h) {
    const runtime::LayoutBlock& block = layout.blocks()[layout.holders()[h].block];
    for (const runtime::LayoutTile& tile : layout.tiles(block))
      placed.push_back({specs[next++], (storage.copies[h] + Bytes(tile.offset - block.offset)).raw()});
  }
  return placed;
}

/// Frees its memory. What it held can still be read if it is given: found without simulated time, and not larger than that.
void free_tensor(PyTensor& self, std::int64_t kept_bytes) {
  Tensor& tensor = self.get();
  if (tensor.state()->is_freed()) return;
  runtime::Engine& engine = self.host->torch().engine();
  self.host->work([&] {
    if (tensor.nbytes() <= kept_bytes && engine.options().data)
      if (auto content = engine.peek(*tensor.state()))
        self.left = std::make_shared<const NdArray>(std::move(*content));
    tensor.state()->free();
  });
}

py::array numpy(const PyTensor& self) {
  if (self.left) return to_numpy(NdArray(*self.left));
  const Tensor& tensor = self.get();
  return to_numpy(self.host->work([&] { return tensor.numpy(); }));
}

std::string shape_text(const Shape& shape) { return py::str(to_python(shape)); }

[[noreturn]] void refuse_shape(const Shape& got, const Shape& wanted) {
  throw InputError({"tensor.copy", "",
                    fmt::format("copy_ shape mismatch: {} into {}", shape_text(got), shape_text(wanted)),
                    "reshape or slice what is copied first"});
}

/// Takes arrays, other tensors and whatever NumPy makes an array of; converted to the tensor's dtype, as torch does.
NdArray content_for(py::handle source, DType dtype, const Shape& shape) {
  const bool is_tensor = py::hasattr(source, "_is_tensor");
  NdArray array =
      array_of(is_tensor ? source.attr("numpy")() : py::reinterpret_borrow<py::object>(source), dtype);
  if (array.shape() != shape) refuse_shape(array.shape(), shape);
  return array;
}

py::object copy_(const py::object& self, py::handle source) {
  PyTensor& me = self.cast<PyTensor&>();
  Tensor& tensor = me.get();
  const NdArray array = content_for(source, tensor.dtype(), tensor.shape());
  me.host->work([&] { tensor.copy_(array); });
  return self;
}

runtime::TensorSlice slice_of(const Tensor& tensor, py::handle key) {
  const Index index = index_of(key, tensor.shape().rank());
  if (!index.new_axes.empty())
    throw py::type_error("None makes no new axis in a tensor; index the array of numpy()");
  return tensor.slice(index.slices);
}

py::object get_item(const PyTensor& self, const py::object& key) {
  const auto slice = slice_of(self.get(), key);
  py::array array = to_numpy(self.host->work([&] { return slice.numpy(); }));
  return array.ndim() == 0 ? array.attr("item")() : array;
}

void set_item(PyTensor& self, const py::object& key, const py::object& value) {
  const auto slice = slice_of(self.get(), key);
  tl::Operand number;
  if (!py::hasattr(value, "_is_tensor") && number_of(value, number))
    return self.host->work([&] { slice.fill_(number.number()); });
  const NdArray array = content_for(value, self.get().dtype(), slice.shape());
  self.host->work([&] { slice.copy_(array); });
}

void bind_attributes(Class& c) {
  c.def_property_readonly("shape", [](const PyTensor& t) { return t.get().shape(); });
  c.def_property_readonly("dtype", [](const PyTensor& t) { return t.get().dtype(); });
  c.def_property_readonly("nbytes", [](const PyTensor& t) { return t.get().nbytes(); });
  c.def_property_readonly("itemsize", [](const PyTensor& t) { return t.get().itemsize(); });
  c.def_property_readonly("ndim", [](const PyTensor& t) { return t.get().shape().rank(); });
  c.def("dim", [](const PyTensor& t) { return t.get().shape().rank(); });
  c.def("numel", [](const PyTensor& t) { return t.get().shape().elements(); });
  c.def("element_size", [](const PyTensor& t) { return t.get().itemsize(); });
  c.def(
      "size",
      [](const PyTensor& t, std::optional<int> axis) -> py::object {
        const Shape shape = t.get().shape();
        if (!axis) return to_python(shape);
        return py::int_(shape[shape.axis(*axis)]);
      },
      py::arg("dim") = py::none());
  c.def_property_readonly("name", [](const PyTensor& t) { return t.get().name(); });
  c.def(
      "_name_once", [](PyTensor& t, const std::string& name) { t.get().state()->name_once(name); },
      py::arg("name"));
  c.def_property_readonly("sip", [](const PyTensor& t) { return t.get().sip(); });
  c.def_property_readonly("dp", [](const PyTensor& t) { return t.get().dp(); });
  c.def_property_readonly(
      "shards", [](const PyTensor& t) { return shards_of(t.get()); }, "What each PE holds.");
  c.def_property_readonly(
      "ptr", [](const PyTensor& t) { return t.get().ptr(); }, "What a kernel gets for it: its virtual base.");
  c.def("data_ptr", [](const PyTensor& t) { return t.get().ptr().address(); });
  c.def_property_readonly("_host_id",
                          [](const PyTensor& t) { return reinterpret_cast<std::uintptr_t>(t.host.get()); });
  c.def_property_readonly("_is_tensor", [](const PyTensor&) { return true; });
  c.def("__len__", [](const PyTensor& t) {
    const Shape& shape = t.get().shape();
    if (shape.rank() == 0) throw py::type_error("a tensor without axes has no len()");
    return shape[0];
  });
}

void bind_content(Class& c) {
  c.def("_free", &free_tensor, py::arg("kept_bytes"));
  c.def("numpy", &numpy,
        "Reads all of it, once everything before it in the stream is done. The array is yours.");
  c.def("copy_", &copy_, py::arg("source"),
        "Writes all of it: an array or tensor of its shape, converted to its dtype.");
  c.def(
      "fill_",
      [](const py::object& self, double value) {
        PyTensor& t = self.cast<PyTensor&>();
        Tensor& tensor = t.get();
        t.host->work([&] { tensor.fill_(value); });
        return self;
      },
      py::arg("value"));
  c.def("zero_", [](const py::object& self) { return self.attr("fill_")(0.0); });
  c.def(
      "item", [](const PyTensor& t) { return numpy(t).attr("item")(); },
      "The one element, as a Python number.");
  c.def("tolist", [](const PyTensor& t) { return numpy(t).attr("tolist")(); });
  c.def(
      "__array__",
      [](const PyTensor& t, const py::object& dtype) {
        const py::object array = numpy(t);
        return dtype.is_none() ? array : array.attr("astype")(dtype);
      },
      py::arg("dtype") = py::none());
  c.def("__getitem__", &get_item);
  c.def("__setitem__", &set_item);
  c.def("__repr__", [](const PyTensor& t) {
    if (t.host->is_over()) return std::string("<tensor of a context that is over>");
    return t.host->work([&] { return runtime::to_string(t.tensor); });
  });
}

Split split_of(py::handle value) {
  if (py::isinstance<py::str>(value)) return runtime::parse_split(value.cast<std::string>());
  if (py::hasattr(value, "value")) return split_of(value.attr("value"));
  throw py::type_error(
      "a split is a str: replicate, column_wise, row_wise, tiled_column_major, tiled_row_major");
}

std::optional<TileSize> tile_size_of(py::handle value) {
  if (value.is_none()) return {};
  const Shape size = shape_of(value);
  if (size.rank() != 2) throw py::type_error("a tile is (rows, columns)");
  return TileSize{size[0], size[1]};
}

runtime::IndexRange range_of(py::handle value) {
  if (py::isinstance<py::int_>(value)) return {value.cast<int>(), value.cast<int>() + 1};
  const py::tuple bounds(py::reinterpret_borrow<py::object>(value));
  if (bounds.size() != 2) throw py::type_error("a range of cubes or PEs is (begin, end), or one number");
  return {bounds[0].cast<int>(), bounds[1].cast<int>()};
}

PePlace place_of(py::handle value) {
  const py::tuple place(py::reinterpret_borrow<py::object>(value));
  if (place.size() != 2) throw py::type_error("a PE of a SIP is (cube, pe)");
  return {place[0].cast<int>(), place[1].cast<int>()};
}

/// "zigzag", a list of (cube, pe), or a function of (number, row, column) of a tile.
DealOrder order_of(const py::object& order) {
  if (py::isinstance<py::str>(order)) {
    if (order.cast<std::string>() == "zigzag") return zigzag;
    throw py::type_error(
        "an order is 'zigzag', a list of (cube, pe), or a function of (number, row, column)");
  }
  if (PyCallable_Check(order.ptr()))
    return [order](TileIndex tile) {
      const py::gil_scoped_acquire gil;
      return place_of(order(tile.number, tile.row, tile.col));
    };
  std::vector<PePlace> list;
  for (const py::handle place : order) list.push_back(place_of(place));
  return list;
}

void bind_own_placement(py::class_<DPPolicy>& policy) {
  policy
      .def(
          "on",
          [](const DPPolicy& p, py::handle cubes, py::handle pes) {
            return p.on(range_of(cubes), range_of(pes));
          },
          py::arg("cubes"), py::arg("pes"),
          "The same policy over these cubes and these PEs of each: (begin, end).")
      .def_static(
          "dealt",
          [](py::handle tile, const py::object& order) {
            return DPPolicy::dealt(*tile_size_of(tile), order_of(order));
          },
          py::arg("tile"), py::arg("order"),
          "Tiles of a size dealt by 'zigzag', a list of (cube, pe), or a function of (number, row, column).")
      .def_static("by_head", &DPPolicy::by_head, py::arg("heads"), py::arg("pes"),
                  "Head h lies on PEs h · pes … of the policy, which split its rows.")
      .def_static(
          "interleaved", [](std::int64_t bytes) { return DPPolicy::interleaved(Bytes(bytes)); },
          py::arg("bytes") = 4096, "Addresses in row-major order, pages dealt over the slices of all PEs.")
      .def_static("given", &DPPolicy::given, py::arg("shards"), "Shards by hand.")
      .def_static(
          "whole_on", [](py::handle at) { return DPPolicy::whole_on(place_of(at)); }, py::arg("at"),
          "Whole on one PE: (cube, pe).")
      .def_property_readonly("is_interleaved",
                             [](const DPPolicy& p) {
                               return p.own && std::holds_alternative<runtime::InterleavedPages>(*p.own);
                             })
      .def_property_readonly(
          "is_own", [](const DPPolicy& p) { return p.own.has_value(); },
          "Whether it is placed otherwise than by splits of axes.");
}

std::string repr(const DPPolicy& p) {
  if (p.own) return fmt::format("<DPPolicy {}>", to_string(p));
  std::string text = fmt::format("DPPolicy(cube='{}', pe='{}'", to_string(p.cube), to_string(p.pe));
  if (p.num_cubes) text += fmt::format(", num_cubes={}", *p.num_cubes);
  if (p.num_pes) text += fmt::format(", num_pes={}", *p.num_pes);
  if (p.tile) text += fmt::format(", tile=({}, {})", p.tile->h, p.tile->w);
  return text + ")";
}

void bind_policy(py::module_& m) {
  py::class_<DPPolicy> c(m, "DPPolicy", "How a tensor is spread over the cubes and PEs of one SIP.");
  bind_own_placement(c);
  c.def(py::init([](py::handle cube, py::handle pe, std::optional<int> num_cubes, std::optional<int> num_pes,
                    py::handle tile, int first_cube, int first_pe) {
          DPPolicy policy{split_of(cube), split_of(pe), num_cubes, num_pes, tile_size_of(tile)};
          policy.first_cube = first_cube;
          policy.first_pe = first_pe;
          return policy;
        }),
        py::kw_only(), py::arg("cube") = "replicate", py::arg("pe") = "replicate",
        py::arg("num_cubes") = py::none(), py::arg("num_pes") = py::none(), py::arg("tile") = py::none(),
        py::arg("first_cube") = 0, py::arg("first_pe") = 0)
      .def_property_readonly("cube", [](const DPPolicy& p) { return std::string(to_string(p.cube)); })
      .def_property_readonly("pe", [](const DPPolicy& p) { return std::string(to_string(p.pe)); })
      .def_readonly("num_cubes", &DPPolicy::num_cubes)
      .def_readonly("num_pes", &DPPolicy::num_pes)
      .def_readonly("first_cube", &DPPolicy::first_cube)
      .def_readonly("first_pe", &DPPolicy::first_pe)
      .def_property_readonly("tile",
                             [](const DPPolicy& p) -> py::object {
                               if (!p.tile) return py::none();
                               return py::make_tuple(p.tile->h, p.tile->w);
                             })
      .def_static("whole", &DPPolicy::whole,
                  "Whole, on cube 0, PE 0: where a tensor goes that has no policy.")
      .def(
          "__eq__", [](const DPPolicy& a, const DPPolicy& b) { return a == b; }, py::is_operator())
      .def("__hash__", [](const DPPolicy& p) { return py::hash(py::str(repr(p))); })
      .def("__repr__", &repr);
}

void bind_shard_spec(py::module_& m) {
  py::class_<ShardSpec>(m, "ShardSpec",
                        "A piece of a tensor on a PE. Copies of a piece have the same offset.")
      .def(py::init([](int sip, int cube, int pe, Bytes offset, Bytes nbytes) {
             return ShardSpec{sip, cube, pe, offset, nbytes};
           }),
           py::kw_only(), py::arg("sip"), py::arg("cube"), py::arg("pe"), py::arg("offset_bytes"),
           py::arg("nbytes"))
      .def_readonly("sip", &ShardSpec::sip)
      .def_readonly("cube", &ShardSpec::cube)
      .def_readonly("pe", &ShardSpec::pe)
      .def_readonly("offset_bytes", &ShardSpec::offset_bytes)
      .def_readonly("nbytes", &ShardSpec::nbytes)
      .def(
          "__eq__", [](const ShardSpec& a, const ShardSpec& b) { return a == b; }, py::is_operator())
      .def("__repr__", [](const ShardSpec& s) {
        return fmt::format("ShardSpec(sip={}, cube={}, pe={}, offset_bytes={}, nbytes={})", s.sip, s.cube,
                           s.pe, s.offset_bytes.count(), s.nbytes.count());
      });
  py::class_<PlacedShard, ShardSpec>(m, "PlacedShard", "A piece of a tensor that lies in a memory.")
      .def_readonly("pa", &PlacedShard::pa, "The physical address of its first byte.");
}

}  // namespace

void bind_placement(py::module_& m) {
  bind_policy(m);
  bind_shard_spec(m);
  m.def(
      "resolve_dp_policy",
      [](const DPPolicy& policy, const Shape& shape, int itemsize, int num_pe, int num_cubes,
         int target_sip) {
        return resolve_dp_policy(policy, shape, itemsize, num_pe, num_cubes, target_sip);
      },
      py::arg("policy"), py::kw_only(), py::arg("shape"), py::arg("itemsize"), py::arg("num_pe"),
      py::arg("num_cubes") = 1, py::arg("target_sip") = 0, "The pieces of a tensor, cube-major, then by PE.");
}

void bind_tensor(py::module_& m) {
  Class c(m, "Tensor", py::dynamic_attr(), "An array in the memory of one SIP.");
  bind_attributes(c);
  bind_content(c);
}

}  // namespace kernbench::python
