//! Ownership windows: what planned switches, groups and loans will do to a queue's targets in the next thirty days.
//!
//! The claims are played forward, event by event, on classes of targets that have the same members and the same loan;
//! so the cost grows with events times classes, not with targets. Both sides get windows: the queue that will lose a
//! target is bounded by its own horizon, the queue that will get it has a window that begins then.
//!
//! Decides nothing about what is not planned: a window says what will be desired, not when the last job lets go. A
//! planned group start and a group that still waits behind another have no time yet, and are left out.

use super::claims::{Rank, rank};
use super::policy::{Horizon, Overlap};
use super::state::{Claim, Coordinator, Queue};
use super::types::{GroupPhase, Loan, Plan, TakeStamp};
use crate::base::{Duration, GroupId, QueueId, TargetSet, Timeline, Timestamp, Window, Windows};
use std::collections::BTreeMap;

/// How far windows look ahead.
pub const LOOK_AHEAD: Duration = Duration::from_secs(30 * 24 * 3600);

/// The claims at some time in the future.
type Claims = BTreeMap<QueueId, Wish>;

/// A claim at some time in the future.
#[derive(Clone, Copy)]
struct Wish {
    take: Option<TakeStamp>,
    /// Whether it takes targets in waves, so that nobody knows when each leaves its owner.
    waves: bool,
    /// Whether the queue schedules, so that waves leave it what they have not taken.
    started: bool,
}

/// From `at` on a claim situation holds. Its beginning is strict when it is a group's.
struct Epoch {
    at: Timestamp,
    strict: bool,
    order: Vec<QueueId>,
    claims: Claims,
}

/// Targets with the same members, the same loan, and the same owner that uses them until a later wave.
struct Class {
    targets: TargetSet,
    members: Vec<QueueId>,
    loan: Option<Loan>,
    user: Option<QueueId>,
}

/// A stretch of time in which one queue is wanted.
#[derive(Clone, Copy)]
struct Stretch {
    owner: Option<QueueId>,
    from: Timestamp,
    /// Whether jobs may not cross the beginning, whatever the horizon of the queue before.
    strict: bool,
}

/// Windows as the key under which targets are gathered.
type Shape = Vec<(Timestamp, Timestamp)>;

impl Coordinator {
    /// The windows of a queue as of `now`. Targets that it owns and keeps stand in no timeline; those that it will
    /// lose, get, or get back do. On an arriving target the window begins when its last holder should be gone; while
    /// that is not known, there is none.
    pub fn windows(&self, now: Timestamp, queue: QueueId) -> Windows {
        self.windows_in(&self.outlook(now), now, queue)
    }

    /// The windows of all queues, tombstones left out: as [`windows`](Self::windows), at little more than the cost of
    /// one.
    pub fn all_windows(&self, now: Timestamp) -> BTreeMap<QueueId, Windows> {
        let outlook = self.outlook(now);
        self.queues().map(|queue| (queue, self.windows_in(&outlook, now, queue))).collect()
    }

    fn outlook(&self, now: Timestamp) -> Vec<(TargetSet, Vec<Stretch>)> {
        let future = self.future(now);
        let play = |class: Class| {
            let stretches = self.stretches(now, &class, &future);
            (class.targets, stretches)
        };
        self.classes().into_iter().map(play).collect()
    }

    fn windows_in(&self, outlook: &[(TargetSet, Vec<Stretch>)], now: Timestamp, queue: QueueId) -> Windows {
        let Some(known) = self.queues.get(&queue) else { return Windows::default() };
        let horizon = known.spec.horizon;
        let mut shapes: BTreeMap<Shape, TargetSet> = BTreeMap::new();
        for (targets, stretches) in outlook {
            if !targets.is_disjoint(&known.owned) {
                let shape = shape(stretches, queue, horizon, Some(Timestamp::MIN));
                if shape != [(Timestamp::MIN, Timestamp::NEVER)] {
                    *shapes.entry(shape).or_default() |= &(targets & &known.owned);
                }
            }
            // Without a stretch of its own nothing arrives.
            if stretches.iter().all(|s| s.owner != Some(queue)) {
                continue;
            }
            for (begin, targets) in self.arrival_times(now, queue, &(targets - &known.owned)) {
                let shape = shape(stretches, queue, horizon, begin);
                if !shape.is_empty() {
                    *shapes.entry(shape).or_default() |= &targets;
                }
            }
        }
        let window = |(from, until): (Timestamp, Timestamp)| Window { from, until };
        let timeline = |(shape, targets): (Shape, TargetSet)| Timeline {
            targets,
            windows: shape.into_iter().map(window).collect(),
        };
        let mut timelines: Vec<_> = shapes.into_iter().map(timeline).collect();
        timelines.sort_by_key(|t| t.targets.first());
        Windows { timelines }
    }

    /// Splits targets that a queue does not own by when they should arrive if the queue is wanted for them now.
    fn arrival_times(
        &self,
        now: Timestamp,
        queue: QueueId,
        targets: &TargetSet,
    ) -> Vec<(Option<Timestamp>, TargetSet)> {
        let committed = self.groups.values().find(|g| g.queue == queue && g.phase == GroupPhase::Committed);
        let known = |eta: Timestamp| Some(eta).filter(|t| *t > now && !t.is_never());
        if let Some(group) = committed {
            // All at once: with the last.
            let leaving = &group.targets & &self.leaving;
            let last = self.arrivals.iter().rev().find(|(_, set)| !set.is_disjoint(&leaving)).map(|(eta, _)| *eta);
            return vec![(last.and_then(known), targets.clone())];
        }
        let mut rest = targets.clone();
        let mut split = Vec::new();
        for (eta, set) in self.arrivals.iter().filter(|_| !targets.is_disjoint(&self.leaving)) {
            let part = &(&rest & set) & &self.leaving;
            if !part.is_empty() {
                rest -= &part;
                split.push((known(*eta), part));
            }
        }
        split.push((None, rest));
        split.retain(|(_, part)| !part.is_empty());
        split
    }

    /// Members alike, loans alike, users alike.
    fn classes(&self) -> Vec<Class> {
        let mut classes = vec![Class { targets: self.desirable(), members: Vec::new(), loan: None, user: None }];
        for (id, queue) in self.queues.iter().filter(|(_, q)| !q.removed) {
            let mut split = Vec::with_capacity(classes.len() + 1);
            for mut class in classes {
                if class.targets.is_disjoint(&queue.spec.members) {
                    split.push(class);
                    continue;
                }
                let inside = &class.targets & &queue.spec.members;
                class.targets -= &inside;
                let mut members = class.members.clone();
                members.push(*id);
                split.push(Class { targets: inside, members, loan: None, user: None });
                split.push(class);
            }
            split.retain(|class| !class.targets.is_empty());
            classes = split;
        }
        let mut lent: BTreeMap<(QueueId, QueueId, Timestamp), TargetSet> = BTreeMap::new();
        for (target, l) in &self.loans {
            lent.entry((l.lender, l.borrower, l.until)).or_default().insert(*target);
        }
        for ((lender, borrower, until), targets) in lent {
            let loan = Some(Loan { lender, borrower, until });
            cut(&mut classes, &targets, |class| class.loan = loan);
        }
        for (user, targets) in self.queues.keys().flat_map(|id| self.waiting(*id)) {
            cut(&mut classes, &targets, |class| class.user = Some(user));
        }
        classes
    }

    /// The claims from now on, as planned switches and gathering groups will change them.
    fn future(&self, now: Timestamp) -> Vec<Epoch> {
        let mut claims: Claims =
            self.queues.iter().filter_map(|(id, q)| q.claim.map(|c| (*id, Wish::of(q, c)))).collect();
        let first = Epoch { at: now, strict: false, order: self.order_of(&claims), claims: claims.clone() };
        let mut epochs = vec![first];
        let mut events: Vec<(Timestamp, Event<'_>)> = Vec::new();
        for (id, plan) in self.plans.iter().filter(|(_, p)| p.at <= now + LOOK_AHEAD) {
            events.push((plan.at.max(now), Event::Switch(id.0, plan)));
        }
        for (id, group) in &self.groups {
            if let GroupPhase::Gathering { expected } = group.phase {
                events.push((expected.max(now), Event::Group(*id, group.queue, group.take)));
            }
        }
        events.sort_by_key(|(at, event)| (*at, event.place()));
        let mut waiting: Vec<QueueId> = self.groups.values().map(|g| g.queue).collect();
        let mut sequence = self.takes;
        for (at, event) in events {
            let strict = match event {
                Event::Switch(_, plan) => {
                    self.play(plan, &mut claims, &mut waiting, &mut sequence);
                    false
                }
                Event::Group(_, queue, take) if waiting.contains(&queue) => {
                    claims.insert(queue, Wish { take, waves: false, started: true });
                    true
                }
                Event::Group(..) => continue,
            };
            let order = self.order_of(&claims);
            match epochs.last_mut().filter(|last| last.at == at) {
                Some(last) => {
                    last.strict |= strict;
                    last.order = order;
                    last.claims = claims.clone();
                }
                None => epochs.push(Epoch { at, strict, order, claims: claims.clone() }),
            }
        }
        epochs
    }

    /// A planned switch as it will be done; nothing happens if it will be refused.
    fn play(&self, plan: &Plan, claims: &mut Claims, waiting: &mut Vec<QueueId>, sequence: &mut u64) {
        let (mut next, mut groups, mut takes) = (claims.clone(), waiting.clone(), *sequence);
        for queue in &plan.request.release {
            if self.live(*queue).is_none() {
                return;
            }
            next.remove(queue);
            groups.retain(|q| q != queue);
        }
        for (id, options) in &plan.request.start {
            let Some(queue) = self.live(*id) else { return };
            if next.contains_key(id) || options.group.is_some() {
                continue;
            }
            let takes_over = options.take || queue.spec.overlap == Overlap::Take;
            let refuses = |other: &QueueId| {
                let shares = |q: &Queue| {
                    q.spec.precedence == queue.spec.precedence
                        && !(&q.spec.members & &queue.spec.members).is_disjoint(&self.desirable())
                };
                self.live(*other).is_some_and(shares)
            };
            if !takes_over && !plan.level && next.keys().any(refuses) {
                return;
            }
            groups.retain(|q| q != id);
            let take = takes_over.then_some(TakeStamp { at: plan.at, sequence: takes });
            next.insert(*id, Wish { take, waves: options.max_leaving.is_some(), started: true });
            takes += u64::from(takes_over);
        }
        (*claims, *waiting, *sequence) = (next, groups, takes);
    }

    fn order_of(&self, claims: &Claims) -> Vec<QueueId> {
        let place = |(id, wish): (&QueueId, &Wish)| self.live(*id).map(|q| rank(*id, q, wish.take));
        let mut order: Vec<Rank<'_>> = claims.iter().filter_map(place).collect();
        order.sort_unstable();
        order.into_iter().map(|r| r.3).collect()
    }

    /// Who is wanted for a class, and when that changes.
    fn stretches(&self, now: Timestamp, class: &Class, future: &[Epoch]) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut push = |stretch: Stretch| {
            if stretches.last().is_none_or(|last| last.owner != stretch.owner) {
                stretches.push(stretch);
            }
        };
        let mut loan = class.loan.filter(|l| l.until > now);
        let mut owner = class.user;
        for epoch in future {
            owner = epoch.owner(class, owner);
            let mut strict = epoch.strict;
            if let Some(live) = loan.filter(|l| l.until <= epoch.at) {
                loan = None;
                strict |= live.until == epoch.at;
                if live.until < epoch.at {
                    push(Stretch { owner: Some(live.lender), from: live.until, strict: true });
                }
            }
            if let Some(live) = loan {
                if owner == Some(live.lender) && epoch.order.contains(&live.borrower) {
                    push(Stretch { owner: Some(live.borrower), from: epoch.at, strict });
                    continue;
                }
                loan = None;
                strict = true;
            }
            push(Stretch { owner, from: epoch.at, strict });
        }
        if let Some(live) = loan {
            push(Stretch { owner: Some(live.lender), from: live.until, strict: true });
        }
        stretches
    }
}

impl Wish {
    fn of(queue: &Queue, claim: Claim) -> Self {
        Wish { take: claim.take, waves: claim.max_leaving.is_some(), started: queue.started }
    }
}

impl Epoch {
    /// Who is wanted for a class that `before` had until now. Waves have no times: who has it goes on using it.
    fn owner(&self, class: &Class, before: Option<QueueId>) -> Option<QueueId> {
        let first = self.order.iter().find(|q| class.members.contains(q)).copied();
        let waves = first.is_some_and(|first| self.claims.get(&first).is_some_and(|wish| wish.waves));
        let uses =
            |user: &QueueId| class.members.contains(user) && self.claims.get(user).is_some_and(|wish| wish.started);
        before.filter(|user| waves && uses(user)).or(first)
    }
}

/// Cuts the targets out of each class, as classes of their own that differ by `change`.
fn cut(classes: &mut Vec<Class>, targets: &TargetSet, change: impl Fn(&mut Class)) {
    let split = |class: &mut Class| {
        let inside = &class.targets & targets;
        class.targets -= &inside;
        let mut part = Class { targets: inside, members: class.members.clone(), loan: class.loan, user: class.user };
        change(&mut part);
        part
    };
    let mut parts: Vec<_> = classes.iter_mut().map(split).collect();
    classes.append(&mut parts);
    classes.retain(|class| !class.targets.is_empty());
}

enum Event<'a> {
    Switch(u32, &'a Plan),
    Group(GroupId, QueueId, Option<TakeStamp>),
}

impl Event<'_> {
    /// Switches before groups, as in a step.
    fn place(&self) -> (u8, u32) {
        match self {
            Event::Switch(id, _) => (0, *id),
            Event::Group(id, ..) => (1, id.0),
        }
    }
}

/// The windows of `queue` in a class; the first, if the queue is wanted now, begins at `begin`, or is left out.
fn shape(stretches: &[Stretch], queue: QueueId, horizon: Horizon, begin: Option<Timestamp>) -> Shape {
    let mut shape = Shape::new();
    for (index, stretch) in stretches.iter().enumerate().filter(|(_, s)| s.owner == Some(queue)) {
        let from = match index {
            0 => begin,
            // Without a look at planned switches only groups and loans bring something.
            _ => Some(stretch.from).filter(|_| horizon != Horizon::Off || stretch.strict),
        };
        let end = stretches.get(index + 1);
        let until = match (end, horizon) {
            (None, _) => Timestamp::NEVER,
            (Some(end), Horizon::Strict) => end.from,
            (Some(end), Horizon::Soft | Horizon::Off) if end.strict => end.from,
            (Some(_), Horizon::Soft | Horizon::Off) => Timestamp::NEVER,
        };
        if let Some(from) = from.filter(|from| *from < until) {
            shape.push((from, until));
            if until.is_never() {
                break;
            }
        }
    }
    shape
}
