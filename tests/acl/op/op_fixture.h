// SPDX-License-Identifier: Apache-2.0
// Shared by the single operator suites: operands, and a client's allocator that records every call.
#ifndef MILLPOND_TESTS_ACL_OP_OP_FIXTURE_H_
#define MILLPOND_TESTS_ACL_OP_OP_FIXTURE_H_

#include <functional>
#include <string>
#include <vector>

#include "acl/acl_op.h"
#include "acl/acl_op_compiler.h"
#include "acl/acl_rt_allocator.h"
#include "tests/acl/acl_test.h"

namespace acl_test {

using Shape = std::vector<int64_t>;
using Floats = std::vector<float>;

// Device memory with values.
class DeviceValues : public DeviceBuffer {
 public:
  template <class T>
  explicit DeviceValues(const std::vector<T>& values) : DeviceBuffer(std::max<size_t>(values.size() * sizeof(T), 1)) {
    if (values.empty()) return;
    EXPECT_EQ(aclrtMemcpy(get(), size(), values.data(), size(), ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  }
  void* address() const { return get(); }
  size_t bytes() const { return size(); }
};

// Descriptor and buffer of one operand.
class Operand {
 public:
  Operand(void* data, size_t bytes, const Shape& shape, aclDataType type = ACL_FLOAT)
      : desc_(aclCreateTensorDesc(type, static_cast<int>(shape.size()), shape.data(),
                                  type == ACL_DT_UNDEFINED ? ACL_FORMAT_UNDEFINED : ACL_FORMAT_ND)),
        buffer_(aclCreateDataBuffer(data, bytes)) {}
  Operand(const DeviceValues& values, const Shape& shape, aclDataType type = ACL_FLOAT)
      : Operand(values.address(), values.bytes(), shape, type) {}
  ~Operand() {
    aclDestroyTensorDesc(desc_);
    aclDestroyDataBuffer(buffer_);
  }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  aclTensorDesc* desc() const { return desc_; }
  aclDataBuffer* buffer() const { return buffer_; }
  void* address() const { return aclGetDataBufferAddr(buffer_); }
  Shape shape() const {
    Shape dims(aclGetTensorDescNumDims(desc_));
    for (size_t i = 0; i < dims.size(); ++i) EXPECT_EQ(aclGetTensorDescDimV2(desc_, i, &dims[i]), ACL_SUCCESS);
    return dims;
  }
  const Operand& OnHost() const {
    EXPECT_EQ(aclSetTensorPlaceMent(desc_, ACL_MEMTYPE_HOST), ACL_SUCCESS);
    return *this;
  }

 private:
  aclTensorDesc* desc_;
  aclDataBuffer* buffer_;
};

// Attributes for one test.
class Attr {
 public:
  ~Attr() { aclopDestroyAttr(attr_); }
  aclopAttr* get() const { return attr_; }

 private:
  aclopAttr* attr_ = aclopCreateAttr();
};

// The operands of one call, as the C arrays it takes.
struct Call {
  Call(const std::vector<const Operand*>& inputs, const std::vector<const Operand*>& outputs) {
    for (const Operand* input : inputs) {
      in_descs.push_back(input->desc());
      in_buffers.push_back(input->buffer());
    }
    for (const Operand* output : outputs) {
      out_descs.push_back(output->desc());
      out_buffers.push_back(output->buffer());
    }
  }
  int ins() const { return static_cast<int>(in_descs.size()); }
  int outs() const { return static_cast<int>(out_descs.size()); }
  std::vector<aclTensorDesc*> in_descs, out_descs;
  std::vector<aclDataBuffer*> in_buffers, out_buffers;
};

// An allocator as a client writes one: blocks are its own objects, their memory comes from aclrtMalloc. Freed blocks
// stay allocated until the Bank is destroyed: the stream may still use them, as documented.
class Bank {
 public:
  struct Block {
    void* address;
    size_t bytes;
    bool live;
  };
  Bank() : desc_(aclrtAllocatorCreateDesc()) {
    ACL_OK(aclrtAllocatorSetObjToDesc(desc_, this));
    ACL_OK(aclrtAllocatorSetAllocFuncToDesc(
        desc_, [](aclrtAllocator bank, size_t size) { return static_cast<Bank*>(bank)->Alloc(size); }));
    ACL_OK(aclrtAllocatorSetFreeFuncToDesc(
        desc_, [](aclrtAllocator bank, aclrtAllocatorBlock block) { static_cast<Bank*>(bank)->Free(block); }));
    ACL_OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc_, &Bank::AddressOf));
  }
  ~Bank() {
    for (const auto& block : blocks_) aclrtFree(block->address);
    aclrtAllocatorDestroyDesc(desc_);
  }
  Bank(const Bank&) = delete;
  Bank& operator=(const Bank&) = delete;

  aclError RegisterFor(aclrtStream stream) { return aclrtAllocatorRegister(stream, desc_); }

  // The client's own way to give back an output it was handed.
  bool GiveBack(const void* address) {
    for (const auto& block : blocks_) {
      if (block->address != address || !block->live) continue;
      block->live = false;
      return true;
    }
    return false;
  }
  size_t live() const {
    size_t count = 0;
    for (const auto& block : blocks_) count += block->live ? 1 : 0;
    return count;
  }
  // "alloc 64, address, free": what was called since the last question.
  std::string TakeLog() { return std::exchange(log_, ""); }

  int fail_nth = 0;                      // the nth alloc from now returns null
  std::function<void*(size_t)> instead;  // called instead of a good alloc
  std::function<void()> at_free;         // called first in free
  int allocs = 0, frees = 0;
  std::atomic<int> inside{0};
  bool overlapped = false;  // two callbacks at once

  void* NewBlock(size_t size) {
    void* address = nullptr;
    if (aclrtMalloc(&address, size, ACL_MEM_MALLOC_NORMAL_ONLY) != ACL_SUCCESS) return nullptr;
    blocks_.push_back(std::make_unique<Block>(Block{address, size, true}));
    return blocks_.back().get();
  }
  // A block at an address that is wrong on purpose; its real memory is freed with the rest.
  void* NewBlockAt(void* address, size_t size) {
    wrong_.push_back(std::make_unique<Block>(Block{address, size, true}));
    return wrong_.back().get();
  }

 private:
  struct Inside {
    explicit Inside(Bank* bank) : bank_(bank) {
      if (bank_->inside.fetch_add(1) != 0) bank_->overlapped = true;
    }
    ~Inside() { bank_->inside.fetch_sub(1); }
    Bank* bank_;
  };
  void Note(const std::string& what) { log_ += (log_.empty() ? "" : ", ") + what; }
  void* Alloc(size_t size) {
    const Inside mark(this);
    ++allocs;
    Note("alloc " + std::to_string(size));
    if (fail_nth > 0 && --fail_nth == 0) return nullptr;
    return instead ? instead(size) : NewBlock(size);
  }
  void Free(void* block) {
    const Inside mark(this);
    ++frees;
    Note("free");
    if (at_free) at_free();
    static_cast<Block*>(block)->live = false;
  }
  // No object is passed here, as the ABI has it: the block knows.
  static void* AddressOf(aclrtAllocatorBlock block) { return static_cast<Block*>(block)->address; }

  const aclrtAllocatorDesc desc_;
  std::vector<std::unique_ptr<Block>> blocks_, wrong_;
  std::string log_;
};

// Every test: a device and a stream; models of one test are not those of the next.
class OpTest : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    stream_ = NewStream();
  }
  aclError Execute(const char* type, const std::vector<const Operand*>& inputs,
                   const std::vector<const Operand*>& outputs, aclopAttr* attr = nullptr) {
    Call call(inputs, outputs);
    return aclopExecuteV2(type, call.ins(), call.in_descs.data(), call.in_buffers.data(), call.outs(),
                          call.out_descs.data(), call.out_buffers.data(), attr, stream_);
  }
  static aclError Compile(const char* type, const std::vector<const Operand*>& inputs,
                          const std::vector<const Operand*>& outputs, const aclopAttr* attr = nullptr) {
    Call call(inputs, outputs);
    return aclopCompile(type, call.ins(), call.in_descs.data(), call.outs(), call.out_descs.data(), attr,
                        ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr);
  }
  aclError Synchronize() { return aclrtSynchronizeStream(stream_); }
  aclrtStream stream_ = nullptr;
};

}  // namespace acl_test

#endif  // MILLPOND_TESTS_ACL_OP_OP_FIXTURE_H_
