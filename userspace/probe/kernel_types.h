// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

struct btf_type;

namespace rsslag::probe {

/// BTF that is read in place (Documentation/bpf/btf.rst). The kernel has 5 MB of it, of which rsslag needs little;
/// libbpf copies all of it. Ids are those of the kernel, from 1 on. Strings and types are valid as long as `bytes` of
/// the constructor.
class KernelTypes {
  public:
    /// No types at all if the header, the end of the strings or the size of a type is wrong, or in another byte order.
    explicit KernelTypes(std::span<const std::byte> bytes);

    /// Greatest id plus 1; 0: no types.
    unsigned count() const { return count_; }
    /// Null if there is no type of this id. Id 0 is void, which has none.
    const btf_type *type(unsigned id) const;
    /// Empty if `offset` lies outside of the strings.
    const char *string(std::uint32_t offset) const;
    /// The lowest id of a type of this name and kind (BTF_KIND_…); 0: there is none.
    unsigned find(const char *name, unsigned kind) const;
    /// The type behind typedefs, qualifiers and tags. Null: void, or a chain that leads nowhere.
    const btf_type *resolve(unsigned id) const;

    /// The types in order of their ids. `take`: (id, type).
    template <class Take>
    void for_each(const Take &take) const {
        const btf_type *type = first();
        for (unsigned id = 1; id < count_; ++id, type = next(type))
            take(id, *type);
    }

  private:
    static constexpr unsigned kStep = 32;

    const btf_type *first() const;
    static const btf_type *next(const btf_type *type);

    std::span<const std::byte> types_;
    std::span<const char> strings_;
    std::vector<std::uint32_t> offsets_;  ///< of types 1, 1 + kStep, …
    unsigned count_ = 0;
};

/// The file of the running kernel's BTF.
inline constexpr const char *kKernelTypesFile = "/sys/kernel/btf/vmlinux";

/// The BTF of the running kernel. Null if the file cannot be read, or has no types.
std::shared_ptr<const KernelTypes> running_kernel_types();

}  // namespace rsslag::probe
