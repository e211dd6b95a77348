// SPDX-License-Identifier: Apache-2.0
// torch_npu launches operators on a thread of its own, "acl_thread", which ends when one of them fails. Whoever waits
// for its queue to become empty at that moment waits for ever (seen with 2.13.0: the end of a program whose operator
// had failed, two times in forty on a busy machine). Nothing of ours is waited for, and nothing of ours can wake
// it; but we know of the failure and of the thread's end, and say who waits for whom.
#ifndef MILLPOND_SRC_DEVICE_TORCH_QUEUE_H_
#define MILLPOND_SRC_DEVICE_TORCH_QUEUE_H_

namespace millpond {

// A call has failed on the calling thread; `api` lives as long as the process. Does nothing on other threads than that.
void NoteFailureOnTorchQueue(const char* api);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_TORCH_QUEUE_H_
