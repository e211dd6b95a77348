// SPDX-License-Identifier: Apache-2.0
// Internals of the reader; the public header is ge_ir.h.
#ifndef MILLPOND_SRC_GRAPH_IO_GE_IR_READ_H_
#define MILLPOND_SRC_GRAPH_IO_GE_IR_READ_H_

#include <memory>

#include "src/graph/io/wire.h"
#include "src/graph/ir/budget.h"
#include "src/graph/ir/graph.h"

namespace millpond::io {

class ModelReader {
 public:
  // `budget` is for the whole model: two bytes of a file may describe an object of some hundred.
  ModelReader(std::shared_ptr<const void> keep, ir::Budget* budget) : keep_(std::move(keep)), budget_(budget) {}

  Status Graph(wire::Reader* reader, ir::GraphPtr* out) const;
  // `shapeless_is_scalar`: what a description without a shape means.
  Status Desc(wire::Reader* reader, bool shapeless_is_scalar, ir::TensorDesc* out) const;
  // One entry of a map of attributes; a later one of the same name wins.
  Status Entry(const wire::Reader& outer, const wire::Field& field, ir::Attributes* out) const;
  Status Attr(wire::Reader* reader, ir::Attr* out) const;
  // An object of this many bytes is about to be made.
  Status Spend(size_t bytes) const { return budget_->Spend(bytes, 1); }

 private:
  Status Tensor(wire::Reader* reader, ir::Tensor* out) const;
  Status Named(wire::Reader* reader, ir::NamedAttributes* out) const;
  Status List(wire::Reader* reader, ir::Attr* out) const;
  // The message in `field`, read by `read` into a new T.
  template <class T, class Read>
  Status Made(const wire::Reader& outer, const wire::Field& field, const Read& read,
              std::shared_ptr<const T>* out) const {
    wire::Reader inner({});
    MP_RETURN_IF_ERROR(outer.Enter(field, &inner));
    MP_RETURN_IF_ERROR(Spend(sizeof(T)));
    auto made = std::make_shared<T>();
    MP_RETURN_IF_ERROR(read(&inner, made.get()));
    *out = std::move(made);
    return Ok();
  }
  Status MadeDesc(const wire::Reader& outer, const wire::Field& field,
                  std::shared_ptr<const ir::TensorDesc>* out) const;
  Status MadeTensor(const wire::Reader& outer, const wire::Field& field, ir::TensorPtr* out) const;
  Status MadeNamed(const wire::Reader& outer, const wire::Field& field,
                   std::shared_ptr<const ir::NamedAttributes>* out) const;
  Status MadeGraph(const wire::Reader& outer, const wire::Field& field, ir::GraphPtr* out) const;

  std::shared_ptr<const void> keep_;
  ir::Budget* const budget_;
};

// Moves an attribute out of the map if it holds a T; otherwise leaves both alone.
template <class T>
bool TakeAttr(ir::Attributes* attributes, std::string_view name, T* out) {
  const auto found = attributes->find(name);
  if (found == attributes->end()) return false;
  T* held = std::get_if<T>(&found->second.value);
  if (held == nullptr) return false;
  *out = std::move(*held);
  attributes->erase(found);
  return true;
}

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_GE_IR_READ_H_
