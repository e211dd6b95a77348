// SPDX-License-Identifier: Apache-2.0
//
// Where Graph::SaveToMem puts a graph.
#ifndef MILLPOND_INCLUDE_GRAPH_GRAPH_BUFFER_H_
#define MILLPOND_INCLUDE_GRAPH_GRAPH_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "graph/types.h"

namespace millpond {
namespace api {
struct BuildAccess;
}
}  // namespace millpond

namespace ge {

class Buffer;
using BufferPtr = std::shared_ptr<Buffer>;

class GE_FUNC_DEV_VISIBILITY GE_FUNC_HOST_VISIBILITY GraphBuffer {
 public:
  GraphBuffer();
  ~GraphBuffer();
  GraphBuffer(const GraphBuffer&) = delete;
  GraphBuffer& operator=(const GraphBuffer&) = delete;

  // Null while it is empty.
  const std::uint8_t* GetData() const;
  std::size_t GetSize() const;

 private:
  friend struct ::millpond::api::BuildAccess;
  BufferPtr buffer_{nullptr};
};

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GRAPH_GRAPH_BUFFER_H_
