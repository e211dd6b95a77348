// SPDX-License-Identifier: Apache-2.0
// Work on pictures as a task: from where to where, and what happens on the way.
#ifndef MILLPOND_SRC_API_DVPP_WORK_H_
#define MILLPOND_SRC_API_DVPP_WORK_H_

#include <optional>
#include <vector>

#include "src/api/dvpp/objects.h"
#include "src/device/stream/stream.h"

namespace millpond::dvpp {

// A picture in memory that was found to be there.
struct Place {
  media::Layout layout;
  uint8_t* data = nullptr;  // as the client knows it
  uint64_t bytes = 0;
};

// The checks of a picture that is read, or written whole or in part.
Status PlaceOf(const char* what, const PicFields& fields, Place* out_place);
trace::Access AccessOf(const Place& place, trace::Mode mode);

// The channel must be there, and for this kind of work (a bit of acldvppChannelMode).
Status UseChannel(const void* handle, uint32_t kind, Channel* out_channel);

// One part of one picture on its way into another.
struct Move {
  Place from;
  Place to;
  std::optional<Area> crop;         // of `from`; all of it
  std::optional<Area> paste;        // into `to`; all of it
  std::optional<Bordering> border;  // around it, before it goes to `to`
  bool resizes = false;             // else sizes must agree
  bool nearest = false;
  uint32_t matrix = 0;
};
// Everything that can be known before it runs.
Status CheckMove(const Move& move);
Status LaunchMoves(const char* name, aclrtStream stream, std::vector<Move> moves);

}  // namespace millpond::dvpp

#endif  // MILLPOND_SRC_API_DVPP_WORK_H_
