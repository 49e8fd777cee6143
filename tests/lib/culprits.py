"""Checks that the text of a finding blames no thread, cgroup or place that has less than half of a part in the JSON of
the same finding, unless the text says the share."""
import re

THREAD = re.compile(r"(?:[^,;\[\]]*)\[(?P<tid>\d+)\]$")
# "behind a[1] 3.50ms, b[2] 20.4us, unknown 4.34ms": the words up to the end of the list.
LIST = re.compile(r"\b(?P<word>behind|by) (?P<list>[^;]*?)(?=, called from|; |$)")
TIME = re.compile(r" (?P<number>\d[\d,.]*)(?P<unit>ns|us|ms|s|m|h)$")
PART = re.compile(r"^  (?P<part>blocked|run queue|preempted|throttled) +(?P<time>\S+)  ?(?P<why>.*)$")
STEP = re.compile(r"^ +└ (?:of the longest: )?.*?\[(?P<tid>\d+)\] held it up: (?P<said>.*)$")
NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}


def time_ns(text):
    """A time of the text, as 3.50ms; three digits are exact."""
    found = TIME.search(" " + text)
    return float(found["number"].replace(",", "")) * NS[found["unit"]]


def is_preempted(wait):
    return wait["state"] == "preempted"


def blocked_ns(wait):
    could_run = wait["state"] in ("preempted", "throttled", "unknown")
    return 0 if could_run else wait["ns"] - wait["runqueue_ns"] - wait["throttled_ns"]


def share_ns(sharers, tid):
    """The time for which a thread had the CPU while another one, in each of `sharers`, could run."""
    return sum(one["ns"] for sharer in sharers for one in sharer.get("ran", []) if one["tid"] == tid)


def unshared(said):
    """The threads that a list blames without a time."""
    for one in said.split(", "):
        named = THREAD.match(one)
        if named:
            yield int(named["tid"])


def shared(said):
    """The threads that a list blames with a time: (tid, ns)."""
    for one in said.split(", "):
        time = TIME.search(one)
        named = time and THREAD.match(one[:time.start()])
        if named:
            yield int(named["tid"]), time_ns(one)


class Blame:
    """What the text says of one finding, compared with the finding's JSON; `wrong` has the contradictions, `checked`
    counts the culprits without a share, `shares` the others."""

    def __init__(self, lines, finding):
        self.finding, self.wrong, self.checked, self.shares = finding, [], 0, 0
        for line in lines:
            part, step = PART.match(line), STEP.match(line)
            if part:
                self.check_part(part["part"], time_ns(part["time"]), part["why"], line)
            elif step:
                self.check_step(int(step["tid"]), step["said"], line)

    def expect(self, share, whole_ns, line):
        self.checked += 1
        if share < whole_ns / 2:
            self.wrong.append(f"{share} of {whole_ns} ns in #{self.finding['number']}: {line}")

    def expect_time(self, share, said_ns, line):
        """The text has three digits."""
        self.shares += 1
        if abs(share - said_ns) > said_ns / 100 + 1:
            self.wrong.append(f"{share} ns instead of {said_ns} in #{self.finding['number']}: {line}")

    def check_part(self, part, part_ns, why, line):
        waits = self.finding["waits"]
        if part == "blocked":
            self.check_waker(part_ns, why, line)
        elif part == "throttled":
            self.check_limit(part_ns, why, line)
        else:
            preempted = part == "preempted"
            sharers = [wait for wait in waits if is_preempted(wait) == preempted]
            for one in LIST.finditer(why):
                for tid in unshared(one["list"]):
                    self.expect(share_ns(sharers, tid), part_ns, line)
                for tid, said_ns in shared(one["list"]):
                    self.expect_time(share_ns(sharers, tid), said_ns, line)

    def check_waker(self, part_ns, why, line):
        woken = re.search(r"(?P<of>the longest was )?woken by [^\[]*\[(?P<tid>\d+)\]", why)
        if woken and not woken["of"]:
            by = [wait for wait in self.finding["waits"] if wait.get("waker", {}).get("tid") == int(woken["tid"])]
            self.expect(max(map(blocked_ns, by), default=0), part_ns, line)

    def check_limit(self, part_ns, why, line):
        for cgroup in re.findall(r"by cgroup (\S+) \([^)]*\)(?! \d)", why):
            of_it = [wait["throttled_ns"] for wait in self.finding["waits"]
                     if wait.get("throttled_by", {}).get("cgroup") == cgroup]
            self.expect(sum(of_it), part_ns, line)

    def check_step(self, tid, said, line):
        """Each activity of a step has its time: "waited 28.8ms in x, 3.73ms of that in the run queue behind y[1]; was
        preempted for 9.8ms, by z[2]"."""
        links = [link for link in self.finding["chain"] if link.get("tid") == tid]
        for activity in said.split(", called from ")[0].split("; "):
            if " in the run queue behind " in activity:
                self.check_shares(links, activity, "runqueue_ns", line)
            elif activity.startswith("was preempted for "):
                self.check_preempted(links, activity, line)
            elif activity.startswith("waited "):
                self.check_place(links, activity, line)

    def check_shares(self, links, activity, key, line):
        for one in LIST.finditer(activity):
            for tid in unshared(one["list"]):
                ratios = [(share_ns([link], tid), link.get(key, 0)) for link in links]
                self.expect(*max(ratios, key=lambda pair: pair[0] / (pair[1] or 1)), line)

    def check_preempted(self, links, activity, line):
        whole_ns = time_ns(re.match(r"was preempted for ([^\s,]+)", activity)[1])
        for one in LIST.finditer(activity):
            for tid in unshared(one["list"]):
                shares = [share_ns(filter(is_preempted, link.get("places", [])), tid) for link in links]
                self.expect(max(shares, default=0), whole_ns, line)

    def check_place(self, links, activity, line):
        """The place that a wait names has half of the wait, unless its own time is said."""
        place = re.match(r"waited (?P<time>[^\s,]+)(?:, [\d,]+ times,)? in (?P<path>[^,;]+)", activity)
        if not place:
            return
        inner = place["path"].split(" → ")[-1]
        waits = [one["ns"] for link in links for one in link.get("places", [])
                 if inner in [frame["name"] for frame in one["kernel_stack"]]]
        self.expect(max(waits, default=0), time_ns(place["time"]), line)


def compare(text, findings):
    """(Contradictions, culprits compared, shares compared) of a text report and the findings of the same run."""
    by_number = {finding["number"]: finding for finding in findings}
    wrong, checked, shares = [], 0, 0
    for block in re.split(r"(?m)^(?=#\d+ )", text)[1:]:
        lines = block.split("\n\n")[0].splitlines()
        blame = Blame(lines, by_number[int(re.match(r"#(\d+)", block)[1])])
        wrong += blame.wrong
        checked += blame.checked
        shares += blame.shares
    return wrong, checked, shares
