use super::*;
use proptest::prelude::*;

/// A set with these members of `execution`.
fn with(execution: &str) -> Result<R, RError> {
    R::parse(&format!(r#"{{"version":1,"execution":{{{execution}}}}}"#))
}

fn check(execution: &str, printed: &str) {
    let r = with(execution).unwrap();
    let json = r.to_json();
    assert_eq!(json["execution"].to_string(), format!("{{{printed}}}"), "{execution}");
    assert_eq!(R::from_json(&json), Ok(r), "{execution}");
}

const TWO: &str = r#""R_lite":[{"rank":"0-1","children":{"core":"0-3"}}]"#;

#[test]
fn reads_and_prints_as_flux_core_does() {
    check("", r#""R_lite":[],"nodelist":[""]"#);
    check(r#""R_lite":[],"nodelist":[""]"#, r#""R_lite":[],"nodelist":[""]"#);
    check(TWO, TWO);
    // Grouped by children, ascending by first rank, whatever the order of input.
    check(
        r#""R_lite":[{"rank":"3","children":{"core":"0-1"}},{"rank":"1-2","children":{"core":"0-1","gpu":"0"}},
            {"rank":"0,5","children":{"core":"0-1"}},{"rank":"4","children":{"gpu":"0-1"}}],"nodelist":["n[0-2],x","y","z"]"#,
        concat!(
            r#""R_lite":[{"rank":"0,3,5","children":{"core":"0-1"}},"#,
            r#"{"rank":"1-2","children":{"core":"0-1","gpu":"0"}},{"rank":"4","children":{"gpu":"0-1"}}],"#,
            r#""nodelist":["n[0-2],x,y,z"]"#
        ),
    );
    // A rank that comes again adds to the first.
    check(
        r#""R_lite":[{"rank":"0-1","children":{"core":"0"}},{"rank":"1","children":{"core":"2","gpu":"0"}}]"#,
        r#""R_lite":[{"rank":"0","children":{"core":"0"}},{"rank":"1","children":{"core":"0,2","gpu":"0"}}]"#,
    );
    check(
        &format!(
            r#"{TWO},"nslots":0,"starttime":0,"expiration":-1,"properties":{{"+q":"0","p!":"1","none":""}},"x":1"#
        ),
        &format!(r#"{TWO},"properties":{{"+q":"0","p!":"1"}}"#),
    );
    check(
        &format!(r#"{TWO},"nslots":2,"starttime":1700000000.25,"expiration":1700003600.0"#),
        &format!(r#"{TWO},"nslots":2,"starttime":1700000000.25,"expiration":1700003600"#),
    );
    check(&format!(r#"{TWO},"expiration":1e300"#), TWO);
}

#[test]
fn carries_scheduling() {
    let scheduling = r#"{"writer":"fluxion:jgf","graph":{"nodes":[1.5,null]}}"#;
    let text = format!(r#"{{"version":1,"execution":{{{TWO}}},"scheduling":{scheduling}}}"#);
    let r = R::parse(&text).unwrap();
    assert_eq!(r.scheduling.as_ref().unwrap().to_string(), scheduling);
    assert_eq!(R::parse(&r.to_string()), Ok(r));
    let null = R::parse(r#"{"version":1,"execution":{},"scheduling":null}"#).unwrap();
    assert_eq!(null.scheduling, None);
}

#[test]
fn refuses() {
    let refused = [
        (r#""R_lite":{}"#, "invalid R: expected an array at .execution.R_lite, found an object"),
        (r#""R_lite":[1]"#, "invalid R: expected an object at .execution.R_lite[0], found a number"),
        (r#""R_lite":[{"children":{}}]"#, "invalid R: expected an idset at .execution.R_lite[0].rank, found nothing"),
        (
            r#""R_lite":[{"rank":0,"children":{}}]"#,
            "invalid R: expected an idset at .execution.R_lite[0].rank, found a number",
        ),
        (r#""R_lite":[{"rank":"0"}]"#, "invalid R: expected an object at .execution.R_lite[0].children, found nothing"),
        (
            r#""R_lite":[{"rank":"0","children":{"core":4}}]"#,
            "invalid R: expected an idset at .execution.R_lite[0].children.core, found a number",
        ),
        (
            r#""R_lite":[{"rank":"0","children":{"core":"0"}},{"rank":"1,0","children":{"core":"0"}}]"#,
            "invalid R at .execution.R_lite[1].rank: invalid idset: 0 at byte 2 does not come after 1: ids ascend and occur once",
        ),
        (
            r#""R_lite":[{"rank":"0","children":{"core":"0-3"}},{"rank":"0-1","children":{"core":"2-5"}}]"#,
            "invalid R at .execution.R_lite[1]: rank 0 has core 2-3 already",
        ),
        (
            r#""R_lite":[{"rank":"0","children":{"gpu":"0"}},{"rank":"0","children":{"gpu":"0"}}]"#,
            "invalid R at .execution.R_lite[1]: rank 0 has gpu 0 already",
        ),
        (
            r#""R_lite":[{"rank":"0-2147483647","children":{"core":"0"}}]"#,
            "invalid R at .execution.R_lite[0]: more than 1048576 ranks",
        ),
        (
            r#""R_lite":[{"rank":"0-1048575","children":{}},{"rank":"1048576","children":{}}]"#,
            "invalid R at .execution.R_lite[1]: more than 1048576 ranks",
        ),
        (
            r#""R_lite":[{"rank":"0-1","children":{}}],"nodelist":["n[0-2]"]"#,
            "invalid R at .execution.nodelist: expected 2 hosts, one for each rank, found 3",
        ),
        (r#""nodelist":["n0"]"#, "invalid R at .execution.nodelist: expected 0 hosts, one for each rank, found 1"),
        (r#""nodelist":"n0""#, "invalid R: expected an array at .execution.nodelist, found a string"),
        (r#""nodelist":[0]"#, "invalid R: expected a hostlist at .execution.nodelist[0], found a number"),
        (r#""nodelist":["a["]"#, "invalid R at .execution.nodelist[0]: invalid hostlist: unbalanced bracket at byte 1"),
        (
            r#""R_lite":[{"rank":"0-1","children":{}}],"properties":{"big":"1-3"}"#,
            "invalid R at .execution.properties: property `big` names rank 2-3, which R does not have",
        ),
        (
            r#""properties":{"a^b":""}"#,
            "invalid R at .execution.properties: character `^` is not allowed in property `a^b`",
        ),
        (r#""properties":{"a":0}"#, "invalid R: expected an idset at .execution.properties.a, found a number"),
        (r#""properties":[]"#, "invalid R: expected an object at .execution.properties, found an array"),
        (r#""nslots":1.5"#, "invalid R: expected an integer at .execution.nslots, found a number"),
        (r#""nslots":"1""#, "invalid R: expected an integer at .execution.nslots, found a string"),
        (r#""starttime":"now""#, "invalid R: expected a number of seconds at .execution.starttime, found a string"),
        (
            r#""starttime":9000000001"#,
            "invalid R: expected at most 9000000000 seconds at .execution.starttime, found 9000000001",
        ),
    ];
    for (execution, message) in refused {
        assert_eq!(with(execution).unwrap_err().to_string(), message, "{execution}");
    }
    for (text, message) in [
        ("", "invalid R: EOF while parsing a value at line 1, column 0"),
        ("{\"version\":1,\n}", "invalid R: trailing comma at line 2, column 1"),
        ("[]", "invalid R: expected an object at ., found an array"),
        ("{}", "invalid R: expected 1 at .version, found nothing"),
        (r#"{"version":"1"}"#, "invalid R: expected 1 at .version, found a string"),
        (r#"{"version":2}"#, "invalid R: expected version 1 at .version, found 2"),
        (r#"{"version":1}"#, "invalid R: expected an object at .execution, found nothing"),
    ] {
        assert_eq!(R::parse(text).unwrap_err().to_string(), message, "{text}");
    }
}

fn small() -> impl Strategy<Value = Idset> {
    proptest::collection::vec(0..6u32, 0..4).prop_map(|ids| ids.into_iter().collect())
}

fn time() -> impl Strategy<Value = Option<Timestamp>> {
    proptest::option::of((1..(1i64 << 31) * 1_000_000).prop_map(Timestamp::from_micros))
}

fn sets() -> impl Strategy<Value = R> {
    let entries = proptest::collection::btree_map(0..40u32, ("[ab][0-9]{1,2}", small(), small()), 0..9);
    let properties = proptest::collection::btree_map("[a-z+!@]{1,3}", small(), 0..3);
    let meta = (any::<bool>(), proptest::option::of(1..u64::MAX), time(), time());
    (entries, properties, meta).prop_map(|(entries, properties, (hosts, nslots, starttime, expiration))| {
        let ranks: Vec<_> = entries
            .into_iter()
            .map(|(rank, (host, cores, gpus))| RankEntry { rank, host: hosts.then_some(host), cores, gpus })
            .collect();
        let hosts = hosts || ranks.is_empty();
        let mut r = R { ranks, nslots, starttime, expiration, ..R::default() };
        let all = r.rank_ids();
        r.properties = properties.into_iter().map(|(name, ids)| (name, &ids & &all)).collect();
        r.properties.retain(|_, ids| !ids.is_empty());
        r.scheduling = hosts.then(|| json!({ "writer": "x" }));
        r
    })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof!["[0-9,n-]{0,4}".prop_map(Value::from), any::<f64>().prop_map(Value::from), Just(1.into())];
    leaf.prop_recursive(6, 32, 4, |inner| {
        let key = "version|execution|R_lite|rank|children|core|gpu|nodelist|properties|nslots|expiration|scheduling";
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::hash_map(key, inner, 0..5).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #![proptest_config(crate::base::testing::config(256))]
    #[test]
    fn round_trips(r in sets()) {
        prop_assert_eq!(R::parse(&r.to_string()).unwrap(), r);
    }

    #[test]
    fn never_panics(text in ".*", execution in values()) {
        let _ = R::parse(&text);
        let _ = R::from_json(&execution);
        if let Ok(r) = R::from_json(&json!({ "version": 1, "execution": execution })) {
            prop_assert_eq!(R::from_json(&r.to_json()).unwrap(), r);
        }
    }
}
