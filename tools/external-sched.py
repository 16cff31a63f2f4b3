#!/usr/bin/env python3
"""A scheduler in a process of its own: the reference for docs/external-scheduler.md.

Reads one JSON message a line, answers likewise. Policies: fcfs (nothing overtakes) and easy (what is behind the first job
that waits may start if it does not delay that). Gives whole targets, or cores and gpus by number. Times are microseconds.
"""
import argparse
import json
import sys

NEVER = 1 << 62


def ids(text):
    """The numbers of an idset: "0-3,7"."""
    out = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        out.update(range(int(first), int(last or first) + 1))
    return out


def text(numbers):
    return ",".join(str(n) for n in sorted(numbers))


class Scheduler:
    def __init__(self, policy):
        self.policy, self.epoch, self.now = policy, 0, 0
        self.sizes, self.members, self.up = {}, set(), set()
        self.free = {}      # target: (free cores, free gpus), as sets
        self.waiting = {}   # job: what was told of it
        self.running = {}   # job: {"end": when at most, "shares": {target: (cores, gpus)}}
        self.planned = {}

    def tell(self, message):
        kind = message.pop("type")
        getattr(self, kind.replace("-", "_"))(**message)

    def say(self, kind, **more):
        sys.stdout.write(json.dumps({"type": kind, **more}) + "\n")

    def acquire(self, targets, members, up, epoch, **_):
        self.sizes = {t["id"]: (set(range(t["cores"])), set(range(t["gpus"]))) for t in targets}
        self.free = {t: (set(c), set(g)) for t, (c, g) in self.sizes.items()}
        self.members, self.up, self.epoch = ids(members), ids(up), epoch

    def running_(self, job, shares, freed, started, limit=None, **_):
        held = {s["target"]: (ids(s.get("cores", "")), ids(s.get("gpus", ""))) if "cores" in s or "gpus" in s
                else self.sizes[s["target"]] for s in shares}
        self.hold(job, {t: h for t, h in held.items() if t not in ids(freed)}, started, limit)

    def hold(self, job, held, started, limit):
        for target, (cores, gpus) in held.items():
            self.free[target][0].difference_update(cores)
            self.free[target][1].difference_update(gpus)
        self.running[job] = {"started": started, "end": NEVER if limit is None else started + limit, "shares": held}

    def release(self, job, targets):
        for target in targets:
            cores, gpus = self.running[job]["shares"].pop(target, ((), ()))
            self.free[target][0].update(cores)
            self.free[target][1].update(gpus)

    def ready(self):
        self.say("ready")

    def up_(self, targets, epoch):
        self.up, self.epoch = self.up | ids(targets), epoch

    def down(self, targets, epoch):
        self.up, self.epoch = self.up - ids(targets), epoch
        self.say("down-ack", targets=targets, epoch=epoch)

    def members_(self, targets):
        self.members = ids(targets)

    def windows(self, windows):
        pass  # Known and not heeded: what leaves waits for what runs.

    def alloc(self, job, **more):
        self.waiting[job] = more

    def cancel(self, job):
        self.waiting.pop(job, None)
        self.planned.pop(job, None)

    def free_(self, job, targets, last):
        if job in self.running:
            self.release(job, ids(targets))
            if last:
                self.running.pop(job)

    def refused(self, job, reason):
        if job in self.running:
            self.release(job, list(self.running[job]["shares"]))
            self.running.pop(job)

    def prioritize(self, jobs):
        for job, priority in jobs:
            if job in self.waiting:
                self.waiting[job]["priority"] = priority

    def limit(self, job, limit=None):
        if job in self.waiting:
            self.waiting[job]["limit"] = limit
        if job in self.running:
            run = self.running[job]
            run["end"] = NEVER if limit is None else run["started"] + limit

    def place(self, request, free, used):
        """What to give of `free`; None if it is too little. `used`: targets that something runs on."""
        on = ids(request["on"]) if "on" in request else self.members
        cores, gpus, least = request["cores"], request["gpus"], request["least"]
        most, given, count = request.get("most", 1 << 60), {}, 0
        for target in sorted(t for t in free if t in on and t in self.members):
            if count >= most:
                break
            has = tuple(sorted(numbers) for numbers in free[target])
            if request["shape"] == "whole":
                whole = self.sizes[target]
                if target not in used and len(whole[0]) >= cores and len(whole[1]) >= gpus:
                    given[target], count = whole, count + 1
                continue
            fit = min(len(has[0]) // cores if cores else 1 << 30, len(has[1]) // gpus if gpus else 1 << 30)
            take = min(fit, most - count) if request["shape"] == "slots" else request["slots"] * (fit >= request["slots"])
            if take:
                given[target] = (set(has[0][:take * cores]), set(has[1][:take * gpus]))
                count += take if request["shape"] == "slots" else 1
        return given if count >= least else None

    def later(self, request):
        """When the job can start by the limits of what runs, and what is free then."""
        free = {t: (set(c), set(g)) for t, (c, g) in self.free.items() if t in self.up}
        used = {t for run in self.running.values() for t in run["shares"]}
        # What is past its limit is expected to need another minute.
        ends = {j: run["end"] if run["end"] > self.now else self.now + 60_000_000 for j, run in self.running.items()}
        for job, run in sorted(self.running.items(), key=lambda item: ends[item[0]]):
            if ends[job] >= NEVER:
                break
            for target, (cores, gpus) in run["shares"].items():
                if target in self.up:
                    free[target][0].update(cores)
                    free[target][1].update(gpus)
            used = {t for o, other in self.running.items() if ends[o] > ends[job] for t in other["shares"]}
            place = self.place(request, free, used)
            if place is not None:
                return ends[job], place
        return None, {}

    def pass_(self, now):
        self.now, start, head, wakeup = now, None, {}, None
        order = sorted(self.waiting.items(), key=lambda item: (-item[1]["priority"], item[1]["submitted"], item[0]))
        blocked = False
        for job, told in order:
            free = {t: f for t, f in self.free.items() if t in self.up}
            used = {t for run in self.running.values() for t in run["shares"]}
            limit = told.get("limit")
            if blocked and (limit is None or start is None or now + limit > start):
                # It would run past the start of the first that waits: only beside what that takes.
                free = {t: f for t, f in free.items() if t not in head}
            place = self.place(told["request"], free, used)
            if place is not None:
                self.cancel(job)
                self.hold(job, place, now, limit)
                shares = [{"target": t} if told["request"]["shape"] == "whole" else
                          {"target": t, "cores": text(c), "gpus": text(g)} for t, (c, g) in sorted(place.items())]
                self.say("alloc", job=job, shares=shares, epoch=self.epoch)
            elif not blocked:
                if self.policy == "fcfs":
                    break
                start, head = self.later(told["request"])
                # Nothing that runs makes room for it: it is in nobody's way.
                blocked = start is not None
                if blocked and self.planned.get(job) != start:
                    self.planned = {job: start}
                    self.say("planned", job=job, at=start)
        self.say("done", **({} if start is None else {"wakeup": start}))

    def end(self):
        sys.exit(0)


NAMES = {"running": "running_", "up": "up_", "members": "members_", "free": "free_", "pass": "pass_"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policy", choices=["fcfs", "easy"], default="easy")
    scheduler = Scheduler(parser.parse_args().policy)
    for line in sys.stdin:
        message = json.loads(line)
        message["type"] = NAMES.get(message["type"], message["type"])
        scheduler.tell(message)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
