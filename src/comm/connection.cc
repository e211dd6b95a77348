// SPDX-License-Identifier: Apache-2.0
#include "src/comm/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace millpond::comm {

namespace {

constexpr size_t kBufferBytes = 64 * 1024;
constexpr size_t kAtOnce = size_t{4} << 20;  // bytes read before others get a turn
constexpr size_t kVectors = 32;

}  // namespace

void Connection::Send(FrameHeader header, const void* bytes, size_t count) {
  header.bytes = static_cast<uint32_t>(count);
  Output output;
  output.header = header;
  if (count != 0) output.own.assign(static_cast<const char*>(bytes), count);
  output_.push_back(std::move(output));
}

void Connection::SendFrom(FrameHeader header, const char* bytes, size_t count) {
  header.bytes = static_cast<uint32_t>(count);
  Output output;
  output.header = header;
  output.bytes = bytes;
  output_.push_back(std::move(output));
  if (header.kind == FrameKind::kBlock) ++blocks_;
}

void Connection::LetGoOfBlocks() {
  static char nothing[kMaxFrameBytes];  // what is half sent must end
  for (auto output = output_.begin(); blocks_ != 0 && output != output_.end();) {
    const bool is_block = output->header.kind == FrameKind::kBlock && output->bytes != nullptr;
    if (is_block && output->done == 0) {
      output = output_.erase(output);
      --blocks_;
      continue;
    }
    if (is_block) output->bytes = nothing;
    ++output;
  }
  if (in_frame_ && header_.kind == FrameKind::kBlock && place_ != nullptr) {
    elsewhere_.resize(header_.bytes);
    place_ = nullptr;
  }
}

Connection::Progress Connection::Closed(const std::string& why) {
  if (why_.empty()) why_ = why;
  return Progress::kClosed;
}

Connection::Progress Connection::Flush() {
  bool some = false;
  while (!output_.empty()) {
    iovec vectors[kVectors];
    size_t used = 0;
    for (auto output = output_.begin(); output != output_.end() && used + 2 <= kVectors; ++output) {
      const size_t head = std::min(output->done, sizeof(FrameHeader)), rest = output->done - head;
      if (head < sizeof(FrameHeader)) {
        vectors[used++] = {reinterpret_cast<char*>(&output->header) + head, sizeof(FrameHeader) - head};
      }
      if (rest < output->header.bytes) {
        vectors[used++] = {const_cast<char*>(output->data()) + rest, output->header.bytes - rest};
      }
    }
    msghdr message{};
    message.msg_iov = vectors;
    message.msg_iovlen = used;
    const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return some ? Progress::kSome : Progress::kNone;
      return Closed(Format("is gone: %s", strerror(errno)));
    }
    some = true;
    for (auto left = static_cast<size_t>(sent); left > 0;) {
      Output& first = output_.front();
      const size_t step = std::min(left, sizeof(FrameHeader) + first.header.bytes - first.done);
      first.done += step;
      left -= step;
      if (first.done < sizeof(FrameHeader) + first.header.bytes) continue;
      if (first.header.kind == FrameKind::kBlock && first.bytes != nullptr) --blocks_;
      output_.pop_front();
    }
  }
  return some ? Progress::kSome : Progress::kNone;
}

bool Connection::Finish(Receiver* receiver) {
  in_frame_ = false;
  return receiver->Take(header_, place_ != nullptr ? place_ : elsewhere_.data(), this);
}

bool Connection::Parse(Receiver* receiver) {
  for (;;) {
    if (!in_frame_) {
      if (end_ - begin_ < sizeof(FrameHeader)) break;
      std::memcpy(&header_, buffer_.data() + begin_, sizeof(FrameHeader));
      begin_ += sizeof(FrameHeader);
      if (header_.bytes > kMaxFrameBytes) return false;
      in_frame_ = true;
      have_ = 0;
      place_ = header_.bytes == 0 ? nullptr : receiver->PlaceFor(header_, this);
      if (place_ == nullptr) elsewhere_.resize(header_.bytes);
    }
    const size_t step = std::min(end_ - begin_, header_.bytes - have_);
    if (step != 0) std::memcpy((place_ != nullptr ? place_ : elsewhere_.data()) + have_, buffer_.data() + begin_, step);
    begin_ += step;
    have_ += step;
    if (have_ < header_.bytes) break;
    if (!Finish(receiver)) return false;
  }
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  return true;
}

Connection::Progress Connection::Read(Receiver* receiver) {
  if (buffer_.empty()) buffer_.resize(kBufferBytes);
  Progress progress = Progress::kNone;
  for (size_t total = 0; total < kAtOnce;) {
    // The rest of a large frame goes to its place, and what follows it to the buffer.
    iovec vectors[2];
    const size_t missing = in_frame_ ? header_.bytes - have_ : 0;
    char* const into = place_ != nullptr ? place_ : elsewhere_.data();
    vectors[0] = {missing != 0 ? into + have_ : nullptr, missing};
    vectors[1] = {buffer_.data() + end_, buffer_.size() - end_};
    const ssize_t got = readv(socket_.get(), missing != 0 ? vectors : vectors + 1, missing != 0 ? 2 : 1);
    if (got == 0) return Closed("has closed the connection");
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return progress;
      return Closed(Format("is gone: %s", strerror(errno)));
    }
    progress = Progress::kSome;
    total += static_cast<size_t>(got);
    const size_t direct = std::min(static_cast<size_t>(got), missing);
    have_ += direct;
    end_ += static_cast<size_t>(got) - direct;
    if (missing != 0 && have_ == header_.bytes && !Finish(receiver)) return Closed("sent what is no frame");
    if (!in_frame_ && !Parse(receiver)) return Closed("sent what is no frame");
  }
  return progress;
}

void Connection::ShutDown() {
  if (!shut_down_) shutdown(socket_.get(), SHUT_WR);
  shut_down_ = true;
}

}  // namespace millpond::comm
