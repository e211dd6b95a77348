// SPDX-License-Identifier: Apache-2.0
// Many of ATen's functions, convolution and normalisation among them, have no form that writes to a given output: they
// make their result with at::empty, and it would have to be copied. While a Loan lives, a tensor that at::empty makes
// on this thread with exactly an output's size gets that output's memory, so that the result is where it belongs as
// soon as it exists. If that tensor was another one, no harm is done: nobody reads the output before Deliver.
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_LEND_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_LEND_H_

#include <initializer_list>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

class Loan {
 public:
  // Null outputs, small ones and those that share bytes with another tensor of the call are left out.
  explicit Loan(std::initializer_list<const Tensor*> outputs);
  ~Loan();
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  // Memory of that size, once; null if there is none.
  void* Take(size_t bytes);

 private:
  struct Part {
    void* data;
    size_t bytes;
  };
  static constexpr size_t kMax = 4;
  Part parts_[kMax];
  size_t count_ = 0;
  Loan* outer_;
};

// As Write, for a value that may lie in lent memory already.
void Deliver(Tensor& out, const Tensor& value);
inline void Deliver(Tensor* out, const Tensor& value) {
  if (out != nullptr) Deliver(*out, value);
}

// Several results of one call. A result may lie in the memory of another's output, so none is written before all are
// safe. Undefined values are not asked for.
void DeliverAll(std::initializer_list<std::pair<Tensor*, Tensor>> results);

// One output: lends it while `compute` runs.
template <class Compute>
void Produce(Tensor& out, Compute&& compute) {
  const Loan loan({&out});
  Deliver(out, compute());
}

// Puts the lending, and the scratch memory of kernels (scratch.h), in front of ATen's CPU allocator. Once, before the
// first kernel.
void StartLending();

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_LEND_H_
