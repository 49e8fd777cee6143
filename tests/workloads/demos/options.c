// The command line of a demo.
#include <inttypes.h>
#include <stdarg.h>

#include "demo.h"

static const char* const duration_help = "ends by itself after this time; 10s if not given";
static const char* const seed_help = "what is random is the same for the same seed; 1 if not given";

void usage_error(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  note("%s", text);
  fprintf(stderr, "hint: %s --help\n", program_invocation_short_name);
  exit(EXIT_USAGE);
}

struct unit {
  const char* name;
  int64_t factor;
};
static const struct unit times[] = {{"ns", 1},     {"us", MICROSECOND},  {"ms", MILLISECOND},
                                    {"s", SECOND}, {"m", 60LL * SECOND}, {NULL, 0}};
static const struct unit sizes[] = {
    {"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {NULL, 0}};
static const struct unit counts[] = {{"", 1}, {NULL, 0}};

static const struct unit* units_of(enum option_kind kind) {
  if (kind == OPTION_TIME) return times;
  return kind == OPTION_SIZE ? sizes : counts;
}

static int64_t parse_number(const struct demo_option* option, const char* text) {
  char* end = NULL;
  // strtod also takes "inf", hexadecimal, signs and spaces.
  const bool plain = *text >= '0' && *text <= '9' && strpbrk(text, "xXeE") == NULL;
  const double value = plain ? strtod(text, &end) : 0;
  if (!plain || (option->kind != OPTION_TIME && memchr(text, '.', (size_t)(end - text)) != NULL))
    usage_error("%s %s: not a %s", option->name, text,
                option->kind == OPTION_TIME ? "time, such as 10ms" : "whole number");
  for (const struct unit* unit = units_of(option->kind); unit->name != NULL; unit++) {
    if (strcmp(end, unit->name) != 0) continue;
    const double scaled = value * (double)unit->factor;
    if (scaled < (double)option->least || scaled > (double)option->most) break;
    return (int64_t)scaled;
  }
  if (option->kind == OPTION_TIME && *end == '\0')
    usage_error("%s %s: a time needs a unit, such as %sms", option->name, text, text);
  for (const struct unit* unit = units_of(option->kind); unit->name != NULL; unit++)
    if (strcmp(end, unit->name) == 0)
      usage_error("%s %s: out of range, %" PRId64 " to %" PRId64 "%s", option->name, text,
                  option->least, option->most,
                  option->kind == OPTION_TIME   ? " ns"
                  : option->kind == OPTION_SIZE ? " bytes"
                                                : "");
  usage_error("%s %s: unknown unit '%s'", option->name, text, end);
}

// Prints `text` in lines of 80 columns, from the cursor's `column`; later lines start at `indent`.
static void print_filled(const char* text, int column, int indent) {
  for (bool first = true; *text != '\0'; first = false) {
    const int length = (int)strcspn(text, " ");
    if (!first && column + 1 + length > 79) {
      printf("\n%*s", indent, "");
      column = indent;
    } else if (!first) {
      putchar(' ');
      column++;
    }
    printf("%.*s", length, text);
    column += length;
    text += length;
    text += strspn(text, " ");
  }
  putchar('\n');
}

static void print_option(const struct demo_option* option, const char* spelling) {
  char left[64];
  snprintf(left, sizeof left, "%s%s%s", spelling, option->metavar == NULL ? "" : " ",
           option->metavar == NULL ? "" : option->metavar);
  printf("  %-20s  ", left);
  print_filled(option->help, 24, 24);
}

static void print_help(const char* what, const struct demo_option* options,
                       const struct demo_option* common) {
  printf("usage: %s [OPTION...]\n\n", program_invocation_short_name);
  print_filled(what, 0, 0);
  printf("\nPrints what it did as NDJSON, one event a line. docs/demos.md says more.\n\n");
  for (; options->name != NULL; options++) print_option(options, options->name);
  print_option(&common[0], "-d, --duration");
  print_option(&common[1], common[1].name);
  printf("  %-20s  %s\n", "-h, --help", "this text");
  if (fflush(stdout) != 0) fail(errno, "cannot write to standard output");
}

static const struct demo_option* find_option(const char* word, const struct demo_option* options) {
  const size_t length = strcspn(word, "=");
  for (; options->name != NULL; options++)
    if (strlen(options->name) == length && strncmp(options->name, word, length) == 0)
      return options;
  return NULL;
}

void parse_options(int argc, char** argv, const char* what, const struct demo_option* options) {
  const struct demo_option common[] = {
      {"--duration", OPTION_TIME, &duration, NULL, 1, 3600LL * SECOND, "TIME", duration_help},
      {"--seed", OPTION_COUNT, &seed, NULL, 0, 1LL << 52, "N", seed_help},
      {0}};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
      print_help(what, options, common);
      exit(EXIT_SUCCESS);
    }
  }
  for (int i = 1; i < argc; i++) {
    const char* word = strcmp(argv[i], "-d") == 0 ? "--duration" : argv[i];
    const struct demo_option* option = find_option(word, options);
    if (option == NULL) option = find_option(word, common);
    if (option == NULL)
      usage_error("unknown %s '%s'", argv[i][0] == '-' ? "option" : "argument", argv[i]);
    const char* value = strchr(word, '=');
    if (option->kind == OPTION_FLAG) {
      if (value != NULL) usage_error("%s takes no value", option->name);
      *option->number = 1;
      continue;
    }
    if (value != NULL)
      value++;
    else if (++i < argc)
      value = argv[i];
    else
      usage_error("%s needs a value: %s", option->name, option->metavar);
    if (option->kind == OPTION_TEXT)
      *option->text = value;
    else
      *option->number = parse_number(option, value);
  }
}
