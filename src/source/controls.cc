#include "source/controls.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(line, ' '))
    if (!word.empty()) words.push_back(word);
  return words;
}

/// An answer may repeat bytes of the client that are not UTF-8: they are replaced.
std::string one_line(const Json& answer) {
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json target_of(const SessionInfo& info) {
  Json target;
  std::string text;
  for (const std::string& value : info.target.values)
    text += (text.empty() ? "" : " ") + printable(value);
  target["kind"] = info.target.kind;
  target["text"] = text.empty() ? info.target.kind : text.substr(0, 200);
  target["pids"] = info.target.pids;
  return target;
}

}  // namespace

void Controls::pause() {
  if (paused_) return;
  session_.pause();
  paused_ = true;
  ++pauses_;
  paused_at_ = KernelClock::now();
}

void Controls::resume() {
  if (!paused_) return;
  session_.resume();
  paused_ = false;
  paused_for_ += KernelClock::now() - paused_at_;
}

bool Controls::act(std::string_view verb) {
  if (verb == "pause") pause();
  if (verb == "resume") resume();
  if (verb == "stop") stop_ = true;
  return verb == "pause" || verb == "resume" || verb == "stop" || verb == "get";
}

std::string Controls::answer(std::string_view request) {
  const std::vector<std::string_view> words = words_of(request);
  const std::string_view verb = words.empty() ? "" : words[0];
  Json answer{{"ok", true}};
  try {
    if (verb == "set" && words.size() > 1) {
      probe_set_.set({words.begin() + 1, words.end()});
    } else if (verb == "snapshot") {
      throw Error("this version takes no snapshots yet");
    } else if (words.size() != 1 || !act(verb)) {
      throw Error("'{}' is no request", printable(request.substr(0, 80)));
    }
  } catch (const Error& error) {
    return one_line({{"ok", false}, {"error", error.what()}});
  }
  const KernelTime now = KernelClock::now();
  answer["session"] = getpid();
  answer["version"] = info_.version;
  answer["command"] = info_.command;
  answer["target"] = target_of(info_);
  answer["age_ns"] = (now - session_.start()).count();
  answer["state"] = stop_ ? "stopping" : paused_ ? "paused" : "measuring";
  Json settings = Json::object();
  for (const auto& [name, value] : probe_set_.settings()) settings[name] = value;
  answer["settings"] = std::move(settings);
  return one_line(answer);
}

std::string Controls::note(KernelTime end) const {
  if (pauses_ == 0) return {};
  const Duration sum = paused_for_ + (paused_ ? end - paused_at_ : Duration(0));
  return fmt::format("measuring was paused {} {}, for {} in all", pauses_,
                     pauses_ == 1 ? "time" : "times",
                     duration_text(static_cast<std::uint64_t>(std::max(sum, Duration(0)).count())));
}

}  // namespace overdue
