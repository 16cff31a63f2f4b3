//! Counts: what is admitted, what is refused with which words, and that printing reads back.

use super::*;
use proptest::prelude::*;

fn first(count: &Count, n: usize) -> Vec<u64> {
    count.iter().take(n).collect()
}

#[test]
fn admits() {
    let cases: &[(&str, &str, &[u64])] = &[
        ("4", "4", &[4]),
        ("[4]", "4", &[4]),
        ("2-8", "2-8", &[2, 3, 4, 5, 6, 7, 8]),
        ("[2-8]", "2-8", &[2, 3, 4, 5, 6, 7, 8]),
        ("2-9:3", "2-8:3", &[2, 5, 8]),
        ("2-9:3:+", "2-8:3", &[2, 5, 8]),
        ("2-20:2:*", "2-16:2:*", &[2, 4, 8, 16]),
        ("2-256:2:^", "2-256:2:^", &[2, 4, 16, 256]),
        ("3-4:5", "3", &[3]),
        ("4-4", "4", &[4]),
        ("1,7-9", "1,7-9", &[1, 7, 8, 9]),
        ("[1,7-9]", "1,7-9", &[1, 7, 8, 9]),
        ("1-2,3,4-5", "1-5", &[1, 2, 3, 4, 5]),
        ("4+", "4+", &[4, 5, 6]),
        ("4+:1:+", "4+", &[4, 5, 6]),
        ("4+:2", "4+:2", &[4, 6, 8]),
        ("[4+:2:*]", "4+:2:*", &[4, 8, 16]),
        ("18446744073709551614+", "18446744073709551614+", &[u64::MAX - 1, u64::MAX]),
    ];
    for (text, canonical, numbers) in cases {
        let count: Count = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(count.to_string(), *canonical, "{text}");
        let limit = if count.max().is_none() { 3 } else { 100 };
        assert_eq!(first(&count, limit), *numbers, "{text}");
    }
}

#[test]
fn json_forms() {
    let cases = [
        (json!(4), json!(4)),
        (json!("4"), json!(4)),
        (json!({"min": 3}), json!({"min": 3})),
        (json!("3+"), json!({"min": 3})),
        (json!("3+:2:*"), json!("3+:2:*")),
        (
            json!({"min": 2, "max": 64, "operator": "^", "operand": 4}),
            json!({"min": 2, "max": 16, "operator": "^", "operand": 4}),
        ),
        (json!("1-3"), json!({"min": 1, "max": 3, "operator": "+", "operand": 1})),
        (json!({"min": 5, "max": 5, "operator": "+", "operand": 1}), json!(5)),
        (json!("1,7-9"), json!("1,7-9")),
    ];
    for (from, to) in cases {
        assert_eq!(Count::from_json(&from).map(|c| c.to_json()), Ok(to), "{from}");
    }
}

#[test]
fn refused_json() {
    let cases = [
        (json!(0), "count: expected a whole number of at least 1, found the number 0"),
        (json!(-1), "count: expected a whole number of at least 1, found the number -1"),
        (json!(4.0), "count: expected a whole number of at least 1, found the number 4.0"),
        (json!(null), "expected a whole number, a range or a string, found null"),
        (json!(true), "expected a whole number, a range or a string, found true"),
        (json!([1, 2]), "expected a whole number, a range or a string, found an array of 2"),
        (json!({}), "range: expected the key `min`, found none"),
        (json!({"max": 2, "operator": "+", "operand": 1}), "range: expected the key `min`, found none"),
        (json!({"min": 1, "max": 2}), "range: expected the key `operator` beside `max`, found none"),
        (json!({"min": 1, "max": 2, "operator": "+"}), "range: expected the key `operand` beside `max`, found none"),
        (
            json!({"min": 1, "operator": "+", "operand": 1}),
            "range: expected the key `max` beside `operator`, found none",
        ),
        (json!({"min": 1, "foo": 2}), "range: expected min, max, operator, operand, found the key `foo`"),
        (json!({"min": 0}), "min: expected a whole number of at least 1, found the number 0"),
        (json!({"min": "1"}), "min: expected a whole number of at least 1, found the string `1`"),
        (
            json!({"min": 1, "max": -1, "operator": "+", "operand": 1}),
            "max: expected a whole number of at least 1, found the number -1",
        ),
        (json!({"min": 2, "max": 1, "operator": "+", "operand": 1}), "max: expected at least min = 2, found 1"),
        (json!({"min": 1, "max": 2, "operator": "/", "operand": 2}), "operator: expected `+`, `*` or `^`, found `/`"),
        (
            json!({"min": 1, "max": 2, "operator": "++", "operand": 2}),
            "operator: expected `+`, `*` or `^`, found the string `++`",
        ),
        (json!({"min": 1, "max": 2, "operator": "*", "operand": 1}), "operand: expected at least 2 with `*`, found 1"),
        (json!({"min": 2, "max": 4, "operator": "^", "operand": 1}), "operand: expected at least 2 with `^`, found 1"),
        (json!({"min": 1, "max": 4, "operator": "^", "operand": 2}), "min: expected at least 2 with `^`, found 1"),
    ];
    for (value, message) in cases {
        assert_eq!(Count::from_json(&value).map_err(|e| e.to_string()), Err(message.to_owned()), "{value}");
    }
}

#[test]
fn refused_text() {
    let cases = [
        ("", "`` at byte 0: expected a number from 1 on without leading zeros, found the end"),
        ("bar", "`bar` at byte 0: expected a number from 1 on without leading zeros, found `b`"),
        ("0", "`0` at byte 0: expected a number from 1 on without leading zeros, found `0`"),
        ("01", "`01` at byte 0: expected a number from 1 on without leading zeros, found `0`"),
        ("4-", "`4-` at byte 2: expected a number from 1 on without leading zeros, found the end"),
        ("[4", "`[4` at byte 2: expected `]`, found the end"),
        ("4]", "`4]` at byte 1: expected the end, found `]`"),
        ("4 ", "`4 ` at byte 1: expected the end, found ` `"),
        ("4:2", "`4:2` at byte 1: expected the end, found `:`"),
        ("4-8:2:/", "`4-8:2:/` at byte 6: expected `+`, `*` or `^`, found `/`"),
        ("4-8:2:", "`4-8:2:` at byte 6: expected `+`, `*` or `^`, found the end"),
        ("4-8:1:*", "operand: expected at least 2 with `*`, found 1"),
        ("8-4", "max: expected at least min = 8, found 4"),
        ("1-4:2:^", "min: expected at least 2 with `^`, found 1"),
        ("3,1", "`3,1` at byte 2: expected a number above the one before it, found `1`"),
        ("3,3", "`3,3` at byte 2: expected a number above the one before it, found `3`"),
        ("3-3,5", "`3-3,5` at byte 2: expected a number above the one before it, found `3`"),
        ("1,,2", "`1,,2` at byte 2: expected a number from 1 on without leading zeros, found `,`"),
        ("1,5:2", "`1,5:2` at byte 3: expected the end, found `:`"),
        ("4ä", "`4ä` at byte 1: expected the end, found `ä`"),
        (
            "99999999999999999999",
            "`99999999999999999999` at byte 0: expected a number of at most 64 bits, found `99999999999999999999`",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(text.parse::<Count>().map_err(|e| e.to_string()), Err(message.to_owned()), "{text}");
    }
}

#[test]
fn constructors_refuse_zero() {
    assert!(Count::try_from(0).is_err());
    assert!(Count::range(0, None, Step::Add(1)).is_err());
    assert!(Count::range(1, None, Step::Add(0)).is_err());
    assert_eq!(Count::try_from(3), Ok(Count::fixed(3)));
}

/// Any count; also used by the jobspec's tests.
pub(crate) fn any_count() -> impl Strategy<Value = Count> {
    let step = prop_oneof![(1u64..9).prop_map(Step::Add), (2u64..5).prop_map(Step::Mul), (2u64..4).prop_map(Step::Pow)];
    let range = (2u64..40, proptest::option::of(0u64..400), step)
        .prop_map(|(min, more, step)| Count::range(min, more.map(|more| min + more), step).unwrap());
    let list = proptest::collection::btree_set(1u64..60, 1..20).prop_map(|set| {
        let items: Vec<String> = set.iter().map(u64::to_string).collect();
        items.join(",").parse().unwrap()
    });
    prop_oneof![(1u64..2000).prop_map(Count::fixed), range, list]
}

proptest! {
    #![proptest_config(crate::base::testing::config(256))]
    #[test]
    fn round_trip(count in any_count()) {
        prop_assert_eq!(&count.to_string().parse::<Count>().unwrap(), &count);
        prop_assert_eq!(&format!("[{count}]").parse::<Count>().unwrap(), &count);
        prop_assert_eq!(&Count::from_json(&count.to_json()).unwrap(), &count);
    }

    /// `iter`, `contains`, `largest_at_most`, `min`, `max` agree.
    #[test]
    fn one_set(count in any_count(), n in 0u64..600) {
        let below: Vec<u64> = count.iter().take_while(|v| *v <= n).collect();
        prop_assert_eq!(count.largest_at_most(n), below.last().copied());
        prop_assert_eq!(count.contains(n), below.last() == Some(&n));
        prop_assert_eq!(count.iter().next(), Some(count.min()));
        if let Some(max) = count.max() {
            prop_assert_eq!(count.iter().last(), Some(max));
            prop_assert_eq!(count.is_fixed(), max == count.min());
        }
    }

    #[test]
    fn no_text_panics(text in ".{0,12}") {
        let _ = text.parse::<Count>();
    }

    #[test]
    fn no_near_text_panics(text in "[\\[\\]0-9,:+*^-]{0,12}") {
        if let Ok(count) = text.parse::<Count>() {
            prop_assert_eq!(count.to_string().parse::<Count>().unwrap(), count);
        }
    }
}
