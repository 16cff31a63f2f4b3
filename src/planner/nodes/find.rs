//! Which nodes suit an ask, now and at the earliest later time.

use super::{Ask, Cores, MAX_CORES, NodeTimes, Nodes, Positions, Taken};

impl NodeTimes {
    /// The nodes that come first of those that suit an ask from now on; none if there are not enough.
    pub fn find_now(&self, ask: &Ask<'_>) -> Option<Nodes> {
        let until = self.now.saturating_add(ask.length);
        if ask.cores.is_none() && ask.nodes as usize > self.idle {
            return None;
        }
        let mut found = Nodes::with_capacity(if ask.cores.is_none() { ask.nodes as usize } else { 0 });
        match (ask.within, ask.cores) {
            (None, None) => {
                let mut next = 0;
                while found.len() < ask.nodes as usize {
                    let node = self.free_until.first(next, until)?;
                    found.push_whole(node as u32);
                    next = node + 1;
                }
            }
            (None, Some(cores)) => {
                let mut next = 0;
                while found.len() < ask.nodes as usize {
                    let node = self.room.first(next, cores.max(1) as u16)?;
                    if let Some(taken) = self.part(node as u32, cores, until) {
                        found.push(taken);
                    }
                    next = node + 1;
                }
            }
            (Some(within), None) => {
                let mut next = 0;
                while found.len() < ask.nodes as usize {
                    let node = self.free_until.first_in(within, next, until)?;
                    found.push_whole(node);
                    next = node + 1;
                }
            }
            (Some(within), Some(cores)) => {
                let mut next = 0;
                while found.len() < ask.nodes as usize {
                    let node = self.room.first_in(within, next, cores.max(1) as u16)?;
                    if let Some(taken) = self.part(node, cores, until) {
                        found.push(taken);
                    }
                    next = node + 1;
                }
            }
        }
        (found.len() == ask.nodes as usize).then_some(found)
    }

    /// The first nodes that together have so many slots of `cores` cores free from now on for a while, as many on each
    /// as fit there; none if there are not enough.
    pub fn find_slots(&self, slots: u32, cores: u32, within: Option<&Positions>, length: i64) -> Option<Nodes> {
        let until = self.now.saturating_add(length);
        let least = u16::try_from(cores.max(1)).ok()?;
        let (mut found, mut left, mut next) = (Nodes::default(), slots, 0);
        while left > 0 {
            let node = match within {
                None => self.room.first(next as usize, least)? as u32,
                Some(within) => self.room.first_in(within, next, least)?,
            };
            if let Some(free) = self.free_cores(node, until) {
                let here = left.min(free.len() as u32 / u32::from(least));
                if here > 0 {
                    found.push(Taken { node, cores: Some(free.lowest((here * u32::from(least)) as usize)) });
                    left -= here;
                }
            }
            next = node + 1;
        }
        Some(found)
    }

    /// The first so many cores of a node that are free from now on.
    fn part(&self, node: u32, cores: u32, until: i64) -> Option<Taken> {
        let free = self.free_cores(node, until)?.lowest(cores as usize);
        (free.len() == cores as usize).then_some(Taken { node, cores: Some(free) })
    }

    /// The cores of a node that are free from now on; none if somebody has all of the node.
    fn free_cores(&self, node: u32, until: i64) -> Option<Cores> {
        let present = &self.present[node as usize];
        let mut free = Cores::first(present.size.into());
        if present.next >= until {
            free = free.without(&present.used);
        } else {
            for span in self.spans[node as usize].iter().filter(|span| span.meets(self.now, self.now, until)) {
                // All of the node: then there is no such mask.
                free = free.without(self.masks.all.get(span.cores as usize)?);
            }
        }
        (present.whole == 0).then_some(free)
    }

    /// The earliest time from now on at which enough nodes are wholly free for as long as is asked, and the first of
    /// them; none if there will never be so many. Asks for cores are not answered.
    pub fn find_earliest(&mut self, ask: &Ask<'_>) -> Option<(i64, Nodes)> {
        if ask.cores.is_some() {
            return None;
        }
        self.future.refresh(&self.spans, &self.up, self.now);
        let clear = ask.within.map_or(self.clear.len(), |within| self.clear.and_len(within));
        let (at, nodes) = self.future.earliest(ask, clear, &self.clear, self.now)?;
        Some((at, nodes.into_iter().map(|node| Taken { node, cores: None }).collect()))
    }

    /// The core with the first position that is free from now on for a while, on the node that counts among those that
    /// have it free.
    pub fn find_core(&self, within: Option<&Positions>, length: i64) -> Option<Taken> {
        let until = self.now.saturating_add(length);
        let best = self.best.as_ref()?;
        let first = |taken: &Taken| taken.cores.as_ref().and_then(|cores| cores.iter().next());
        let node = |place: usize| if best.backwards { self.len() - 1 - place } else { place } as u32;
        if within.is_none() {
            let most = best.cores.most().filter(|&most| most > 0)?;
            let node = node(best.cores.first(0, most)?);
            let found = self.part(node, 1, until);
            // Something that is planned later may be in the way of that core.
            if found.as_ref().and_then(first) == Some(MAX_CORES - usize::from(most)) {
                return found;
            }
        }
        let nodes = (0..self.len()).map(node).filter(|&node| within.is_none_or(|within| within.contains(node)));
        let open = nodes.filter(|&node| self.room.get(node as usize) > 0);
        open.filter_map(|node| self.part(node, 1, until)).min_by_key(first)
    }
}
