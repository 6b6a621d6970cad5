// SPDX-License-Identifier: BSD-2-Clause
// rsslag completion: prints the script that a shell loads, and the candidates that this script requests for each word.
// Hidden from the help, as users need it at most once.
#include <memory>
#include <string>

#include "commands.h"
#include "completion.h"
#include "exit_status.h"
#include "rsslag_completions.h"
#include "system/privileges.h"

namespace rsslag::cli {

Run add_completion(CLI::App &app, const Common &common) {
    auto shell = std::make_shared<std::string>();
    CLI::App *const command = app.add_subcommand("completion", "Print the completion script of a shell")->group("");
    command->add_option("SHELL", *shell, "bash, zsh or fish");
    return [shell, &app, &common] {
        if (const core::Status dropped = system::keep_only({}); !dropped) return fail(dropped.error());
        const char *const script = *shell == "bash"   ? kBashCompletion
                                   : *shell == "zsh"  ? kZshCompletion
                                   : *shell == "fish" ? kFishCompletion
                                                      : nullptr;
        if (script == nullptr && (!shell->empty() || common.command.empty())) {
            return fail({core::Kind::BadInput, "a supported shell must be given", 0, "use bash, zsh or fish"});
        }
        return print(script != nullptr ? script : offer_text(offer(app, common.command)));
    };
}

}  // namespace rsslag::cli
