#pragma once

long answer_of_the_library(long question);
