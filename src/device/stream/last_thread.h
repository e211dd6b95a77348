// SPDX-License-Identifier: Apache-2.0
// A main that leaves by pthread_exit lets the process go on until its last thread ends, which then exits with 0. Our
// own threads never end, so it is us who notice that none but they are left.
#ifndef MILLPOND_SRC_DEVICE_STREAM_LAST_THREAD_H_
#define MILLPOND_SRC_DEVICE_STREAM_LAST_THREAD_H_

namespace millpond {

// The calling thread uses the runtime: when it ends, the Poller is told to look.
void NoteClientThread();

// The main thread has ended and the process goes on.
bool MainHasLeft();
// Every thread but the main one is ours, by its name ("mp-..."): also those that ours have started.
bool OnlyOurThreadsAreLeft();

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_LAST_THREAD_H_
