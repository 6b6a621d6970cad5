// SPDX-License-Identifier: BSD-2-Clause
#include "unwind/unwinder.h"

#include <execinfo.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "unwind/code_file.h"

namespace rsslag::unwind {
namespace {

/// The code of this process.
class OwnCode {
  public:
    std::optional<Code> operator()(std::uint64_t address) {
        struct Found {
            std::uint64_t address;
            std::optional<std::uint64_t> bias;
            std::string path;
        } found{address, {}, {}};
        dl_iterate_phdr(
            [](dl_phdr_info *info, std::size_t, void *data) {
                auto &wanted = *static_cast<Found *>(data);
                for (int i = 0; i < info->dlpi_phnum; ++i) {
                    const ElfW(Phdr) &part = info->dlpi_phdr[i];
                    if (part.p_type != PT_LOAD || wanted.address - info->dlpi_addr - part.p_vaddr >= part.p_memsz)
                        continue;
                    wanted.bias = info->dlpi_addr;
                    wanted.path = info->dlpi_name;
                    return 1;
                }
                return 0;
            },
            &found);
        if (!found.bias) return std::nullopt;
        auto &table = tables_[found.path];
        if (table == nullptr) {
            const std::string path = found.path.empty() ? "/proc/self/exe" : found.path;
            auto opened = FrameTable::open(core::Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)));
            if (!opened) return Code{nullptr, *found.bias};  // the vdso
            table = std::make_unique<FrameTable>(std::move(*opened));
        }
        return Code{table.get(), *found.bias};
    }

  private:
    std::map<std::string, std::unique_ptr<FrameTable>> tables_;
};

struct Here {
    Registers registers;
    std::vector<std::byte> bytes;
    std::uint64_t stack = 0;
    std::vector<void *> callers;  // by backtrace()

    StackCopy copy() const { return {stack, bytes}; }
};

std::uint64_t end_of_stack() {
    pthread_attr_t attributes{};
    void *begin = nullptr;
    std::size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
    return reinterpret_cast<std::uint64_t>(begin) + size;
}

/// Copied by the kernel: a sanitizer stops a memcpy() across the red zones between the variables of other functions.
void copy_stack(std::uint64_t from, std::vector<std::byte> &to) {
    const iovec there{reinterpret_cast<void *>(from), to.size()};
    const iovec here{to.data(), to.size()};
    const ssize_t count = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    EXPECT_EQ(count, static_cast<ssize_t>(to.size())) << std::strerror(errno);
}

/// The registers, the stack and the callers of this function.
[[gnu::noinline]] void look(Here &here, std::size_t bytes) {
    std::array<std::uint64_t, 8> seen{};
    asm volatile(
        "leaq 0(%%rip), %%rax\n\t movq %%rax, 0(%0)\n\t movq %%rsp, 8(%0)\n\t movq %%rbp, 16(%0)\n\t movq %%rbx, "
        "24(%0)\n\t"
        "movq %%r12, 32(%0)\n\t movq %%r13, 40(%0)\n\t movq %%r14, 48(%0)\n\t movq %%r15, 56(%0)"
        :
        : "r"(seen.data())
        : "rax", "memory");
    constexpr std::array<std::size_t, 8> kNumbers{kReturnAddress, kStackPointer, kFramePointer, 3, 12, 13, 14, 15};
    for (std::size_t i = 0; i < seen.size(); ++i)
        here.registers.set(kNumbers[i], seen[i]);
    here.stack = seen[1];
    here.bytes.resize(std::min(bytes, end_of_stack() - here.stack));
    copy_stack(here.stack, here.bytes);
    std::array<void *, 64> frames{};
    const auto end = frames.begin() + backtrace(frames.data(), static_cast<int>(frames.size()));
    // With a sanitizer the first frame is its own backtrace().
    here.callers.assign(std::find(frames.begin(), end, __builtin_return_address(0)), end);
}

/// Its frame has a size that the compiler cannot know, so its rules use a register other than the stack pointer.
[[gnu::noinline]] int with_variable_frame(Here &here, std::size_t bytes, int size) {
    auto *const some = static_cast<volatile char *>(__builtin_alloca(static_cast<std::size_t>(size)));
    some[0] = 1;
    look(here, bytes);
    return some[0] + size;
}

[[gnu::noinline]] int nested(Here &here, std::size_t bytes, int depth) {
    const int below = depth == 0 ? with_variable_frame(here, bytes, 100) : nested(here, bytes, depth - 1);
    return below + depth;  // not a tail call
}

/// The first frame is look() itself.
void expect_callers(const Here &here, const Stack &stack) {
    for (std::size_t i = 1; i < stack.frames.size() && i <= here.callers.size(); ++i)
        EXPECT_EQ(stack.frames[i].pc, reinterpret_cast<std::uint64_t>(here.callers[i - 1])) << "frame " << i;
}

Stack unwound(const Here &here) {
    OwnCode code;
    return unwind(here.registers, here.copy(), std::ref(code));
}

constexpr std::size_t kWhole = 64 << 10;

TEST(Unwinder, FindsTheFramesThatBacktraceFinds) {
    Here here;
    nested(here, kWhole, 5);
    const Stack stack = unwound(here);
    EXPECT_GT(here.callers.size(), 7U);
    EXPECT_GT(stack.frames.size(), here.callers.size());
    expect_callers(here, stack);
}

Here *in_handler = nullptr;

TEST(Unwinder, GoesOnBelowASignalHandler) {
    Here here;
    in_handler = &here;
    const auto before = std::signal(SIGUSR1, [](int) { look(*in_handler, kWhole); });
    std::raise(SIGUSR1);
    std::signal(SIGUSR1, before);
    const Stack stack = unwound(here);
    EXPECT_GT(here.callers.size(), 2U);
    EXPECT_GT(stack.frames.size(), here.callers.size());
    expect_callers(here, stack);
    std::size_t interrupted = 0;
    for (const Frame &frame : stack.frames)
        interrupted += frame.interrupted ? 1 : 0;
    EXPECT_EQ(interrupted, 2U);  // the handler, and the code that it interrupted
}

TEST(Unwinder, SaysThatTheCopyWasTooShort) {
    Here whole;
    nested(whole, kWhole, 20);
    const std::uint64_t size = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) - whole.stack;
    Here half;
    nested(half, size / 2, 20);
    const Stack stack = unwound(half);
    EXPECT_EQ(stack.end, StackEnd::Cut);
    EXPECT_GT(stack.frames.size(), 2U);
    EXPECT_LE(stack.frames.size(), half.callers.size());
    expect_callers(half, stack);
}

TEST(Unwinder, StopsAtTheEntryOfTheDynamicLinker) {
    const core::Fd linker(open("/lib64/ld-linux-x86-64.so.2", O_RDONLY | O_CLOEXEC));
    if (!linker.open()) GTEST_SKIP() << "this system has no ld-linux-x86-64.so.2";
    Elf64_Ehdr header{};
    ASSERT_EQ(pread(linker.get(), &header, sizeof(header), 0), static_cast<ssize_t>(sizeof(header)));
    auto table = FrameTable::open(core::Fd(dup(linker.get())));
    ASSERT_TRUE(table);
    constexpr std::uint64_t kBias = 0x7f00'0000'0000, kAfterTheFirstCall = 8;
    Registers registers;
    registers.set(kReturnAddress, kBias + header.e_entry + kAfterTheFirstCall);
    registers.set(kStackPointer, 0x1000);
    registers.set(kFramePointer, 0);
    const Stack stack = unwind(registers, {0x1000, {}}, [&](std::uint64_t) { return Code{&*table, kBias}; });
    EXPECT_EQ(stack.end, StackEnd::Outermost);
    EXPECT_EQ(stack.frames.size(), 1U);
    EXPECT_FALSE(table->is_entry(header.e_entry - 1));
}

/// A stack by hand, in code without rules: frame pointers at 0x1010 and 0x1030.
struct Framed {
    std::array<std::uint64_t, 8> words{0, 0, 0x1030, 0x2222, 0, 0, 0, 0x3333};
    Registers registers;
    Framed() {
        registers.set(kReturnAddress, 0x1111);
        registers.set(kStackPointer, 0x1000);
        registers.set(kFramePointer, 0x1010);
    }
    Stack unwound() const {
        return unwind(registers, {0x1000, std::as_bytes(std::span(words))}, [](std::uint64_t) { return std::nullopt; });
    }
};

TEST(Unwinder, FollowsFramePointersWhereThereAreNoRules) {
    const Stack stack = Framed().unwound();
    ASSERT_EQ(stack.frames.size(), 3U);
    EXPECT_EQ(stack.frames[1].pc, 0x2222U);
    EXPECT_TRUE(stack.frames[1].by_frame_pointer);
    EXPECT_EQ(stack.frames[2].pc, 0x3333U);
    EXPECT_EQ(stack.end, StackEnd::Outermost);
}

TEST(Unwinder, DoesNotTakeAnyZeroForAFramePointer) {
    Framed framed;
    framed.registers.set(kFramePointer, 0);
    EXPECT_EQ(framed.unwound().end, StackEnd::NoRules);
}

/// The function at 0x1111 was called by CPython's trampoline at 0x2222, and that by 0x3333.
TEST(Unwinder, KnowsTheTrampolineOfPython) {
    const auto code = [](std::uint64_t address) {
        return address == 0x2221 ? std::optional(Code{nullptr, 0, true}) : std::nullopt;
    };
    Framed framed;
    framed.registers.set(kFramePointer, 0x1000);
    const auto pcs = [&](core::UnwindBy by) {
        std::vector<std::uint64_t> found;
        const StackCopy copy{0x1000, std::as_bytes(std::span(framed.words))};
        for (const Frame &frame : unwind(framed.registers, copy, code, by).frames)
            found.push_back(frame.pc);
        return found;
    };
    using Pcs = std::vector<std::uint64_t>;
    framed.words = {0x7777, 0x2222, 0, 0x3333, 0, 0, 0, 0x4444};
    EXPECT_EQ(pcs(core::UnwindBy::Auto), (Pcs{0x1111, 0x2222, 0x3333})) << "without frame pointers";
    EXPECT_EQ(pcs(core::UnwindBy::FramePointers), (Pcs{0x1111, 0x2222}));
    framed.words = {0x1010, 0x2222, 0x1030, 0x3333, 0, 0, 0, 0x4444};
    EXPECT_EQ(pcs(core::UnwindBy::Auto), (Pcs{0x1111, 0x2222, 0x3333, 0x4444})) << "the trampoline has one: 3.14";
}

TEST(Unwinder, OnlyByTheMethodThatIsChosen) {
    const Framed framed;
    const StackCopy copy{0x1000, std::as_bytes(std::span(framed.words))};
    const Stack none = unwind(
        framed.registers, copy, [](std::uint64_t) { return std::nullopt; }, core::UnwindBy::EhFrame);
    EXPECT_EQ(none.frames.size(), 1U);
    EXPECT_EQ(none.end, StackEnd::NoRules);

    Here here;
    look(here, kWhole);
    here.registers.set(kFramePointer, here.stack + 16);
    for (std::size_t i = 0; i < 64; ++i)
        here.bytes[i] = std::byte{0x44};
    OwnCode code;
    const Stack misled = unwind(here.registers, here.copy(), std::ref(code), core::UnwindBy::FramePointers);
    ASSERT_EQ(misled.frames.size(), 2U);
    EXPECT_TRUE(misled.frames[1].by_frame_pointer);
    EXPECT_EQ(misled.frames[1].pc, 0x4444'4444'4444'4444U);
}

TEST(Unwinder, RefusesAFrameThatLeadsBack) {
    Framed framed;
    framed.words[2] = 0x1008;
    const Stack stack = framed.unwound();
    EXPECT_EQ(stack.frames.size(), 2U);
    EXPECT_EQ(stack.end, StackEnd::NoRules);
}

TEST(Unwinder, EndsAtAReturnAddressOfZero) {
    Framed framed;
    framed.words[3] = 0;
    EXPECT_EQ(framed.unwound().end, StackEnd::Outermost);
}

TEST(Unwinder, EndsAStackOfManyFrames) {
    std::vector<std::uint64_t> words(4 * kMostFrames);
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        words[i] = 0x1000 + 8 * (i + 2);
        words[i + 1] = 0x4444;
    }
    Registers registers;
    registers.set(kReturnAddress, 0x1111);
    registers.set(kStackPointer, 0x1000);
    registers.set(kFramePointer, 0x1000);
    const Stack stack =
        unwind(registers, {0x1000, std::as_bytes(std::span(words))}, [](std::uint64_t) { return std::nullopt; });
    EXPECT_EQ(stack.frames.size(), kMostFrames);
    EXPECT_EQ(stack.end, StackEnd::TooDeep);
}

// Its CFA is by rbx, as that of glibc's _dl_runtime_resolve_xsavec, and the function that it calls leaves rbx as it is.
asm(R"(
    .pushsection .text
    rsslag_test_leaf:
    .cfi_startproc
        ret
    .cfi_endproc
    rsslag_test_by_rbx:
    .cfi_startproc
        push %rbx
    .cfi_def_cfa_offset 16
    .cfi_offset 3, -16
        mov %rsp, %rbx
    .cfi_def_cfa_register 3
        sub $64, %rsp
        call rsslag_test_leaf
    rsslag_test_after_call:
        mov %rbx, %rsp
        pop %rbx
    .cfi_def_cfa 7, 8
        ret
    .cfi_endproc
    rsslag_test_in_itself:
    .cfi_startproc
    .cfi_def_cfa 7, 0
    .cfi_offset 16, 0
        nop
        ret
    .cfi_endproc
    rsslag_test_of_itself:
    .cfi_startproc
        nop
        ret
    .cfi_endproc
    .popsection
)");
extern "C" void rsslag_test_in_itself();
extern "C" void rsslag_test_of_itself();
extern "C" void rsslag_test_leaf();
extern "C" void rsslag_test_after_call();

TEST(Unwinder, KeepsRbxInAFunctionThatDoesNotMentionIt) {
    std::array<std::uint64_t, 11> words{};
    words[0] = reinterpret_cast<std::uint64_t>(&rsslag_test_after_call);
    Registers registers;
    registers.set(kReturnAddress, reinterpret_cast<std::uint64_t>(&rsslag_test_leaf));
    registers.set(kStackPointer, 0x1000);
    registers.set(kRbx, 0x1000 + 9 * sizeof(words[0]));
    OwnCode code;
    const Stack stack = unwind(registers, {0x1000, std::as_bytes(std::span(words))}, std::ref(code));
    EXPECT_EQ(stack.frames.size(), 2U);
    EXPECT_EQ(stack.end, StackEnd::Outermost);
}

/// The rules of one function say that its caller is itself, in the same frame. The other one is on the stack as the
/// caller of itself, again and again.
TEST(Unwinder, EndsIfTheRulesLeadInACircle) {
    std::vector<std::uint64_t> words(2 * kMostFrames);
    const auto unwound = [&words](void (*function)()) {
        const std::uint64_t within = reinterpret_cast<std::uint64_t>(function) + 1;
        std::fill(words.begin(), words.end(), within);
        Registers registers;
        registers.set(kReturnAddress, within);
        registers.set(kStackPointer, 0x1000);
        OwnCode code;
        return unwind(registers, {0x1000, std::as_bytes(std::span(words))}, std::ref(code));
    };
    const Stack in_itself = unwound(&rsslag_test_in_itself);
    EXPECT_EQ(in_itself.frames.size(), 1U);
    EXPECT_EQ(in_itself.end, StackEnd::Implausible);
    const Stack of_itself = unwound(&rsslag_test_of_itself);
    EXPECT_EQ(of_itself.frames.size(), kMostFrames);
    EXPECT_EQ(of_itself.end, StackEnd::TooDeep);
}

/// For example by cp, which writes over a library.
TEST(CodeFile, OutlivesTheContentsOfItsFile) {
    core::Fd copy(memfd_create("copy", MFD_CLOEXEC));
    ASSERT_TRUE(copy.open());
    const core::Fd own(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    struct stat about {};
    ASSERT_EQ(fstat(own.get(), &about), 0);
    ASSERT_EQ(sendfile(copy.get(), own.get(), nullptr, static_cast<std::size_t>(about.st_size)), about.st_size);
    const core::Fd writer(dup(copy.get()));
    CodeFile file(std::move(copy), {"/"}, 0);
    ASSERT_NE(file.rules(), nullptr);
    ASSERT_EQ(ftruncate(writer.get(), 0), 0);
    const auto code = OwnCode()(reinterpret_cast<std::uint64_t>(&end_of_stack));
    ASSERT_TRUE(code);
    const std::uint64_t address = reinterpret_cast<std::uint64_t>(&end_of_stack) - code->bias;
    EXPECT_NE(file.rules()->at(address), nullptr);
    EXPECT_NE(file.functions_at(address).at(0).function.find("end_of_stack"), std::string::npos);
}

/// lld puts segments into the file without padding, so two of them have a page in common.
TEST(CodeFile, HasTheBiasOfItsCode) {
    struct {
        Elf64_Ehdr header{};
        std::array<Elf64_Phdr, 2> segments{};
    } image;
    std::memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
    image.header.e_ident[EI_DATA] = ELFDATA2LSB;
    image.header.e_ident[EI_VERSION] = EV_CURRENT;
    image.header.e_type = ET_DYN;
    image.header.e_machine = EM_X86_64;
    image.header.e_version = EV_CURRENT;
    image.header.e_ehsize = sizeof(Elf64_Ehdr);
    image.header.e_phoff = sizeof(Elf64_Ehdr);
    image.header.e_phentsize = sizeof(Elf64_Phdr);
    image.header.e_phnum = image.segments.size();
    image.segments[0] = {PT_LOAD, PF_R, 0, 0, 0, 0x2e24, 0x2e24, 0x1000};
    image.segments[1] = {PT_LOAD, PF_R | PF_X, 0x2e30, 0x3e30, 0x3e30, 0x3000, 0x3000, 0x1000};
    core::Fd file(memfd_create("lld", MFD_CLOEXEC));
    ASSERT_EQ(write(file.get(), &image, sizeof(image)), static_cast<ssize_t>(sizeof(image)));
    ASSERT_EQ(ftruncate(file.get(), 0x6000), 0);
    const CodeFile code(std::move(file), {"/"}, 0);
    EXPECT_EQ(code.bias(0x7f0000003000, 0x2000), 0x7f0000000000U);
    EXPECT_EQ(code.bias(0x7f0000000000, 0), std::nullopt) << "there is no code";
}

TEST(Expression, OfAPltEntry) {
    // DW_CFA_def_cfa_expression of a PLT: rsp + 8, and 8 more from the second half of the entry on.
    const std::vector<Operation> plt{{0x77, 8, 0}, {0x80, 0, 0}, {0x3f, 0, 0}, {0x1a, 0, 0}, {0x3b, 0, 0},
                                     {0x2a, 0, 0}, {0x33, 0, 0}, {0x24, 0, 0}, {0x22, 0, 0}};
    Registers registers;
    registers.set(kStackPointer, 0x1000);
    for (const std::uint64_t offset : {0U, 10U, 11U, 15U}) {
        registers.set(kReturnAddress, 0x4000 + offset);
        EXPECT_EQ(evaluate(plt, registers, {}, {}), offset >= 11 ? 0x1010U : 0x1008U);
    }
}

TEST(Expression, ThatFails) {
    const Registers none;
    EXPECT_EQ(evaluate({{0x77, 8, 0}}, none, {}, {}), std::nullopt);                // an unknown register
    EXPECT_EQ(evaluate({{0x22, 0, 0}}, none, {}, {}), std::nullopt);                // no values
    EXPECT_EQ(evaluate({{0x31, 0, 0}, {0x06, 0, 0}}, none, {}, {}), std::nullopt);  // memory that is not there
    EXPECT_EQ(evaluate({{0x31, 0, 0}, {0x30, 0, 0}, {0x1d, 0, 0}}, none, {}, {}), std::nullopt);  // a division by 0
    EXPECT_EQ(evaluate({{0x28, 0, 0}}, none, {}, {}), std::nullopt);                              // a branch
    EXPECT_EQ(evaluate(std::vector<Operation>(65, {0x31, 0, 0}), none, {}, {}), std::nullopt);
    EXPECT_EQ(evaluate({}, none, {}, {}), std::nullopt);
}

}  // namespace
}  // namespace rsslag::unwind
