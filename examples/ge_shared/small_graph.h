// SPDX-License-Identifier: Apache-2.0
// What the examples of graphs share: a graph of three operators, tensors on the device, and checks that stop.
#ifndef MILLPOND_EXAMPLES_GE_SHARED_SMALL_GRAPH_H_
#define MILLPOND_EXAMPLES_GE_SHARED_SMALL_GRAPH_H_

#include <acl/acl.h>
#include <ge/ge_api.h>
#include <graph/graph.h>
#include <graph/operator_factory.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    if (const auto code = (call); code != 0) {                                                               \
      std::fprintf(stderr, "%s failed: %u\n%s\n", #call, static_cast<unsigned>(code), aclGetRecentErrMsg()); \
      std::exit(1);                                                                                          \
    }                                                                                                        \
  } while (0)

inline void OpenDevice() {
  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(0));
}
inline void CloseDevice() {
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
}

constexpr size_t kColumns = 4;

inline ge::Operator MakeData(const char* name, int64_t index, const std::vector<int64_t>& dims) {
  ge::Operator data = ge::OperatorFactory::CreateOperator(name, "Data");
  const ge::TensorDesc desc(ge::Shape(dims), ge::FORMAT_ND, ge::DT_FLOAT);
  data.SetAttr("index", index);
  data.UpdateInputDesc("x", desc);
  data.UpdateOutputDesc("y", desc);
  return data;
}

// (x + 1) * x for x of {rows, 4}. rows -1: any number of them, known when the graph runs.
inline ge::Graph MakeGraph(const char* name, int64_t rows) {
  ge::Operator x = MakeData("x", 0, {rows, static_cast<int64_t>(kColumns)});
  const float ones[kColumns] = {1, 1, 1, 1};
  const ge::TensorDesc row(ge::Shape({static_cast<int64_t>(kColumns)}), ge::FORMAT_ND, ge::DT_FLOAT);
  ge::Operator one = ge::OperatorFactory::CreateOperator("one", "Const");
  one.SetAttr("value", ge::Tensor(row, reinterpret_cast<const uint8_t*>(ones), sizeof(ones)));
  one.UpdateOutputDesc("y", row);
  ge::Operator sum = ge::OperatorFactory::CreateOperator("sum", "Add");
  sum.SetInput("x1", x).SetInput("x2", one);
  ge::Operator product = ge::OperatorFactory::CreateOperator("product", "Mul");
  product.SetInput("x1", sum).SetInput("x2", x);
  ge::Graph graph(name);
  graph.SetInputs({x, one}).SetOutputs(std::vector<ge::Operator>{product});
  return graph;
}

// Device memory with 0, 1, 2, ... in it.
class DeviceInput {
 public:
  explicit DeviceInput(size_t rows) : rows_(rows), bytes_(rows * kColumns * sizeof(float)) {
    std::vector<float> values(rows * kColumns);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    CHECK(aclrtMalloc(&data_, bytes_, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(data_, bytes_, values.data(), bytes_, ACL_MEMCPY_HOST_TO_DEVICE));
  }
  ~DeviceInput() { aclrtFree(data_); }
  DeviceInput(const DeviceInput&) = delete;
  DeviceInput& operator=(const DeviceInput&) = delete;

  // A view: the tensor does not own the memory.
  ge::Tensor tensor() const {
    ge::TensorDesc desc(ge::Shape({static_cast<int64_t>(rows_), static_cast<int64_t>(kColumns)}), ge::FORMAT_ND,
                        ge::DT_FLOAT);
    desc.SetPlacement(ge::kPlacementDevice);
    ge::Tensor view(desc);
    view.SetData(static_cast<uint8_t*>(data_), bytes_, [](uint8_t*) {});
    return view;
  }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  const size_t rows_;
  const size_t bytes_;
  void* data_ = nullptr;
};

// How many of the results in device memory are not (x + 1) * x.
inline size_t CountWrong(const void* device, size_t rows) {
  std::vector<float> values(rows * kColumns);
  const size_t bytes = values.size() * sizeof(float);
  CHECK(aclrtMemcpy(values.data(), bytes, device, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  size_t wrong = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto x = static_cast<float>(i);
    if (values[i] != (x + 1) * x) ++wrong;
  }
  return wrong;
}

#endif  // MILLPOND_EXAMPLES_GE_SHARED_SMALL_GRAPH_H_
