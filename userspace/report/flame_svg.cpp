// SPDX-License-Identifier: BSD-2-Clause
#include "flame_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/text.h"
#include "markup.h"
#include "report/report.h"
#include "report_page.h"

namespace rsslag::report {
namespace {

constexpr double kFlameWidth = 1160, kFlameMargin = 20;
constexpr double kBox = 18;          ///< height of a box and the space above it
constexpr double kNarrowest = 0.25;  ///< px
constexpr double kFlameHead = 64, kPanelHead = 34;

struct Box {
    std::int64_t pages = 0;
    std::int64_t older = 0;   ///< pages in the older report
    std::int64_t extent = 0;  ///< the larger of both, and at least the sum of the callees' extents
    std::uint64_t samples = 0;
    std::map<std::string, std::unique_ptr<Box>, std::less<>> callees;

    Box &callee(const std::string &name) {
        std::unique_ptr<Box> &found = callees[name];
        if (!found) found = std::make_unique<Box>();
        return *found;
    }
    /// Returns the extent.
    std::int64_t set_extents() {
        std::int64_t below = 0;
        for (const auto &[name, box] : callees)
            below += box->set_extents();
        return extent = std::max({pages, older, below});
    }
    std::int64_t largest_change() const {
        std::int64_t most = std::abs(pages - older);
        for (const auto &[name, box] : callees)
            most = std::max(most, box->largest_change());
        return most;
    }
};

/// Calls `visit` with each box from the root to the innermost function, for each stack, and with the stack's flow.
template <class Visit>
void visit_boxes(Box &root, const profile::Profile &profile, const Visit &visit) {
    const auto add = [&](const profile::StackSum &sum, const std::vector<std::string> &names) {
        Box *box = &root;
        visit(*box, sum.flow);
        for (const std::string &name : names)
            visit(*(box = &box->callee(name)), sum.flow);
    };
    for (const profile::StackSum &sum : profile::by_stack(profile)) {
        const core::CallStack &stack = profile.stacks[sum.stack];
        std::vector<std::string> names;
        if (stack.end != core::StackEnd::Outermost) names.push_back(fmt::format("({})", profile::name(stack.end)));
        for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame)
            names.push_back(profile::name_of(profile.frames[*frame]));
        if (std::string frame = profile::frame_of(sum.reason); !frame.empty()) names.push_back(std::move(frame));
        add(sum, names);
    }
    add(profile::unexplained(profile), {"(no sample)"});
}

Box boxes(const Report &report, const Report *older, std::int64_t profile::Flow::*direction) {
    Box root;
    visit_boxes(root, report.stacks, [direction](Box &box, const profile::Flow &flow) {
        if (flow.*direction == 0) return;
        box.pages += flow.*direction;
        box.samples += flow.samples;
    });
    if (older != nullptr) {
        const std::int64_t from = older->facts.machine.page_size.bytes, to = report.facts.machine.page_size.bytes;
        visit_boxes(root, older->stacks,
                    [&](Box &box, const profile::Flow &flow) { box.older += flow.*direction * from / to; });
    }
    root.set_extents();
    return root;
}

/// A shade of the direction's hue, the same for each box of a function.
std::string shade(std::string_view name, int hue) {
    const std::size_t hash = std::hash<std::string_view>()(name);
    return fmt::format("hsl({} {}% {}%)", hue + static_cast<int>(hash % 30), 60 + hash / 32 % 25,
                       66 + hash / 1024 % 12);
}

/// The stronger, the larger the change is in comparison with the largest one.
std::string shade_of_change(std::int64_t change, std::int64_t largest) {
    if (change == 0) return "hsl(0 0% 92%)";
    const double part = static_cast<double>(std::abs(change)) / static_cast<double>(largest);
    constexpr int kRed = 8, kBlue = 212;
    return fmt::format("hsl({} 80% {:.0f}%)", change > 0 ? kRed : kBlue, 92 - 32 * part);
}

/// As much of the name as `most` characters can show, escaped; nothing if it is too little.
std::string cut(const std::string &name, std::size_t most) {
    std::size_t characters = 0, fits = 0;  // fits: bytes
    for (std::size_t at = 0; at < name.size(); ++characters) {
        if (characters + 1 == most) fits = at;
        const auto character = core::decode_utf8(std::string_view(name).substr(at));
        at += character ? character->length : 1;
    }
    if (characters <= most) return escaped(name);
    return most < 3 ? "" : escaped(name.substr(0, fits)) + "…";
}

class Flames {
  public:
    /// `largest_change`: nullopt without an older report. `narrowest`: the least width of a box, in px.
    Flames(const core::PageSize &page_size, int hue, std::optional<std::int64_t> largest_change, double narrowest)
        : page_size_(page_size), hue_(hue), largest_change_(largest_change), narrowest_(narrowest) {}

    /// Appends the box and its callees. (x, width) in px.
    void put(std::string_view name, const Box &box, double x, double width, std::size_t depth) {
        deepest_ = std::max(deepest_, depth);
        if (depth == 0) whole_ = box.pages;
        const double share = whole_ == 0 ? 0 : static_cast<double>(box.pages) / static_cast<double>(whole_);
        std::string figures =
            fmt::format("{}, {:.1f} %, {} samples", core::as_kb({box.pages}, page_size_), share * 100, box.samples);
        if (largest_change_) figures += fmt::format("; older: {}", core::as_kb({box.older}, page_size_));
        boxes_.push_back(
            {std::string(name), std::move(figures),
             largest_change_ ? shade_of_change(box.pages - box.older, *largest_change_) : shade(name, hue_), x, width,
             depth});
        for (const auto &[callee, below] : box.callees) {
            const double part = width * (static_cast<double>(below->extent) / static_cast<double>(box.extent));
            if (part >= narrowest_) put(callee, *below, x, part, depth + 1);
            x += part;
        }
    }

    double height() const { return kPanelHead + kBox * static_cast<double>(deepest_ + 1); }

    std::string text(std::string_view heading, double top) const {
        std::string out = fmt::format("<g class=\"panel\">\n<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>\n",
                                      kFlameMargin, top + 22, heading);
        for (const Shown &box : boxes_) {
            const double y = top + height() - kBox * static_cast<double>(box.depth + 1);
            fmt::format_to(std::back_inserter(out),
                           "<g class=\"box\" data-x=\"{:.3f}\" data-w=\"{:.3f}\" data-d=\"{}\"><title>{}: {}</title>"
                           "<rect x=\"{:.3f}\" y=\"{}\" width=\"{:.3f}\" height=\"{}\" fill=\"{}\"/>"
                           "<text x=\"{:.3f}\" y=\"{}\">{}</text></g>\n",
                           box.x, box.width, box.depth, escaped(box.name), escaped(box.figures), box.x, y, box.width,
                           kBox - 1, box.color, box.x + 3, y + 13, label(box));
        }
        return out + "</g>\n";
    }

  private:
    struct Shown {
        std::string name, figures, color;
        double x, width;
        std::size_t depth;
    };

    static std::string label(const Shown &box) {
        constexpr double kCharacter = 7.3;
        return cut(box.name, static_cast<std::size_t>(std::max(0.0, (box.width - 6) / kCharacter)));
    }

    core::PageSize page_size_;
    int hue_;
    std::optional<std::int64_t> largest_change_;
    double narrowest_;
    std::int64_t whole_ = 0;
    std::size_t deepest_ = 0;
    std::vector<Shown> boxes_;
};

std::string note_on(const profile::Profile &profile) {
    if (profile.period == 0) return "the recording has no stacks; record it with rsslag record --stacks";
    std::string note = fmt::format("{} samples, one in {} pages", profile.samples, profile.period);
    if (profile.lost > 0) note += fmt::format("; {} more were lost", profile.lost);
    if (profile.lossy) note += "; records were lost: any amount may be higher or lower";
    return note;
}

struct Panels {
    std::string text;
    double bottom = kFlameHead;
};

Panels panels_of(const Report &report, const Report *older, double narrowest) {
    constexpr int kOrange = 18, kBlue = 195, kGreen = 95;
    const core::PageSize &page_size = report.facts.machine.page_size;
    Panels panels;
    const auto panel = [&](std::string heading, std::int64_t profile::Flow::*direction, int hue) {
        const Box root = boxes(report, older, direction);
        if (root.extent == 0) return;
        if (older != nullptr) heading += "; red: more than in the older recording, blue: less";
        Flames flames(page_size, hue, older != nullptr ? std::optional(root.largest_change()) : std::nullopt,
                      narrowest);
        flames.put("all", root, kFlameMargin, kFlameWidth, 0);
        panels.text += flames.text(heading, panels.bottom);
        panels.bottom += flames.height() + kPanelHead;
    };
    panel("Pages that came", &profile::Flow::came, kOrange);
    panel("Pages that went", &profile::Flow::went, kBlue);
    panel("Of the pages that came, still resident", &profile::Flow::resident, kGreen);
    return panels;
}

}  // namespace

std::string flame_svg(const Report &report, const Report *older, std::size_t most) {
    double narrowest = kNarrowest;
    Panels panels = panels_of(report, older, narrowest);
    while (panels.text.size() > most && narrowest < kFlameWidth)
        panels = panels_of(report, older, narrowest *= 2);
    std::string note = note_on(report.stacks);
    if (older != nullptr) note += " | older: " + note_on(older->stacks);
    if (narrowest > kNarrowest) note += fmt::format("; boxes below {} px are left out", narrowest);
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 "
               "{0} {1}\" "
               "data-x=\"{2}\" data-w=\"{3}\">\n"
               "<title>Flame graph of pages</title>\n<style>{4}</style>\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
               "<text class=\"name\" x=\"{2}\" y=\"26\">{5}</text>\n<text class=\"note\" x=\"{2}\" "
               "y=\"46\">{6}</text>\n"
               "<text class=\"found\" x=\"880\" y=\"46\"></text>\n"
               "<foreignObject x=\"880\" y=\"8\" width=\"300\" height=\"26\">"
               "<input xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" placeholder=\"Search\" "
               "aria-label=\"Search\"/>"
               "</foreignObject>\n",
               kFlameWidth + 2 * kFlameMargin, panels.bottom, kFlameMargin, kFlameWidth, kFlameStyle,
               cut(report.facts.command_line, 96), escaped(note)) +
           panels.text + fmt::format("<script><![CDATA[{}]]></script>\n</svg>\n", kFlameScript);
}

}  // namespace rsslag::report
