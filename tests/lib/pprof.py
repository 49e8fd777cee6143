"""A reader of pprof's profiles, by profile.proto of github.com/google/pprof. Shares no code with our writer."""
import gzip


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of each field of a message: a number, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise ValueError("a field is longer than its message")
        else:
            raise ValueError(f"wire type {key & 7}")
        yield key >> 3, value


def numbers(data):
    """The values of a packed field."""
    at, result = 0, []
    while at < len(data):
        value, at = varint(data, at)
        result.append(value)
    return result


class Profile:
    """The parts of a profile. `samples`: (names innermost first, value, labels) of each."""

    def __init__(self, compressed):
        parts = {}
        for number, value in fields(gzip.decompress(compressed)):
            parts.setdefault(number, []).append(value)
        strings = [text.decode("utf-8", "strict") for text in parts[6]]
        if strings[0]:
            raise ValueError("the first string is not empty")
        functions = {}
        for one in map(lambda data: dict(fields(data)), parts.get(5, [])):
            functions[one[1]] = strings[one[2]]
        mappings = {one[1]: strings[one[5]] for one in (dict(fields(data)) for data in parts.get(3, []))}
        self.mapping_of, locations = {}, {}
        for one in map(lambda data: dict(fields(data)), parts.get(4, [])):
            locations[one[1]] = functions[dict(fields(one[4]))[1]]
            self.mapping_of.setdefault(locations[one[1]], set()).add(mappings[one[2]])
        if 0 in functions or 0 in locations:
            raise ValueError("0 is no id")
        self.types = [tuple(strings[number] for number in dict(fields(data)).values()) for data in parts[1]]
        self.comments = [strings[number] for number in parts.get(13, [])]
        self.samples = []
        for data in parts.get(2, []):
            stack, values, labels = [], [], {}
            for number, value in fields(data):
                if number == 1:
                    stack += [locations[id_] for id_ in numbers(value)]
                elif number == 2:
                    values += numbers(value)
                elif number == 3:
                    label = dict(fields(value))
                    labels[strings[label[1]]] = strings[label[2]]
            if len(values) != len(self.types):
                raise ValueError("a sample needs a value for each type")
            self.samples.append((stack, values[0], labels))
