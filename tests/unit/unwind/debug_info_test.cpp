// SPDX-License-Identifier: BSD-2-Clause
// Inlined functions and lines of source, of a library that knows them.
#include "unwind/debug_info.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "inlined.h"
#include "unwind/code_file.h"
#include "unwind/symbols.h"

namespace rsslag::unwind {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMost = std::size_t{16} << 20;

fs::path built(const std::string &name) {
    return fs::read_symlink("/proc/self/exe").parent_path() / name;
}

core::Fd opened(const fs::path &path) {
    return core::Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

class DebugInfoTest : public testing::Test {
  protected:
    void SetUp() override {
        library_ = dlopen(built("inlined.so").c_str(), RTLD_NOW);
        ASSERT_NE(library_, nullptr) << dlerror();
        std::string name = (fs::temp_directory_path() / "rsslag-unwind-XXXXXX").string();
        root_ = mkdtemp(name.data());
    }
    void TearDown() override {
        dlclose(library_);
        fs::remove_all(root_);
    }

    /// A place in the function of the library, with the address in the file.
    Place place_in(const char *function) const {
        void *const symbol = dlsym(library_, function);
        Dl_info about{};
        EXPECT_NE(dladdr(symbol, &about), 0);
        Place place{};
        reinterpret_cast<void (*)(Place &)>(symbol)(place);
        place.address -= reinterpret_cast<std::uintptr_t>(about.dli_fbase);
        return place;
    }
    /// Copies it to where a package of debug symbols would install that of the build id.
    fs::path install(const fs::path &debug, const core::BuildId &id) const {
        const std::string digits = core::hex(id);
        const fs::path place = root_ / "usr/lib/debug/.build-id" / digits.substr(0, 2) / (digits.substr(2) + ".debug");
        fs::create_directories(place.parent_path());
        fs::copy_file(debug, place, fs::copy_options::overwrite_existing);
        return place;
    }
    CodeFile stripped() const { return {opened(built("inlined.stripped")), {root_.string(), "/nowhere"}, kMost}; }

    void *library_ = nullptr;
    fs::path root_;
};

void expect_called(const std::vector<SourceFrame> &frames, const Place &place) {
    constexpr std::array<std::string_view, 3> kNames{"inlined::innermost(Place&)", "inlined::middle(Place&)", "called"};
    ASSERT_EQ(frames.size(), kNames.size());
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        EXPECT_EQ(frames[i].function, kNames[i]);
        EXPECT_TRUE(frames[i].file.ends_with("unit/unwind/inlined.cpp")) << frames[i].file;
        EXPECT_EQ(static_cast<int>(frames[i].line), place.lines[i]) << kNames[i];
    }
}

TEST_F(DebugInfoTest, HasTheFunctionsThatAreInlined) {
    auto info = DebugInfo::open(opened(built("inlined.so")), "/", kMost);
    ASSERT_TRUE(info);
    const Place place = place_in("called");
    expect_called(info->at(place.address), place);

    const Place other = place_in("without_inlined");
    const auto frames = info->at(other.address);
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].function, "without_inlined");
    EXPECT_EQ(static_cast<int>(frames[0].line), other.lines[0]);

    EXPECT_TRUE(info->at(0).empty());
    EXPECT_TRUE(info->at(UINT64_MAX).empty());
}

TEST_F(DebugInfoTest, IsNotReadIfItIsLargerThanTheLimit) {
    const auto info = DebugInfo::open(opened(built("inlined.so")), "/", kMost);
    ASSERT_TRUE(info);
    EXPECT_TRUE(DebugInfo::open(opened(built("inlined.so")), "/", info->bytes()));
    EXPECT_FALSE(DebugInfo::open(opened(built("inlined.so")), "/", info->bytes() - 1));
    EXPECT_FALSE(DebugInfo::open(opened(built("inlined.stripped")), "/", kMost)) << "there is none";
}

TEST_F(DebugInfoTest, OfAFileOfItsOwnWithTheBuildId) {
    const Place place = place_in("called");
    CodeFile file = stripped();
    EXPECT_EQ(file.debug_bytes(), 0U);
    ASSERT_EQ(file.functions_at(place.address).size(), 1U);
    EXPECT_EQ(file.functions_at(place.address)[0].function, "called") << "by its symbol";
    EXPECT_EQ(file.functions_at(place.address)[0].line, 0U);

    install(built("inlined.debug"), file.build_id());
    expect_called(stripped().functions_at(place.address), place);

    install(built("unwind_test"), file.build_id());
    EXPECT_EQ(stripped().debug_bytes(), 0U) << "it has another build id";
}

class SymbolsTest : public DebugInfoTest {
  protected:
    /// Copies it to where debuginfod's clients would keep it as the file `name` of the build id.
    fs::path keep(const fs::path &file, const char *name) const {
        const fs::path place = root_ / core::hex(stripped().build_id()) / name;
        fs::create_directories(place.parent_path());
        fs::copy_file(file, place, fs::copy_options::overwrite_existing);
        return place;
    }
    /// Two stacks: that of a place in the library, and one with this place and a frame that has a name.
    event::Stacks stacks(std::uint64_t address) const {
        core::StackFrame nameless, other;
        nameless.file = "/somewhere/inlined.so";
        nameless.build_id = stripped().build_id();
        nameless.address = address;
        other.function = "other";
        return {7, {other, nameless}, {{{1}, core::StackEnd::Cut}, {{1, 0}, core::StackEnd::Outermost}}, {0, 1, 0}, 3};
    }
    event::Stacks named(const event::Stacks &stacks) {
        auto symbols = Symbols::open(root_.string(), [this](std::uint64_t bytes) { bytes_ += bytes; });
        EXPECT_TRUE(symbols);
        return symbols->named(stacks);
    }

    std::uint64_t bytes_ = 0;
};

std::vector<std::string> functions_of(const event::Stacks &stacks, std::size_t number) {
    std::vector<std::string> functions;
    for (const std::uint32_t frame : stacks.stacks.at(number).frames)
        functions.push_back(stacks.frames.at(frame).function);
    return functions;
}

TEST_F(SymbolsTest, HaveTheInlinedFunctionsAndLinesOfDebugInformation) {
    const Place place = place_in("called");
    keep(built("inlined.debug"), "debuginfo");
    const event::Stacks out = named(stacks(place.address));
    const std::vector<std::string> inlined{"inlined::innermost(Place&)", "inlined::middle(Place&)", "called"};
    EXPECT_EQ(functions_of(out, 0), inlined);
    EXPECT_EQ(functions_of(out, 1), (std::vector<std::string>{inlined[0], inlined[1], inlined[2], "other"}));
    const core::StackFrame &first = out.frames.at(out.stacks[0].frames[0]);
    EXPECT_TRUE(first.source.ends_with("unit/unwind/inlined.cpp")) << first.source;
    EXPECT_EQ(static_cast<int>(first.line), place.lines[0]);
    EXPECT_TRUE(first.inlined);
    EXPECT_FALSE(out.frames.at(out.stacks[0].frames[2]).inlined);
    EXPECT_EQ(first.address, place.address);
    EXPECT_EQ(out.first, 7U);
    EXPECT_EQ(out.lost, 3U);
    EXPECT_EQ(out.of, (std::vector<std::uint32_t>{0, 1, 0}));
    EXPECT_EQ(out.stacks[0].end, core::StackEnd::Cut);
    EXPECT_GE(bytes_, fs::file_size(built("inlined.debug")));
}

TEST_F(SymbolsTest, HaveTheSymbolOfAnExecutable) {
    const Place place = place_in("called");
    keep(built("inlined.stripped"), "executable");
    EXPECT_EQ(functions_of(named(stacks(place.address)), 0), std::vector<std::string>{"called"});
}

TEST_F(SymbolsTest, AreOnlyThoseOfTheFileWithTheBuildId) {
    const Place place = place_in("called");
    const fs::path file = keep(built("unwind_test"), "debuginfo");
    EXPECT_EQ(functions_of(named(stacks(place.address)), 0), std::vector<std::string>{""});
    EXPECT_EQ(bytes_, 0U);
    fs::remove(file);
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    EXPECT_EQ(functions_of(named(stacks(place.address)), 0), std::vector<std::string>{""});
    EXPECT_EQ(Symbols::open(file.string(), [](std::uint64_t) {}).error().kind, core::Kind::BadInput);
}

TEST_F(SymbolsTest, DoNotMakeAStackLongerThanTheLimit) {
    const Place place = place_in("called");
    keep(built("inlined.debug"), "debuginfo");
    event::Stacks deep = stacks(place.address);
    deep.stacks[0].frames.assign(core::kMostFrames / 2, 1);
    const event::Stacks out = named(deep);
    EXPECT_EQ(out.stacks[0].frames.size(), core::kMostFrames);
    EXPECT_EQ(out.stacks[0].end, core::StackEnd::TooDeep);
    EXPECT_EQ(out.stacks[1].end, core::StackEnd::Outermost);
}

TEST_F(DebugInfoTest, AFifoInThePlaceOfTheFileDoesNotBlock) {
    const fs::path path = install(built("inlined.debug"), stripped().build_id());
    fs::remove(path);
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(stripped().debug_bytes(), 0U);
}

/// The file that dwz makes of several ones has a name in .gnu_debugaltlink.
TEST_F(DebugInfoTest, AFifoInThePlaceOfWhatDwzMadeDoesNotBlock) {
    ASSERT_TRUE(fs::exists(built("inlined.altlink")));
    EXPECT_FALSE(DebugInfo::open(opened(built("inlined.altlink")), root_, kMost)) << "there is no such file";
    ASSERT_EQ(mkfifo((root_ / "made-by-dwz").c_str(), 0600), 0);
    EXPECT_FALSE(DebugInfo::open(opened(built("inlined.altlink")), root_, kMost));
}

}  // namespace
}  // namespace rsslag::unwind
