// SPDX-License-Identifier: BSD-2-Clause
#include "examples.h"

#include <array>
#include <string>
#include <string_view>

namespace rsslag::cli {
namespace {

struct Examples {
    std::string_view command;  ///< empty: rsslag itself
    std::string_view text;
};

constexpr std::array kExamples{
    Examples{
        "",
        "rsslag PID, rsslag NAME and rsslag -- CMD are rsslag live; rsslag alone, on a terminal, is rsslag top.\n\n"
        "Examples:\n"
        "  rsslag redis-server                   trace every process of that name\n"
        "  rsslag -- make -j4                    run a command and trace it\n"
        "  rsslag snapshot 4711                  one exact reading: what stat shows, what is resident\n"
        "  rsslag top                            all processes, by lag\n"
        "  rsslag doctor                         check what this kernel and this user can do\n"
        "  rsslag help record                    options of a command\n"},
    Examples{"snapshot",
             "Examples:\n"
             "  rsslag snapshot 4711                  one process\n"
             "  rsslag snapshot redis-server          every process of that name\n"
             "  rsslag snapshot --json -u postgres    every process of a user, as one document\n"
             "  rsslag snapshot --delay 2s -- ./job   a command, two seconds after its start\n"
             "  rsslag snapshot --check 4711 || echo 'something is unexplained'\n"},
    Examples{"live",
             "Examples:\n"
             "  rsslag live 4711                      the screen, on a terminal\n"
             "  rsslag live --follow -- make -j4      a command and its children\n"
             "  rsslag live --comm 'postgres*' --duration 1m --format csv\n"
             "  rsslag live --events 4711             one line per record\n"
             "  rsslag live --record out.rsslag 4711  also record it, for rsslag replay\n"},
    Examples{"top",
             "Examples:\n"
             "  rsslag top                            the screen, on a terminal\n"
             "  rsslag top --once --rows 10           the ten with the largest lag\n"
             "  rsslag top --once --sort exact\n"
             "  rsslag top --once --json | jq '.processes[0]'\n"},
    Examples{"record",
             "Examples:\n"
             "  rsslag record -o out.rsslag 4711 --duration 1m\n"
             "  rsslag record -o out.rsslag --follow -- make -j4\n"
             "  rsslag record -o out.rsslag --comm nginx --max-size 256M\n"
             "  rsslag record -o out.rsslag --assert 'peak_rss<100MiB' -- ./job\n"},
    Examples{"replay",
             "Examples:\n"
             "  rsslag replay out.rsslag              the screen, on a terminal\n"
             "  rsslag replay --speed 4 out.rsslag\n"
             "  rsslag replay --json out.rsslag | jq .lag\n"
             "  rsslag replay --events --from 10s out.rsslag\n"},
    Examples{"report",
             "Examples:\n"
             "  rsslag report out.rsslag\n"
             "  rsslag report --assert 'peak_lag<1MiB and lost==0' out.rsslag\n"
             "  rsslag report --html out.html out.rsslag   a self-contained page\n"
             "  rsslag report --svg out.svg out.rsslag\n"
             "  rsslag report --diff before.rsslag after.rsslag\n"},
    Examples{"export",
             "Examples:\n"
             "  rsslag export --format sqlite -o out.db out.rsslag\n"
             "  rsslag export --format perfetto -o out.pftrace out.rsslag\n"
             "  rsslag export --format csv out.rsslag | head\n"},
    Examples{"peak",
             "Examples:\n"
             "  rsslag peak -- ./job                  its exact peak RSS\n"
             "  rsslag peak --tree -- make -j4        of each process, and of all together\n"
             "  rsslag peak --assert 'peak_rss<100MiB' -- ./job\n"},
    Examples{"serve",
             "Examples:\n"
             "  rsslag serve                          then: curl http://127.0.0.1:9435/metrics\n"
             "  rsslag serve --by unit --top 20\n"
             "  rsslag serve --trace 'postgres*'\n"},
    Examples{"maps",
             "Examples:\n"
             "  rsslag maps 4711\n"
             "  rsslag maps --each --sort Rss 4711    every mapping, largest first\n"
             "  rsslag maps --watch --interval 5s 4711\n"
             "  rsslag maps --json 4711 > before.json && rsslag maps --baseline before.json 4711\n"
             "  rsslag maps --assert 'rss<100MiB' 4711\n"
             "  rsslag maps --stacks trace.rsslag 4711   by which code the pages of each row came\n"},
    Examples{"mem",
             "Examples:\n"
             "  rsslag mem                            by program, largest first\n"
             "  rsslag mem --by file --all            each library or file over all processes\n"
             "  rsslag mem --by cgroup -u www-data\n"},
    Examples{"doctor",
             "Examples:\n"
             "  rsslag doctor\n"
             "  rsslag doctor --json | jq '.problems[].remedy'\n"},
    Examples{"mount",
             "Examples:\n"
             "  rsslag mount                          then: cat /run/rsslag/self\n"
             "  rsslag mount --group monitoring /run/rsslag\n"},
    Examples{"umount",
             "Examples:\n"
             "  rsslag umount\n"
             "  rsslag umount /run/rsslag\n"},
    Examples{
        "demo",
        "--hold prints a line 'ready PID' and then, in the same write, a line 'KEY VALUE' for each fact about the\n"
        "workload: its threads, touched_kb, the addresses of a mapping, ...;\n"
        "rsslag-demo(1) lists them all. Then it waits for a signal.\n\n"
        "Examples:\n"
        "  rsslag demo                           start a workload that lags, and read it\n"
        "  rsslag demo --list\n"
        "  rsslag demo classic --threads 200 --kb 512\n"
        "  rsslag demo classic --hold            in one terminal; rsslag PID in another\n"},
    Examples{"help",
             "Examples:\n"
             "  rsslag help\n"
             "  rsslag help live\n"},
    Examples{"completion",
             "Examples:\n"
             "  source <(rsslag completion bash)\n"},
    Examples{"version",
             "Examples:\n"
             "  rsslag version\n"},
};

}  // namespace

void add_examples(CLI::App &app) {
    for (const Examples &each : kExamples)
        (each.command.empty() ? &app : app.get_subcommand(std::string(each.command)))->footer(std::string(each.text));
}

}  // namespace rsslag::cli
