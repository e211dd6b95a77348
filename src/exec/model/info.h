// SPDX-License-Identifier: Apache-2.0
// An offline model, compiled: what clients may ask about it, and the programs that run it. Immutable, so that loaded
// models and descriptions share one.
#ifndef MILLPOND_SRC_EXEC_MODEL_INFO_H_
#define MILLPOND_SRC_EXEC_MODEL_INFO_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/exec/model/aipp.h"
#include "src/exec/program/program.h"
#include "src/graph/io/om.h"

namespace millpond {

struct ModelTensor {
  std::string name;
  DType dtype = DType::kFloat;
  int32_t format = ir::kFormatNd;
  ir::Dims dims;
  std::vector<std::pair<int64_t, int64_t>> range;  // empty, or one for each dimension
  ir::Dims memory;                                 // as it lies there; other than `dims` for pictures with AIPP
  size_t bytes = 0;                                // the most it can have; 0: nobody knows before the run
};

class ModelInfo {
 public:
  // The input that chooses a gear, after the graph's own.
  static constexpr char kGearInput[] = "ascend_mbatch_shape_data";
  static constexpr size_t kNoGear = SIZE_MAX;

  static Status Make(const io::OmModel& model, std::shared_ptr<const ModelInfo>* out);
  // From a file's bytes; `keep` as in io::ReadOm. `weights`: the folder of the files that FileConstant nodes name;
  // empty: where the nodes say.
  static Status Read(std::span<const std::byte> file, std::shared_ptr<const void> keep,
                     std::shared_ptr<const ModelInfo>* out, const std::string& weights = {});

  const std::string& name() const { return name_; }
  std::span<const ModelTensor> inputs() const { return inputs_; }  // the gear input and those of AIPP's parameters too
  std::span<const ModelTensor> outputs() const { return outputs_; }
  size_t graph_inputs() const { return graph_inputs_; }
  // What a run is fed: the graph's inputs and AIPP's parameters, without the gear input. `fed_input`: the place of one
  // among the model's inputs.
  size_t fed_inputs() const { return fed_inputs_; }
  size_t fed_input(size_t fed) const { return fed < graph_inputs_ || !has_gears() ? fed : fed + 1; }
  std::span<const AippInput> aipp() const { return aipp_; }
  const io::OmGears& gears() const { return gears_; }
  bool has_gears() const { return gears_.kind != io::OmGears::Kind::kNone; }
  // Only a run can tell its shapes; neither fixed nor one of some gears.
  bool is_dynamic() const { return !programs_[0]->is_static(); }
  const ir::Graph& graph() const { return *graph_; }

  // kNoGear when there is none of these sizes. For dims: all dimensions of all inputs, or only the unknown ones.
  size_t FindGear(std::span<const int64_t> sizes) const;
  // All dimensions of all inputs in a gear, in order.
  std::vector<int64_t> AllDims(size_t gear) const;
  std::span<const ir::Dims> gear_inputs(size_t gear) const { return gear_inputs_[gear]; }
  const ir::Dims& gear_output(size_t gear, size_t output) const;
  // `gear` is ignored by a model without.
  const program::Program& program(size_t gear) const { return *programs_[has_gears() ? gear : 0]; }
  std::span<const std::shared_ptr<const program::Program>> programs() const { return programs_; }

  // Of a static model; a dynamic one takes what it needs as it runs.
  size_t work_bytes() const { return work_bytes_; }
  size_t weight_bytes() const { return weight_bytes_; }
  // Where a gear's constants lie within the weights.
  size_t weight_offset(size_t gear) const { return weight_offsets_[has_gears() ? gear : 0]; }

 private:
  ModelInfo() = default;
  Status CompileAll(const io::OmModel& model);
  Status CompileOne(const io::OmModel& model, ir::GraphPtr graph);
  void DescribeInputs();
  void DescribePictures();
  void DescribeOutputs(const std::vector<std::string>& names);
  void PlaceWeights();

  std::string name_;
  ir::GraphPtr graph_;
  io::OmGears gears_;
  size_t graph_inputs_ = 0;
  size_t fed_inputs_ = 0;
  std::vector<AippInput> aipp_;
  std::vector<ModelTensor> inputs_;
  std::vector<ModelTensor> outputs_;
  std::vector<std::vector<ir::Dims>> gear_inputs_;  // by gear
  std::vector<std::shared_ptr<const program::Program>> programs_;
  size_t work_bytes_ = 0;
  size_t weight_bytes_ = 0;
  std::vector<size_t> weight_offsets_;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_MODEL_INFO_H_
