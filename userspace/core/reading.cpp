// SPDX-License-Identifier: BSD-2-Clause
#include "core/reading.h"

namespace rsslag::core {

Members CounterReading::cached() const {
    Members sum;
    for (const TaskReading &task : tasks)
        sum += task.cached;
    for (const CpuReading &cpu : last.cpus)
        sum += cpu.cached;
    return sum;
}

}  // namespace rsslag::core
