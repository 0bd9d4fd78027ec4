"""How much of the machine others take: a measurement beside a build measures the build too."""

import contextlib
import os
import resource


def busy_s():
    """Seconds of all cores that somebody used, or the machine below took away."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own_s():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Watch:
    """share: seconds of cores that others took in each second."""

    def __init__(self):
        self.share = 0.0


@contextlib.contextmanager
def watched():
    watch = Watch()
    begin = os.times().elapsed
    busy, own = busy_s(), own_s()
    yield watch
    seconds = max(os.times().elapsed - begin, 1e-3)
    watch.share = max(0.0, (busy_s() - busy) - (own_s() - own)) / seconds
