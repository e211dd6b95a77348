// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of offline models, and what stands around their entry points.
#ifndef MILLPOND_SRC_API_ACL_MDL_MODEL_H_
#define MILLPOND_SRC_API_ACL_MDL_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "include/acl/acl_mdl.h"
#include "src/api/acl/op/data_buffer.h"
#include "src/api/acl/op/tensor_desc.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/magic.h"
#include "src/base/mutex.h"
#include "src/exec/model/model.h"

struct aclmdlDesc {
  std::shared_ptr<const millpond::ModelInfo> info;  // null: nothing is described yet
  millpond::acl::Magic<0x6d704d6465736372> magic;
  uint32_t model = 0;                                               // 0: described from a file
  millpond::Mutex mutex;                                            // guards what follows
  std::map<std::string, std::string> attributes GUARDED_BY(mutex);  // texts that were handed out
};

struct aclmdlDataset {
  struct Blob {
    aclDataBuffer* buffer = nullptr;      // the client's
    std::unique_ptr<aclTensorDesc> desc;  // input: the shape it has in this run; output: what a run made
  };
  std::vector<Blob> blobs;
  millpond::acl::Magic<0x6d70446174617365> magic;
  // Which sizes the next runs have; told by aclmdlSetDynamic*. The sizes, not the gear: the dataset may be used with
  // another model.
  std::vector<int64_t> gear_sizes;
};

struct aclmdlConfigHandle {
  std::set<aclmdlConfigAttr> given;
  int32_t priority = 0;
  size_t load_type = 0;
  std::string path;
  millpond::acl::Magic<0x6d70436f6e666967> magic;
  std::string weight_path;
  const void* model = nullptr;
  size_t model_bytes = 0;
  millpond::ModelMemory memory;
  std::set<std::string> external_weights;
};

struct aclmdlExecConfigHandle {
  int32_t stream_timeout = -1;
  void* work = nullptr;
  size_t work_bytes = 0;
  millpond::acl::Magic<0x6d70457865636f6e> magic;
};

struct aclmdlBundleQueryInfo {
  struct Part {
    size_t work_bytes = 0;
    size_t weight_bytes = 0;
  };
  std::vector<Part> parts;
  millpond::acl::Magic<0x6d7042756e646c65> magic;
};

namespace millpond::acl {

// The numbers that the documents give failures of models, where they are not the usual ones.
aclError ModelNumber(Code code, aclError usual);

// Guard, with those numbers.
template <class Body>
aclError ModelGuard(const char* api, Body&& body) {
  Code code = Code::kOk;
  const aclError usual = Guard(api, [&]() -> Status {
    Status status = body();
    code = status.code();
    return status;
  });
  return usual == ACL_SUCCESS ? ACL_SUCCESS : ModelNumber(code, usual);
}

template <class Handle>
Status CheckHandle(const char* parameter, const char* maker, const Handle* handle) {
  if (handle == nullptr) {
    return InvalidArgument(Format("[EH0008] {api} failed because %s cannot be a NULL pointer.", parameter));
  }
  MP_REQUIRE(IsAlive(handle), "%s %p is not alive (destroyed twice, or not from %s)", parameter,
             static_cast<const void*>(handle), maker);
  return Ok();
}
inline Status CheckDesc(const aclmdlDesc* desc) { return CheckHandle("modelDesc", "aclmdlCreateDesc", desc); }
inline Status CheckDataset(const char* parameter, const aclmdlDataset* dataset) {
  return CheckHandle(parameter, "aclmdlCreateDataset", dataset);
}

// For functions that make an object and answer NULL when they cannot.
template <class Object>
Object* MakeObject(const char* api) {
  Object* made = nullptr;
  Guard(api, [&]() -> Status {
    made = new Object;
    return Ok();
  });
  return made;
}

// Deletes what MakeObject made, once `check` has found it alive.
template <class Object, class Check>
aclError DestroyChecked(const char* api, const char* parameter, Object* object, Check&& check) {
  return ModelGuard(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(check(object));
    return Destroy(parameter, object);
  });
}

// The whole of a file; kInvalidFile (145002 here) when it cannot be read.
Status ReadModelFile(const char* path, std::shared_ptr<const void>* out_keep, std::span<const std::byte>* out_bytes);
// A model from memory of the client's, which it may free afterwards.
// `weights`: the folder of the files that FileConstant nodes name; empty: where the nodes say.
Status InfoFromMemory(const void* model, size_t bytes, std::shared_ptr<const ModelInfo>* out,
                      const std::string& weights = {});
Status InfoFromFile(const char* path, std::shared_ptr<const ModelInfo>* out, const std::string& weights = {});
// Loads in the thread's context.
Status LoadModel(std::shared_ptr<const ModelInfo> info, const ModelMemory& memory, int32_t priority, uint32_t* out_id);

// Into the memory of an input, before the run: what a call of the client's says about it.
Status WriteInput(const aclmdlDataset& dataset, size_t index, const void* from, size_t bytes);

// Sizes as clients allocate them: never nothing.
size_t WorkBytes(const ModelInfo& info);
size_t WeightBytes(const ModelInfo& info);

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_MDL_MODEL_H_
