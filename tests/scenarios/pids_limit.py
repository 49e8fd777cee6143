"""A service starts a program for each job, in a cgroup that may have no more processes."""
import os

from scenario import Truth

GROUP = "loops"
SYMPTOM = "jobs of a service do not start, and its log says `Resource temporarily unavailable`"
READING = """\
`vfork` fails with EAGAIN, which has several reasons; here the cgroup of the service has as many
processes and threads as it may have. Raise its `pids.max` (`TasksMax` of systemd), or look for the
processes that should have ended."""
TRUTH = Truth(cause=r"fork failed .*EAGAIN.*; cgroup /odt-pids-\d+ has 7 of 7 processes", who="jobs", kinds=("retry",))

PROGRAM = '''
import os, subprocess
name("jobs")
own = os.open(sys.argv[1], os.O_WRONLY)
os.write(own, b"0")
idle = [subprocess.Popen(["sleep", "1000"]) for _ in range(6)]
say("ready")
while True:
    begin = now()
    try:
        subprocess.run(["true"])
    except BlockingIOError:
        time.sleep(0.05)
    say("wait", begin, now() - begin)
'''


def start(stage):
    root = "/sys/fs/cgroup/pids" if os.path.exists("/sys/fs/cgroup/pids") else "/sys/fs/cgroup"
    return ["-p", stage.python(PROGRAM, stage.cgroup(root, "odt-pids", "pids.max", "7")).pid]
