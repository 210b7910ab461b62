// SPDX-License-Identifier: BSD-3-Clause
#include "transport/lane.h"

#include <bit>

namespace nodewise::transport {

bool Shape::valid() const {
    return std::has_single_bit(capacity) && capacity >= kPage && capacity <= std::uint64_t{1} << 36 &&
           std::has_single_bit(slots) && slots >= 2 && slots <= std::uint64_t{1} << 24;
}

Writer::Writer(Shape shape)
    : shape_(shape),
      mask_(shape.capacity - 1),
      piece_(shape.piece()),
      fd_(make_segment(shape.segment_bytes())),
      head_(fd_, 0, kPage + shape.descriptor_bytes(), true),
      data_(fd_, kPage + shape.descriptor_bytes(), shape.capacity, true, 2) {
    // the pages are zero, which is how all of it begins
    progress_ = reinterpret_cast<Progress*>(head_.data());
    descriptors_ = reinterpret_cast<std::atomic<std::uint64_t>*>(head_.data() + kPage);
}

void Writer::look() {
    const std::uint64_t taken = progress_->taken.load(std::memory_order_acquire);
    const std::uint64_t freed = progress_->freed.load(std::memory_order_relaxed);
    const std::uint64_t messages = progress_->messages.load(std::memory_order_relaxed);
    // each goes forward only, and never beyond us
    if (taken - taken_ > sent_ - taken_ || freed - freed_ > position_ - freed_ ||
        messages - confirmed_ > messages_ - confirmed_) {
        throw Damaged("the peer says that it has taken what was never sent");
    }
    taken_ = taken;
    freed_ = freed;
    confirmed_ = messages;
}

Reader::Reader(const Fd& fd, Shape shape) : shape_(shape), mask_(shape.capacity - 1), piece_(shape.piece()) {
    if (!shape.valid()) {
        throw Damaged("the peer's shared memory has a shape that cannot be");
    }
    check_segment(fd, shape.segment_bytes());
    progress_page_ = Mapping(fd, 0, kPage, true);
    descriptor_pages_ = Mapping(fd, kPage, shape.descriptor_bytes(), false);
    data_ = Mapping(fd, kPage + shape.descriptor_bytes(), shape.capacity, false, 2);
    progress_ = reinterpret_cast<Progress*>(progress_page_.data());
    descriptors_ = reinterpret_cast<const std::atomic<std::uint64_t>*>(descriptor_pages_.data());
}

}  // namespace nodewise::transport
