#pragma once

#include <unistd.h>

#include "base/fd.h"

// For tests of answers: both ends of a connection, in child processes.
namespace overdue {

constexpr useconds_t answers_after = 60'000;  // us

/// Asks a question, and waits for the answer.
inline void ask(const Fd& connection) {
  char word = '?';
  if (write(connection.get(), &word, 1) != 1 || read(connection.get(), &word, 1) != 1) _exit(1);
}

/// Answers each question of the connection after a while.
inline void answer_questions(const Fd& client) {
  char word = 0;
  while (read(client.get(), &word, 1) == 1) {
    usleep(answers_after);
    if (write(client.get(), &word, 1) != 1) _exit(1);
  }
}

}  // namespace overdue
