#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <utility>

#include "access/peer.h"

namespace pex::access {

/// What clients wait for. Peers are served round-robin, and the clients of one peer in order of
/// arrival, so that no peer's number of clients delays another peer. Not thread-safe.
template <typename T>
class PeerQueue {
 public:
  bool empty() const { return order_.empty(); }
  std::size_t size() const { return size_; }
  /// Those of one peer.
  std::size_t size_of(const Peer& peer) const {
    const auto clients = waiting_.find(peer);
    return clients == waiting_.end() ? 0 : clients->second.size();
  }

  void push(const Peer& peer, T client) {
    std::deque<T>& clients = waiting_[peer];
    if (clients.empty()) order_.push_back(peer);
    clients.push_back(std::move(client));
    ++size_;
  }

  /// Not of an empty queue.
  T take_next() {
    const Peer peer = order_.front();
    order_.pop_front();
    const auto clients = waiting_.find(peer);
    T client = std::move(clients->second.front());
    clients->second.pop_front();
    --size_;
    if (clients->second.empty()) {
      waiting_.erase(clients);
    } else {
      order_.push_back(peer);
    }
    return client;
  }

  /// The peer of which most clients wait. Not of an empty queue.
  const Peer& longest() const {
    return std::max_element(
               waiting_.begin(), waiting_.end(),
               [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); })
        ->first;
  }

  /// The last client of a peer that has one.
  T take_last(const Peer& peer) {
    const auto clients = waiting_.find(peer);
    T client = std::move(clients->second.back());
    clients->second.pop_back();
    --size_;
    if (clients->second.empty()) {
      std::erase(order_, peer);
      waiting_.erase(clients);
    }
    return client;
  }

 private:
  std::map<Peer, std::deque<T>> waiting_;  ///< no queue is empty
  std::deque<Peer> order_;                 ///< of its keys, the next one first
  std::size_t size_ = 0;
};

}  // namespace pex::access
