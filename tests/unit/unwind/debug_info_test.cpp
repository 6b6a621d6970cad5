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
