//! The order in which a well-known sort that is not stable leaves equal keys.
//!
//! Golden files of Fluxion freeze the tie order of `std::sort` as the GNU library has it: quicksort with the median of
//! three as pivot down to sixteen items, heap sort where that goes too deep, and one insertion sort over all at the
//! end. Here it is written for keys with their first positions; what is sorted then follows those positions.

/// Up to so many items insertion sort alone is used.
const SMALL: usize = 16;

/// An item: its key, and where it stood at first.
type Item = (i64, u32);

/// The positions of `keys` in sorted order: ascending, or descending.
pub(super) fn order(keys: impl Iterator<Item = i64>, ascending: bool) -> Vec<u32> {
    let mut items: Vec<Item> =
        keys.zip(0u32..).map(|(key, at)| (if ascending { key } else { key.saturating_neg() }, at)).collect();
    sort(&mut items);
    items.into_iter().map(|(_, at)| at).collect()
}

fn before(a: Item, b: Item) -> bool {
    a.0 < b.0
}

fn sort(items: &mut [Item]) {
    let count = items.len();
    if count < 2 {
        return;
    }
    quick(items, 2 * count.ilog2());
    let first = count.min(SMALL);
    for at in 1..first {
        if before(items[at], items[0]) {
            items[..=at].rotate_right(1);
        } else {
            sink(items, at);
        }
    }
    for at in first..count {
        sink(items, at);
    }
}

/// Moves an item forward past all that are greater; something not greater stands in front.
fn sink(items: &mut [Item], mut at: usize) {
    let item = items[at];
    while at > 0 && before(item, items[at - 1]) {
        items[at] = items[at - 1];
        at -= 1;
    }
    items[at] = item;
}

fn quick(mut items: &mut [Item], mut depth: u32) {
    while items.len() > SMALL {
        if depth == 0 {
            heap_sort(items);
            return;
        }
        depth -= 1;
        let cut = partition(items);
        let (low, high) = items.split_at_mut(cut);
        quick(high, depth);
        items = low;
    }
}

/// Puts the median of the second, the middle and the last item first, and divides the rest by it.
fn partition(items: &mut [Item]) -> usize {
    let (a, b, c) = (1, items.len() / 2, items.len() - 1);
    let less = |x: usize, y: usize| before(items[x], items[y]);
    let median = match (less(a, b), less(b, c), less(a, c)) {
        (true, true, _) => b,
        (true, false, true) => c,
        (true, false, false) => a,
        (false, _, true) => a,
        (false, true, false) => c,
        (false, false, false) => b,
    };
    items.swap(0, median);
    let pivot = items[0];
    let (mut low, mut high) = (1, items.len());
    loop {
        while before(items[low], pivot) {
            low += 1;
        }
        high -= 1;
        while before(pivot, items[high]) {
            high -= 1;
        }
        if low >= high {
            return low;
        }
        items.swap(low, high);
        low += 1;
    }
}

fn heap_sort(items: &mut [Item]) {
    let count = items.len();
    for parent in (0..=(count - 2) / 2).rev() {
        settle(items, parent, count, items[parent]);
    }
    for last in (1..count).rev() {
        let item = items[last];
        items[last] = items[0];
        settle(items, 0, last, item);
    }
}

/// Lets the greater children rise from `top` to the bottom, and puts `item` where it belongs on that way.
fn settle(items: &mut [Item], top: usize, count: usize, item: Item) {
    let mut hole = top;
    while hole < (count - 1) / 2 {
        let right = 2 * hole + 2;
        let child = if before(items[right], items[right - 1]) { right - 1 } else { right };
        items[hole] = items[child];
        hole = child;
    }
    if count.is_multiple_of(2) && hole == (count - 2) / 2 {
        items[hole] = items[2 * hole + 1];
        hole = 2 * hole + 1;
    }
    while hole > top && before(items[(hole - 1) / 2], item) {
        items[hole] = items[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    items[hole] = item;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::base::testing::config(128))]
        #[test]
        fn sorts(keys in proptest::collection::vec(0..30i64, 0..300), ascending: bool) {
            let order = order(keys.iter().copied(), ascending);
            let sorted: Vec<i64> = order.iter().map(|&at| keys[at as usize]).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            if !ascending {
                expected.reverse();
            }
            prop_assert_eq!(sorted, expected);
            let mut positions = order;
            positions.sort_unstable();
            prop_assert!(positions.into_iter().eq(0..keys.len() as u32));
        }
    }

    /// Figures from a program with the GNU library: positions folded into one number.
    #[test]
    fn leaves_equal_keys_as_the_gnu_library_does() {
        let fold = |order: Vec<u32>| order.iter().fold(0u64, |h, &at| h.wrapping_mul(31).wrapping_add(at.into()));
        for (count, modulus, expected) in [
            (20, 1, 898568786904119818),
            (20, 4, 2054249173104200918),
            (20, 7, 1973945564756410776),
            (40, 1, 12420970190898536724),
            (40, 4, 13404451376861028064),
            (40, 7, 15383589825863917864),
            (100, 1, 3055265805167058518),
            (100, 4, 12847731806408637190),
            (100, 7, 12346218138707254300),
            (333, 1, 1777938643159175474),
            (333, 4, 14386937762440278118),
            (333, 7, 16828105067637959464),
        ] {
            let keys = (0..count).map(|i| (i * 37) % modulus);
            assert_eq!(fold(order(keys, false)), expected, "{count} {modulus}");
        }
        let pipe = (0..2000).map(|i| if i < 1000 { i / 3 } else { (2000 - i) / 3 });
        assert_eq!(fold(order(pipe, true)), 7230532462419837476);
    }
}
