#include "call_paths.h"

long answer_of_the_library(long question) {
  return question + 1;
}
