#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace twinrun::sim {

// A priority queue for dates that mostly come in order: what is not earlier than the last in line
// queues up behind it in O(1), the rest goes to a heap. a < b means that a comes out after b, as
// for std::push_heap.
template <class Item>
class DatedQueue {
 public:
  [[nodiscard]] bool empty() const { return front_ == line_.size() && heap_.empty(); }
  [[nodiscard]] const Item& top() const {
    return is_first_in_line() ? line_[front_] : heap_.front();
  }

  void push(const Item& item) {
    if (front_ == line_.size()) {
      line_.clear();
      front_ = 0;
    }
    if (line_.empty() || !(line_.back() < item)) {
      line_.push_back(item);
    } else {
      heap_.push_back(item);
      std::push_heap(heap_.begin(), heap_.end());
    }
  }

  void pop() {
    if (!is_first_in_line()) {
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
      return;
    }
    ++front_;
    if (front_ > kMostGone && front_ * 2 > line_.size()) {
      line_.erase(line_.begin(), line_.begin() + static_cast<std::ptrdiff_t>(front_));
      front_ = 0;
    }
  }

 private:
  static constexpr std::size_t kMostGone = 1024;
  [[nodiscard]] bool is_first_in_line() const {
    return front_ < line_.size() && (heap_.empty() || heap_.front() < line_[front_]);
  }

  std::vector<Item> line_;
  std::size_t front_ = 0;
  std::vector<Item> heap_;
};

}  // namespace twinrun::sim
