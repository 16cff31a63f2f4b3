//! Who holds what, kept apart from the schedulers: a grant becomes an effect only after it stands here.
//!
//! Decides whether a grant is sound: its targets are in the inventory, up in the asking queue, with no newer up or
//! down than the scheduler knew of (I1), and nothing of them is held by another (I2). Does not decide who should get
//! what. Shares no code with planner, matcher and scheduler, so that a fault there shows here.
//!
//! Costs one visit of 16 bytes per whole target, for a grant and for a release.

use super::violation::{Invariant, Violation};
use crate::base::{Epoch, QueueId, TargetId, TargetSet};
use crate::matcher::{Extent, Part, Selection, Units};
use crate::planner::{PoolShare, PoolTable};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Nobody holds the target.
const FREE: u32 = u32::MAX;
/// Single cores and gpus are held; see [`Ledger::shared`].
const SHARED: u32 = u32::MAX - 1;
/// The target is up nowhere.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Cell {
    /// A holding, `FREE` or `SHARED`.
    holder: u32,
    /// The queue in which it is up, or `NOWHERE`.
    up_in: u32,
    /// Stamp of its newest up or down.
    epoch: Epoch,
}

/// A target that is held in parts.
#[derive(Clone, Debug)]
struct Shared {
    all_cores: Units,
    all_gpus: Units,
    cores: Units,
    gpus: Units,
    parts: SmallVec<[(u32, Part); 2]>,
}

impl Shared {
    fn of(size: Size) -> Self {
        let (all_cores, all_gpus) = (Units::first_n(size.cores), Units::first_n(size.gpus));
        Self { all_cores, all_gpus, cores: Units::new(), gpus: Units::new(), parts: SmallVec::new() }
    }
}

/// Whether all of `units` are in `all`.
fn within(units: &Units, all: &Units) -> bool {
    let mut beyond = units.clone();
    beyond.remove_all(all);
    beyond.is_empty()
}

/// Cores and gpus of a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Size {
    pub cores: u32,
    pub gpus: u32,
}

/// A shared pool.
#[derive(Clone, Copy, Debug, Default)]
struct PoolCell {
    size: u64,
    used: u64,
}

/// The ledger of one site.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    cells: Vec<Cell>,
    /// Where targets are in common, what is up in each queue; a target's cell then says nothing of it.
    common: Option<Vec<TargetSet>>,
    sizes: Vec<Size>,
    shared: Vec<Option<Box<Shared>>>,
    /// Holdings that could not be placed, beside whatever else is on the target. Empty but after a bad restart.
    beside: BTreeMap<TargetId, Vec<u32>>,
    /// By number.
    pools: Vec<PoolCell>,
    /// What holdings have of pools.
    takes: BTreeMap<u32, Vec<PoolShare>>,
    /// Targets whose release somebody waits for.
    watched: Vec<u64>,
    any_watched: bool,
    /// Set when a watched target was released to the last part.
    pub watched_release: bool,
}

impl Ledger {
    /// Makes room for a target, free and down.
    pub fn add(&mut self, target: TargetId, size: Size) {
        let bound = target.index() + 1;
        if self.cells.len() < bound {
            self.cells.resize(bound, Cell { holder: FREE, up_in: NOWHERE, epoch: Epoch(0) });
            self.sizes.resize(bound, Size::default());
            self.shared.resize(bound, None);
            self.watched.resize(bound.div_ceil(64), 0);
        }
        self.sizes[target.index()] = size;
    }

    /// Targets are in common from now on: several queues may have one up (no I1), and grants have no order among queues.
    pub fn set_common(&mut self) {
        self.common = Some(Vec::new());
    }

    /// Notes that targets take work in a queue.
    pub fn up(&mut self, targets: &TargetSet, queue: QueueId, epoch: Epoch) -> Result<(), Violation> {
        let mut fault = None;
        if let Some(common) = &mut self.common {
            common.resize(common.len().max(queue.index() + 1), TargetSet::new());
            common[queue.index()] |= targets;
            return Ok(());
        }
        for target in targets.iter() {
            let Some(cell) = self.cells.get_mut(target.index()) else {
                fault = Some(Violation::new(Invariant::I1, format!("target {target}, which is unknown, goes up")));
                continue;
            };
            if cell.up_in != NOWHERE && cell.up_in != queue.0 {
                let text = format!("target {target} goes up in queue id {queue} while up in queue id {}", cell.up_in);
                fault = Some(Violation::new(Invariant::I1, text));
            }
            (cell.up_in, cell.epoch) = (queue.0, epoch);
        }
        fault.map_or(Ok(()), Err)
    }

    /// Notes that targets take no new work in a queue. A down in a queue where they are not up changes the stamp only.
    pub fn down(&mut self, targets: &TargetSet, queue: QueueId, epoch: Epoch) {
        if let Some(common) = &mut self.common {
            common.iter_mut().skip(queue.index()).take(1).for_each(|up| *up -= targets);
            return;
        }
        for target in targets.iter() {
            if let Some(cell) = self.cells.get_mut(target.index()) {
                if cell.up_in == queue.0 {
                    cell.up_in = NOWHERE;
                }
                cell.epoch = epoch;
            }
        }
    }

    /// Sets the targets whose release is to be noticed.
    pub fn watch(&mut self, targets: &TargetSet) {
        self.watched.fill(0);
        self.any_watched = false;
        for target in targets.iter().filter(|t| t.index() < self.cells.len()) {
            self.watched[target.index() / 64] |= 1 << (target.0 % 64);
            self.any_watched = true;
        }
    }

    /// Enters a grant; nothing is entered when it is not sound.
    pub fn grant(&mut self, holding: u32, queue: QueueId, epoch: Epoch, what: &Selection) -> Result<(), Violation> {
        self.enter(holding, Some((queue, epoch)), what)
    }

    /// Enters what a job holds that was found running: who has the targets up does not matter.
    pub fn found(&mut self, holding: u32, what: &Selection) -> Result<(), Violation> {
        self.enter(holding, None, what)
    }

    /// Enters what a job holds that was found where it cannot be: nothing else is granted there until it is gone.
    pub fn quarantine(&mut self, holding: u32, targets: impl Iterator<Item = TargetId>) {
        targets.for_each(|t| self.beside.entry(t).or_default().push(holding));
    }

    /// Sets the sizes of the shared pools.
    pub fn set_pools(&mut self, table: &PoolTable) {
        self.pools.resize(table.len().max(self.pools.len()), PoolCell::default());
        for (id, spec) in table.iter() {
            self.pools[id.index()].size = spec.size;
        }
    }

    /// Enters what a holding has of pools, all or nothing.
    fn enter_pools(&mut self, holding: u32, shares: &[PoolShare]) -> Result<(), Violation> {
        let mut pools = self.pools.clone();
        for PoolShare { pool, amount } in shares {
            let text = match pools.get_mut(pool.index()) {
                None => format!("pool {pool} is granted, but not in the inventory"),
                Some(_) if *amount == 0 => format!("nothing of pool {pool} is granted"),
                Some(cell) if cell.size.saturating_sub(cell.used) < *amount => {
                    format!("{amount} of pool {pool} are granted, but of {} are {} in use", cell.size, cell.used)
                }
                Some(cell) => {
                    cell.used += *amount;
                    continue;
                }
            };
            return Err(Violation::new(Invariant::I2, text));
        }
        self.pools = pools;
        self.takes.insert(holding, shares.to_vec());
        Ok(())
    }

    /// Enters that a holding has nothing of pools any more.
    pub fn release_pools(&mut self, holding: u32) {
        for PoolShare { pool, amount } in self.takes.remove(&holding).into_iter().flatten() {
            self.pools[pool.index()].used -= amount;
        }
    }

    /// What is in use of each pool, by number.
    pub fn pools_used(&self) -> impl Iterator<Item = u64> + '_ {
        self.pools.iter().map(|cell| cell.used)
    }

    fn enter(&mut self, holding: u32, by: Option<(QueueId, Epoch)>, what: &Selection) -> Result<(), Violation> {
        self.enter_targets(holding, by, what)?;
        if what.pools.is_empty() {
            return Ok(());
        }
        let pools = self.enter_pools(holding, &what.pools);
        if pools.is_err() {
            for target in what.targets() {
                self.leave(holding, target);
            }
        }
        pools
    }

    fn enter_targets(&mut self, holding: u32, by: Option<(QueueId, Epoch)>, what: &Selection) -> Result<(), Violation> {
        if let Some(share) = what.shares.iter().find(|s| self.beside.contains_key(&s.target)) {
            return Err(self.explain(share.target, by, &share.extent, true));
        }
        let mut previous = None;
        for (n, share) in what.shares.iter().enumerate() {
            let target = share.target;
            let ordered = previous.is_none_or(|p| p < target);
            previous = Some(target);
            let up = by.is_none_or(|(queue, epoch)| self.takes(target, queue, epoch));
            let sound = match self.cells.get_mut(target.index()) {
                Some(cell) if ordered && up => match &share.extent {
                    Extent::Whole if cell.holder == FREE => {
                        cell.holder = holding;
                        true
                    }
                    Extent::Whole => false,
                    Extent::Part(part) => self.enter_part(holding, target, part),
                },
                Some(_) | None => false,
            };
            if !sound {
                let fault = self.explain(target, by, &share.extent, ordered);
                for entered in &what.shares[..n] {
                    self.leave(holding, entered.target);
                }
                return Err(fault);
            }
        }
        Ok(())
    }

    fn enter_part(&mut self, holding: u32, target: TargetId, part: &Part) -> bool {
        let cell = &mut self.cells[target.index()];
        let size = self.sizes[target.index()];
        if cell.holder != FREE && cell.holder != SHARED {
            return false;
        }
        let shared = self.shared[target.index()].get_or_insert_with(|| Box::new(Shared::of(size)));
        if !(within(&part.cores, &shared.all_cores) && within(&part.gpus, &shared.all_gpus))
            || (part.cores.is_empty() && part.gpus.is_empty())
            || !shared.cores.is_disjoint(&part.cores)
            || !shared.gpus.is_disjoint(&part.gpus)
        {
            return false;
        }
        shared.cores.add_all(&part.cores);
        shared.gpus.add_all(&part.gpus);
        shared.parts.push((holding, part.clone()));
        cell.holder = SHARED;
        true
    }

    fn explain(&self, target: TargetId, by: Option<(QueueId, Epoch)>, extent: &Extent, ordered: bool) -> Violation {
        let Some(cell) = self.cells.get(target.index()) else {
            return Violation::new(Invariant::I2, format!("target {target} is granted, but not in the inventory"));
        };
        if !ordered {
            return Violation::new(Invariant::I2, format!("target {target} stands out of order in a grant"));
        }
        if let Some((queue, epoch)) = by {
            if !self.is_up(target, queue) {
                let text = format!("target {target} is granted in queue id {queue}, where it is not up");
                return Violation::new(Invariant::I1, text);
            }
            if !self.takes(target, queue, epoch) {
                let text = format!("target {target} is granted with epoch {epoch}, but its newest is {}", cell.epoch);
                return Violation::new(Invariant::I1, text);
            }
        }
        let what = match extent {
            Extent::Whole => "whole",
            Extent::Part(_) => "in part",
        };
        let text = format!("target {target} is granted {what}, but is held already, or has not so much");
        Violation::new(Invariant::I2, text)
    }

    /// Enters a release of one target by a holding; false if the holding does not hold it.
    #[inline]
    pub fn release(&mut self, holding: u32, target: TargetId) -> bool {
        if !self.leave(holding, target) {
            return false;
        }
        if self.any_watched && !self.is_held(target) {
            let word = self.watched[target.index() / 64];
            self.watched_release |= word >> (target.0 % 64) & 1 == 1;
        }
        true
    }

    #[inline]
    fn leave(&mut self, holding: u32, target: TargetId) -> bool {
        let Some(cell) = self.cells.get_mut(target.index()) else { return false };
        if cell.holder == holding {
            cell.holder = FREE;
            return true;
        }
        if !self.beside.is_empty() && leave_beside(&mut self.beside, holding, target) {
            return true;
        }
        if cell.holder != SHARED {
            return false;
        }
        let Some(shared) = self.shared[target.index()].as_deref_mut() else { return false };
        let Some(at) = shared.parts.iter().position(|(h, _)| *h == holding) else { return false };
        let (_, part) = shared.parts.swap_remove(at);
        shared.cores.remove_all(&part.cores);
        shared.gpus.remove_all(&part.gpus);
        if shared.parts.is_empty() {
            cell.holder = FREE;
        }
        true
    }

    /// Whether anything of the target is held.
    #[inline]
    pub fn is_held(&self, target: TargetId) -> bool {
        self.cells.get(target.index()).is_some_and(|c| c.holder != FREE)
            || !self.beside.is_empty() && self.beside.contains_key(&target)
    }

    /// The holdings on a target, ascending.
    pub fn holders(&self, target: TargetId) -> SmallVec<[u32; 4]> {
        let mut holders: SmallVec<[u32; 4]> = match self.cells.get(target.index()).map(|c| c.holder) {
            None | Some(FREE) => SmallVec::new(),
            Some(SHARED) => self.shared[target.index()].iter().flat_map(|s| s.parts.iter().map(|(h, _)| *h)).collect(),
            Some(holding) => SmallVec::from_slice(&[holding]),
        };
        holders.extend(self.beside.get(&target).into_iter().flatten().copied());
        holders.sort_unstable();
        holders
    }

    /// Whether a target is up in a queue.
    pub fn is_up(&self, target: TargetId, queue: QueueId) -> bool {
        match &self.common {
            Some(common) => common.get(queue.index()).is_some_and(|up| up.contains(target)),
            None => self.up_in(target) == Some(queue),
        }
    }

    /// Whether a grant of a target in a queue, as of the up or down that its scheduler knew last, is not outdated.
    fn takes(&self, target: TargetId, queue: QueueId, epoch: Epoch) -> bool {
        let current = |cell: &Cell| cell.up_in == queue.0 && cell.epoch <= epoch;
        match &self.common {
            Some(_) => self.is_up(target, queue),
            None => self.cells.get(target.index()).is_some_and(current),
        }
    }

    /// The queue in which a target is up; unknown where targets are in common.
    pub fn up_in(&self, target: TargetId) -> Option<QueueId> {
        self.cells.get(target.index()).and_then(|c| (c.up_in != NOWHERE).then_some(QueueId(c.up_in)))
    }

    /// One past the largest target.
    pub fn bound(&self) -> u32 {
        self.cells.len() as u32
    }
}

/// Takes a holding out from beside a target; false if it was not there.
fn leave_beside(beside: &mut BTreeMap<TargetId, Vec<u32>>, holding: u32, target: TargetId) -> bool {
    let Some(list) = beside.get_mut(&target) else { return false };
    let before = list.len();
    list.retain(|h| *h != holding);
    let left = list.len() < before;
    if list.is_empty() {
        beside.remove(&target);
    }
    left
}
