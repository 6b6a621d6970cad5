// SPDX-License-Identifier: BSD-2-Clause
#include "core/course.h"

#include <algorithm>
#include <utility>

namespace rsslag::core {
namespace {

void join(CourseSpan &span, const CourseSpan &later) {
    span.least = std::min(span.least, later.least);
    span.most = std::max(span.most, later.most);
    span.lag = std::max(span.lag, later.lag);
    span.last = later.last;
}

void join(std::optional<CourseColumn> &column, const CourseColumn &more) {
    if (!column) {
        column = more;
        return;
    }
    column->least = std::min(column->least, more.least);
    column->most = std::max(column->most, more.most);
    column->lag = std::max(column->lag, more.lag);
}

}  // namespace

void CourseBuilder::add(std::uint64_t t_ns, const Held &held) {
    const CourseSpan here{t_ns, held.rss, held.rss, held.lag, held};
    if (!spans_.empty() && t_ns / width_ns_ <= spans_.back().t_ns / width_ns_) return join(spans_.back(), here);
    if (spans_.size() == most_) limit(most_ / 2);
    spans_.push_back(here);
}

void CourseBuilder::limit(std::size_t most) {
    while (spans_.size() > most) {
        width_ns_ *= 2;
        std::size_t kept = 0;
        for (std::size_t i = 1; i < spans_.size(); ++i) {
            if (spans_[i].t_ns / width_ns_ == spans_[kept].t_ns / width_ns_) {
                join(spans_[kept], spans_[i]);
            } else {
                spans_[++kept] = spans_[i];
            }
        }
        spans_.resize(kept + 1);
        spans_.shrink_to_fit();
    }
}

std::vector<CourseSpan> CourseBuilder::take() {
    width_ns_ = first_width_ns_;
    return std::exchange(spans_, {});
}

CourseColumns course_columns(const std::vector<CourseSpan> &course, std::uint64_t duration_ns, std::size_t count) {
    CourseColumns columns(count);
    const std::uint64_t width = std::max<std::uint64_t>(duration_ns / count + 1, 1);
    const Held *held = nullptr;
    std::size_t from = 0;
    for (const CourseSpan &span : course) {
        const std::size_t at = std::min<std::size_t>(span.t_ns / width, count - 1);
        for (; held != nullptr && from <= at; ++from)
            join(columns[from], {held->rss, held->rss, held->lag});
        join(columns[at], {span.least, span.most, span.lag});
        held = &span.last;
        from = at + 1;
    }
    return columns;
}

}  // namespace rsslag::core
