#include "memory.hpp"

#include <convoy/sdk/host_device.hpp>

#include <cstdlib>
#include <cstring>
#include <string>

namespace convoy::mock {

namespace {

// Bit 54: no address of a process on x86-64 or AArch64 has it (the latter ignores bits from 56 on), so that using a
// device address on the host is a fault and adding offsets to it is still plain arithmetic.
constexpr uintptr_t kDeviceBit = uintptr_t{1} << 54;

}  // namespace

Memory::~Memory() {
  for (const auto& [address, piece] : pieces_) std::free(reinterpret_cast<void*>(address));
}

Buffer Memory::alloc(uint64_t bytes, uint64_t align, Mem m, uint32_t ordinal) {
  const std::lock_guard lock(mutex_);
  if (m == Mem::device && bytes > limit_bytes_ - used_bytes_)
    throw sdk::Error(Code::out_of_memory, std::to_string(bytes) + " bytes asked for, " +
                                              std::to_string(limit_bytes_ - used_bytes_) + " of " +
                                              std::to_string(limit_bytes_) + " are free (option memory_mib)");
  void* real = sdk::host_alloc(bytes, align);
  const auto address = reinterpret_cast<uintptr_t>(real);
  pieces_.emplace(address, Piece{bytes, m});
  if (m != Mem::device) return {real, bytes, address, ordinal, m};
  std::memset(real, 0xff, bytes);
  used_bytes_ += bytes;
  return {reinterpret_cast<void*>(address + kDeviceBit), bytes, address, ordinal, m};
}

void Memory::free(const Buffer& b) {
  const std::lock_guard lock(mutex_);
  const auto piece = pieces_.find(b.cookie);
  if (piece == pieces_.end()) return;
  if (piece->second.mem == Mem::device) used_bytes_ -= piece->second.bytes;
  std::free(reinterpret_cast<void*>(piece->first));
  pieces_.erase(piece);
}

uint64_t Memory::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

char* Memory::locate(void* p, uint64_t bytes, bool any_host) const {
  const auto address = reinterpret_cast<uintptr_t>(p);
  const bool on_device = (address & kDeviceBit) != 0;
  const uintptr_t real = on_device ? address - kDeviceBit : address;
  if (!on_device && any_host) return reinterpret_cast<char*>(real);
  const std::lock_guard lock(mutex_);
  auto after = pieces_.upper_bound(real);
  if (after == pieces_.begin())
    throw sdk::Error(Code::device, "an address that is not of this device, or was freed before the work on it ended");
  const auto& [begin, piece] = *--after;
  if (real + bytes > begin + piece.bytes || (piece.mem == Mem::device) != on_device || piece.mem == Mem::host)
    throw sdk::Error(Code::device, std::to_string(bytes) + " bytes outside of the device's memory, or freed before the work on them ended");
  return reinterpret_cast<char*>(real);
}

}  // namespace convoy::mock
