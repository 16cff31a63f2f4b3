use super::*;
use crate::formats::constraint::PropertyTerm;

/// Compiles a resource in a short JSON form.
fn compile(resources: &str) -> Compiled<Request> {
    let text = format!(
        r#"{{"version": 9999, "resources": {resources}, "attributes": {{"system": {{"duration": 0}}}},
            "tasks": [{{"command": ["app"], "slot": "t", "count": {{"per_slot": 1}}}}]}}"#
    );
    Request::from_jobspec(&Jobspec::from_json_str(&text).unwrap_or_else(|e| panic!("{resources}: {e}")))
}

fn count(text: &str) -> Count {
    text.parse().unwrap()
}

const fn amount(cores: u32, gpus: u32) -> Amount {
    Amount { cores, gpus }
}

fn whole(nodes: &str, at_least: Amount, slots_per_node: u32) -> Shape {
    Shape::Whole { nodes: count(nodes), at_least, slots_per_node }
}

#[test]
fn understands_the_shapes() {
    const CORES: &str = r#"{"type":"core","count":2}"#;
    let both = format!(r#"{CORES},{{"type":"gpu","count":1}}"#);
    let slot = |more: &str, with: &str| format!(r#"{{"type":"slot","count":3,"label":"t"{more},"with":[{with}]}}"#);
    let node =
        |count: &str, more: &str, with: &str| format!(r#"{{"type":"node","count":{count}{more},"with":[{with}]}}"#);
    let bare = |more: &str| format!(r#"{{"type":"node","count":4{more}}}"#);
    let (yes, no) = (r#","exclusive":true"#, r#","exclusive":false"#);
    let nodes = |nodes: &str, slots: &str, slot| Shape::Nodes { nodes: count(nodes), slots: count(slots), slot };
    let slots = |slot| Shape::Slots { slots: count("3"), slot };
    let cases = [
        (node("4", "", &slot("", CORES)), nodes("4", "3", amount(2, 0))),
        (node("4", no, &slot(no, &both)), nodes("4", "3", amount(2, 1))),
        (node("{\"min\":2}", "", &slot("", &both)), nodes("2+", "3", amount(2, 1))),
        (node("4", yes, &slot("", &both)), whole("4", amount(6, 3), 3)),
        (node("\"1-4\"", "", &slot(yes, CORES)), whole("1-4", amount(6, 0), 3)),
        (node("4", "", CORES), nodes("4", "1", amount(2, 0))),
        (node("4", yes, &both), whole("4", amount(2, 1), 1)),
        (bare(""), whole("4", Amount::NONE, 1)),
        (bare(yes), whole("4", Amount::NONE, 1)),
        (slot("", CORES), slots(amount(2, 0))),
        (slot(yes, &both), slots(amount(2, 1))),
        (slot("", r#"{"type":"gpu","count":1}"#), slots(amount(0, 1))),
        (slot("", &node("1", "", CORES)), whole("3", amount(2, 0), 1)),
        (slot("", &node("1", no, CORES)), nodes("3", "1", amount(2, 0))),
        (slot("", r#"{"type":"node","count":1}"#), whole("3", Amount::NONE, 1)),
    ];
    for (text, shape) in cases {
        let request = compile(&format!("[{text}]")).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(request, Request { shape, constraint: None, shared: Default::default() }, "{text}");
    }
}

#[test]
fn refuses_with_the_place() {
    let core = r#"{"type":"core","count":1}"#;
    let slot = |with: &str| format!(r#"{{"type":"slot","count":2,"label":"t","with":[{with}]}}"#);
    let node = |with: &str| format!(r#"{{"type":"node","count":2,"with":[{with}]}}"#);
    let cases = [
        (format!("{core},{core}"), "resources: expected exactly one, found 2"),
        (core.to_owned(), "resources[0] (core): expected node or slot, found another type"),
        (
            format!(r#"{{"type":"rack","count":1,"with":[{},{}]}}"#, node(core), node(core)),
            "resources[0] (rack): expected one node or slot inside, beside pools, found 2 other",
        ),
        (r#"{"type":"power","count":1}"#.to_owned(), "resources[0] (power): expected node or slot, found another type"),
        (
            format!(r#"{},{{"type":"power","count":1,"unit":"KW"}}"#, node(core)),
            "resources[1] (power): expected a count in the unit of the pool, and no unit, found the unit \"KW\"",
        ),
        (
            format!(r#"{},{{"type":"power","count":"1-2"}}"#, node(core)),
            "resources[1] (power): expected one number above 0, found the count 1-2",
        ),
        (
            format!(r#"{},{{"type":"power","count":1,"exclusive":true}}"#, node(core)),
            "resources[1] (power): expected a part of a pool that others share, found exclusive: true",
        ),
        (
            format!(r#"{{"type":"rack","count":"2-3","with":[{},{{"type":"ssd","count":1}}]}}"#, node(core)),
            "resources[0] (rack): expected one number above 0, found the count 2-3",
        ),
        (
            node(&format!(r#"{{"type":"socket","count":1,"with":[{}]}}"#, slot(core))),
            "resources[0].with[0] (socket): expected core or gpu, found another type",
        ),
        (
            node(&slot(&format!(r#"{core},{{"type":"memory","count":4,"unit":"GB"}}"#))),
            "resources[0].with[0].with[1] (memory): expected core or gpu, found another type",
        ),
        (
            node(&format!("{},{core}", slot(core))),
            "resources[0].with[0] (slot): expected core or gpu, found another type",
        ),
        (
            slot(r#"{"type":"core","count":"1-4"}"#),
            "resources[0].with[0] (core): expected one number below 2^32, found the count 1-4",
        ),
        (
            slot(r#"{"type":"core","count":4294967296}"#),
            "resources[0].with[0] (core): expected one number below 2^32, found the count 4294967296",
        ),
        (slot(&format!("{core},{core}")), "resources[0].with[1] (core): expected each type once, found it again"),
        (
            slot(r#"{"type":"core","count":1,"exclusive":false}"#),
            "resources[0].with[0] (core): expected cores and gpus of the job's own, found exclusive: false",
        ),
        (
            slot(r#"{"type":"core","count":1,"unit":"GB"}"#),
            "resources[0].with[0] (core): expected a count without a unit, found the unit \"GB\"",
        ),
        (
            slot(r#"{"type":"core","count":1,"with":[{"type":"pu","count":2}]}"#),
            "resources[0].with[0].with[0] (pu): expected nothing inside a core or gpu, found this",
        ),
        (slot(&node(core)), "resources[0].with[0] (node): expected one node in a slot, found 2"),
        (
            r#"{"type":"node","count":2,"exclusive":false}"#.to_owned(),
            "resources[0] (node): expected something inside a node that is shared, found nothing",
        ),
        (
            node(r#"{"type":"slot","count":2,"label":"t"}"#),
            "resources[0].with[0] (slot): expected core or gpu inside, found nothing",
        ),
        (
            r#"{"type":"node","count":1,"exclusive":true,"with":[{"type":"slot","count":65536,"label":"t","with":[
                {"type":"core","count":65536}]}]}"#
                .to_owned(),
            "resources[0] (node): expected at most 2^32 - 1 slots, cores and gpus in a node, found 4294967296",
        ),
    ];
    for (text, expect) in cases {
        assert_eq!(compile(&format!("[{text}]")), Err(Reason::Invalid { what: expect.to_owned() }), "{text}");
    }
}

#[test]
fn understands_shared_pools() {
    let need = |kind: &str, amount, within| PoolNeed { kind: kind.to_owned(), amount, within };
    let node = r#"{"type":"node","count":4}"#;
    let request = compile(&format!(r#"[{{"type":"licence","count":3}},{node}]"#)).unwrap();
    assert_eq!(request.shape, whole("4", Amount::NONE, 1));
    assert_eq!(request.shared, PoolNeeds { needs: vec![need("licence", 3, false)], within: None });
    let rack = format!(r#"{{"type":"rack","count":1,"with":[{node},{{"type":"ssd","count":200}}]}}"#);
    let request = compile(&format!(r#"[{rack},{{"type":"power","count":7}}]"#)).unwrap();
    let needs = vec![need("power", 7, false), need("ssd", 200, true)];
    assert_eq!(request.shared, PoolNeeds { needs, within: Some(Within::one("rack")) });
    let racks = format!(r#"[{{"type":"rack","count":2,"exclusive":true,"with":[{node}]}}]"#);
    let within = Within { kind: "rack".to_owned(), count: 2, exclusive: true };
    assert_eq!(compile(&racks).unwrap().shared, PoolNeeds { needs: vec![], within: Some(within) });
}

#[test]
fn takes_the_constraint_along() {
    let constraint = Constraint::Properties(vec![PropertyTerm { name: "ssd".to_owned(), negated: false }]);
    let request = Request::from_jobspec(&Jobspec::slots(2, 1, 0).with_constraint(constraint.clone())).unwrap();
    assert_eq!(request.constraint, Some(constraint));
    let request = Request::from_jobspec(&Jobspec::slots(2, 1, 0).with_constraint(Constraint::All)).unwrap();
    assert_eq!(request.constraint, None);
}
