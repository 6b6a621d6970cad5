// SPDX-License-Identifier: BSD-2-Clause
#include "probe/kernel_types.h"

#include <bpf/btf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel_btf.h"

namespace rsslag::probe::test {
namespace {

/// BTF with a type of each kind.
std::vector<std::byte> all_kinds() {
    const std::unique_ptr<btf, decltype(&btf__free)> types(btf__new_empty(), btf__free);
    btf *const to = types.get();
    const int number = btf__add_int(to, "int", 4, BTF_INT_SIGNED);
    btf__add_ptr(to, number);
    btf__add_array(to, number, number, 4);
    btf__add_struct(to, "pair", 8);
    btf__add_field(to, "first", number, 0, 0);
    btf__add_field(to, "second", number, 32, 0);
    btf__add_union(to, "either", 4);
    btf__add_field(to, "one", number, 0, 0);
    btf__add_enum(to, "choice", 4);
    btf__add_enum_value(to, "CHOICE_A", 1);
    btf__add_enum_value(to, "CHOICE_B", -2);
    btf__add_enum64(to, "wide", 8, false);
    btf__add_enum64_value(to, "WIDE", 1ULL << 40);
    btf__add_fwd(to, "elsewhere", BTF_FWD_STRUCT);
    const int alias = btf__add_typedef(to, "number", number);
    const int fixed = btf__add_const(to, btf__add_volatile(to, alias));
    btf__add_restrict(to, btf__add_type_tag(to, "user", fixed));
    const int prototype = btf__add_func_proto(to, number);
    btf__add_func_param(to, "argument", number);
    btf__add_func(to, "function", BTF_FUNC_STATIC, prototype);
    const int variable = btf__add_var(to, "variable", BTF_VAR_STATIC, number);
    btf__add_datasec(to, ".data", 4);
    btf__add_datasec_var_info(to, variable, 0, 4);
    btf__add_float(to, "double", 8);
    btf__add_decl_tag(to, "tag", variable, -1);
    std::uint32_t size = 0;
    const auto *const bytes = static_cast<const std::byte *>(btf__raw_data(to, &size));
    return {bytes, bytes + size};
}

void expect_what_libbpf_reads(const KernelTypes &types, const btf &expected) {
    ASSERT_EQ(types.count(), btf__type_cnt(&expected));
    unsigned seen = 0;
    types.for_each([&](unsigned id, const btf_type &type) {
        const btf_type &same = *btf__type_by_id(&expected, id);
        const bool equal = std::memcmp(&type, &same, sizeof(type)) == 0 && types.type(id) == &type &&
                           std::strcmp(types.string(type.name_off), btf__name_by_offset(&expected, same.name_off)) == 0;
        seen += equal ? 1 : 0;
    });
    EXPECT_EQ(seen, types.count() - 1);
}

TEST(KernelTypes, AreThoseThatLibbpfReads) {
    const auto bytes = all_kinds();
    const KernelTypes types(bytes);
    const std::unique_ptr<btf, decltype(&btf__free)> expected(
        btf__new(bytes.data(), static_cast<std::uint32_t>(bytes.size())), btf__free);
    expect_what_libbpf_reads(types, *expected);
    EXPECT_EQ(types.type(0), nullptr);
    EXPECT_EQ(types.type(types.count()), nullptr);
    EXPECT_STREQ(types.string(static_cast<std::uint32_t>(bytes.size())), "");
}

TEST(KernelTypes, AreThoseThatLibbpfReadsOfThisKernel) {
    const auto types = running_kernel_types();
    const std::unique_ptr<btf, decltype(&btf__free)> expected(btf__load_vmlinux_btf(), btf__free);
    if (!expected) GTEST_SKIP() << "libbpf reads no BTF of this kernel";
    ASSERT_NE(types, nullptr);
    expect_what_libbpf_reads(*types, *expected);
    EXPECT_EQ(static_cast<int>(types->find("mm_struct", BTF_KIND_STRUCT)),
              btf__find_by_name_kind(expected.get(), "mm_struct", BTF_KIND_STRUCT));
}

TEST(KernelTypes, AreFoundByNameAndKind) {
    const auto bytes = all_kinds();
    const KernelTypes types(bytes);
    const unsigned pair = types.find("pair", BTF_KIND_STRUCT);
    EXPECT_STREQ(types.string(types.type(pair)->name_off), "pair");
    EXPECT_EQ(types.find("pair", BTF_KIND_UNION), 0U);
    EXPECT_EQ(types.find("pai", BTF_KIND_STRUCT), 0U);
    EXPECT_EQ(KernelTypes({}).find("pair", BTF_KIND_STRUCT), 0U);
}

TEST(KernelTypes, AreResolvedThroughTypedefsQualifiersAndTags) {
    const auto bytes = all_kinds();
    const KernelTypes types(bytes);
    unsigned chains = 0;
    types.for_each([&](unsigned id, const btf_type &type) {
        if (btf_kind(&type) != BTF_KIND_RESTRICT) return;
        ++chains;
        EXPECT_EQ(types.resolve(id), types.type(types.find("int", BTF_KIND_INT)));
    });
    EXPECT_EQ(chains, 1U);
    EXPECT_EQ(types.resolve(0), nullptr);
    KernelBtf kernel;
    const int first = kernel.alias("first", 0);
    EXPECT_EQ(kernel.types().resolve(static_cast<unsigned>(first)), nullptr) << "void";
}

TEST(KernelTypes, AreNoneIfBytesAreMissing) {
    const auto bytes = all_kinds();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_EQ(KernelTypes(cut).count(), 0U) << size;
    }
}

btf_header header_of(const std::vector<std::byte> &bytes) {
    btf_header header{};
    std::memcpy(&header, bytes.data(), sizeof(header));
    return header;
}

/// The count of types after a change of the header.
template <class Change>
unsigned count_with(const Change &change) {
    auto bytes = all_kinds();
    btf_header header = header_of(bytes);
    change(header);
    std::memcpy(bytes.data(), &header, sizeof(header));
    return KernelTypes(bytes).count();
}

TEST(KernelTypes, AreNoneIfTheHeaderIsWrong) {
    EXPECT_GT(count_with([](btf_header &) {}), 1U);
    EXPECT_EQ(count_with([](btf_header &header) { header.magic = 0x9feb; }), 0U) << "the other byte order";
    EXPECT_EQ(count_with([](btf_header &header) { header.hdr_len = 8; }), 0U);
    EXPECT_EQ(count_with([](btf_header &header) { header.hdr_len = 1U << 31; }), 0U);
    EXPECT_EQ(count_with([](btf_header &header) { header.type_off = 0xffffffff; }), 0U);
    EXPECT_EQ(count_with([](btf_header &header) { header.type_off += 2; }), 0U);
    EXPECT_EQ(count_with([](btf_header &header) { header.type_len -= 4; }), 0U);
    EXPECT_EQ(count_with([](btf_header &header) { header.str_off = 0xffffffff; }), 0U);
    EXPECT_EQ(count_with([](btf_header &header) { header.str_len = 0; }), 0U);
    EXPECT_EQ(count_with([](btf_header &header) { header.str_len -= 1; }), 0U) << "the last string has no end";
}

TEST(KernelTypes, AreNoneIfAKindIsUnknown) {
    auto bytes = all_kinds();
    const btf_header header = header_of(bytes);
    btf_type type{};
    std::byte *const first = bytes.data() + header.hdr_len + header.type_off;
    std::memcpy(&type, first, sizeof(type));
    type.info = 31U << 24;
    std::memcpy(first, &type, sizeof(type));
    EXPECT_EQ(KernelTypes(bytes).count(), 0U);
}

/// The count of types with more bytes in the header.
unsigned count_with_longer_header(unsigned more) {
    auto bytes = all_kinds();
    btf_header header = header_of(bytes);
    header.hdr_len += more;
    std::memcpy(bytes.data(), &header, sizeof(header));
    bytes.insert(bytes.begin() + sizeof(header), more, std::byte{0});
    return KernelTypes(bytes).count();
}

/// Later kernels may add sections to the header.
TEST(KernelTypes, HaveALongerHeader) {
    EXPECT_EQ(count_with_longer_header(8), KernelTypes(all_kinds()).count());
    EXPECT_EQ(count_with_longer_header(2), 0U) << "types are not aligned";
}

}  // namespace
}  // namespace rsslag::probe::test
