use super::*;
use crate::formats::constraint::{Constraint, PropertyTerm};
use crate::formats::hostlist::Hostlist;
use crate::formats::r::R;

#[test]
fn uniform_is_what_r_gives() {
    let graph = Graph::uniform(3, 2, 1).unwrap();
    let all = graph.targets().iter().map(Share::whole);
    let r = graph.to_r(all, &Properties::new()).unwrap();
    let (again, properties) = Graph::from_r(&r).unwrap();
    assert_eq!(describe(&again, &properties), describe(&graph, &Properties::new()));
    assert_eq!(graph.len(), 13);
    assert_eq!(graph.target_bound(), 3);
    let target = graph.target(TargetId(1)).unwrap();
    assert_eq!((target.cores(), target.gpus(), &*target.host, target.rank), (2, 1, "node1", 1));
    assert_eq!(graph.path(graph.gpu_vertices(target)[0]), "/cluster0/node1/gpu0");
    assert_eq!(graph.target_of(graph.core_vertices(target)[1]), Some(TargetId(1)));
    assert_eq!(graph.target_by_host("node2"), Some(TargetId(2)));
    assert_eq!(graph.target_by_rank(3), None);
    let huge = Graph::uniform(u32::MAX, u32::MAX, u32::MAX).unwrap_err();
    assert_eq!(huge.to_string(), "expected at most 67108864 vertices, found more");
}

#[test]
fn r_keeps_ids_hosts_and_properties() {
    let text = r#"{"version": 1, "execution": {"R_lite": [{"rank": "3", "children": {"core": "2,5"}},
        {"rank": "7-8", "children": {"core": "0", "gpu": "1"}}], "nodelist": ["vm,vm,pc09"],
        "properties": {"batch": "3,8", "+local": "3", "gone": "7"}}}"#;
    let r = R::parse(text).unwrap();
    let (graph, mut properties) = Graph::from_r(&r).unwrap();
    assert_eq!(graph.targets_by_host("vm"), [TargetId(0), TargetId(1)]);
    assert_eq!(graph.vertex(graph.target(TargetId(2)).unwrap().vertex).id(), 9);
    assert!(properties.unset("gone", TargetId(1)) && !properties.unset("gone", TargetId(1)));
    let shares = [
        Share::whole(TargetId(2)),
        Share { target: TargetId(0), cores: Ids::Some("5".parse().unwrap()), gpus: Ids::None },
    ];
    let part = graph.to_r(shares, &properties).unwrap();
    let expected = r#"{"version": 1, "execution": {"R_lite": [{"rank": "3", "children": {"core": "5"}},
        {"rank": "8", "children": {"core": "0", "gpu": "1"}}], "nodelist": ["vm,pc09"], "properties": {"batch": "3,8"}}}"#;
    assert_eq!(part, R::parse(expected).unwrap());
    let ask = |target, cores: &str| {
        let share = Share { target: TargetId(target), cores: Ids::Some(cores.parse().unwrap()), gpus: Ids::None };
        graph.to_r([share], &properties).unwrap_err().to_string()
    };
    assert_eq!(ask(9, "0"), "expected a target of this graph, found target 9");
    assert_eq!(ask(0, "0-2"), "target 0: expected core ids among 2,5, found 0-2");
}

#[test]
fn core_ids_that_repeat_become_positions() {
    let (graph, _) = Graph::from_text("cluster / node / socket*2 / core[0-1]\n").unwrap();
    assert_eq!(graph.target(TargetId(0)).unwrap().core_ids(), [0, 1, 2, 3]);
    let (graph, _) = Graph::from_text("cluster / node / socket[0] / core[4-5] + socket[1]\n    core[0-1]").unwrap();
    assert_eq!(graph.target(TargetId(0)).unwrap().core_ids(), [4, 5, 0, 1]);
}

#[test]
fn resolves_constraints() {
    let text = "cluster\n  node pc[1-3] properties=batch\n  node pc[4-5] properties=batch,gpu\n  node pc6";
    let (graph, properties) = Graph::from_text(text).unwrap();
    let cases = [
        ("{}", "0-5"),
        (r#"{"properties": ["batch"]}"#, "0-4"),
        (r#"{"properties": ["batch", "^gpu"]}"#, "0-2"),
        (r#"{"properties": ["pc6"]}"#, "5"),
        (r#"{"properties": ["^pc1", "batch", "^nothing"]}"#, "1-4"),
        (r#"{"properties": ["nothing"]}"#, ""),
        (r#"{"hostlist": ["pc[2-3],other", "pc6"]}"#, "1-2,5"),
        (r#"{"ranks": ["4-99"]}"#, "4-5"),
        (r#"{"and": []}"#, "0-5"),
        (r#"{"or": []}"#, "0-5"),
        (r#"{"not": []}"#, ""),
        (r#"{"not": [{"properties": ["gpu"]}, {"ranks": ["4"]}]}"#, "0-3,5"),
        (r#"{"or": [{"properties": ["gpu"]}, {"hostlist": ["pc1"]}]}"#, "0,3-4"),
    ];
    for (constraint, expected) in cases {
        let parsed = Constraint::from_json(&serde_json::from_str(constraint).unwrap()).unwrap();
        assert_eq!(graph.resolve(&properties, &parsed).unwrap().to_string(), expected, "{constraint}");
    }
    let deep = (0..200).fold(Constraint::All, |inner, _| Constraint::And(vec![inner]));
    assert_eq!(graph.resolve(&properties, &deep), Err(ResolveError::TooDeep));
}

fn any_constraint() -> impl Strategy<Value = Constraint> {
    let name = prop_oneof![Just("batch".to_owned()), Just("+q".to_owned()), "[a-c][0-9]{0,2}", "node[0-4]"];
    let terms = prop::collection::vec((name.clone(), any::<bool>()), 0..3);
    let leaf = prop_oneof![
        Just(Constraint::All),
        terms.prop_map(|terms| Constraint::Properties(
            terms.into_iter().map(|(name, negated)| PropertyTerm { name, negated }).collect()
        )),
        prop::collection::vec(name, 0..60).prop_map(|hosts| Constraint::Hostlist(hosts.iter().collect::<Hostlist>())),
        prop::collection::vec(0..60u32, 0..60).prop_map(|ranks| Constraint::Ranks(ranks.into_iter().collect())),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let members = prop::collection::vec(inner, 0..3);
        prop_oneof![
            members.clone().prop_map(Constraint::And),
            members.clone().prop_map(Constraint::Or),
            members.prop_map(Constraint::Not)
        ]
    })
}

proptest! {
    #![proptest_config(crate::base::testing::config(96))]

    #[test]
    fn subtrees_are_true_descendants(made in any_graph(0)) {
        let Made { graph, parents, kinds, places, .. } = &made;
        let is_below = |mut draft: usize, above: usize| loop {
            if draft == above {
                return true;
            }
            match parents[draft] {
                Some(parent) => draft = parent,
                None => return false,
            }
        };
        for above in 0..parents.len() {
            let v = places[above];
            let below: Vec<usize> = (0..parents.len()).filter(|&draft| is_below(draft, above)).collect();
            let mut numbers: Vec<u32> = below.iter().map(|&draft| places[draft].0).collect();
            numbers.sort_unstable();
            prop_assert_eq!(graph.subtree(v).collect::<Vec<_>>(), numbers);
            prop_assert_eq!(graph.parent(v), parents[above].map(|parent| places[parent]));
            prop_assert_eq!(graph.depth(v) as usize, graph.ancestors(v).count());
            let children: Vec<usize> = (0..parents.len()).filter(|&draft| parents[draft] == Some(above)).collect();
            prop_assert_eq!(graph.children(v).collect::<Vec<_>>(), children.iter().map(|&c| places[c]).collect::<Vec<_>>());
            for kind in (0..graph.kind_bound() as u32).map(names::KindId) {
                let of_kind = below.iter().filter(|&&draft| kinds[draft] == graph.kind_name(kind));
                prop_assert_eq!(graph.count_in(v, kind), of_kind.clone().count() as u64);
                prop_assert_eq!(graph.size_in(v, kind), of_kind.map(|&draft| graph.size(places[draft])).sum::<u64>());
            }
        }
        prop_assert_eq!(graph.roots().map(|v| graph.subtree(v).len()).sum::<usize>() as u32, graph.contained);
    }

    #[test]
    fn targets_hold_together(made in any_graph(0)) {
        let graph = &made.graph;
        let mut seen = 0;
        for v in graph.vertices() {
            let naive: Vec<TargetId> =
                graph.targets().iter().filter(|&id| graph.is_in(graph.target(id).unwrap().vertex, v)).collect();
            prop_assert_eq!(graph.targets_in(v), naive.clone());
            let above: Vec<TargetId> =
                graph.targets().iter().filter(|&id| graph.is_in(v, graph.target(id).unwrap().vertex)).collect();
            prop_assert_eq!(graph.target_of(v), above.first().copied());
            prop_assert!(above.len() <= 1);
            prop_assert_eq!(graph.outside().any(|w| w == v), naive.is_empty() && above.is_empty());
        }
        for (i, id) in graph.targets().iter().enumerate() {
            let target = graph.target(id).unwrap();
            // As built, numbers follow the depth-first order.
            prop_assert_eq!((id.index(), target.id), (i, graph.targets_in_order()[i]));
            prop_assert_eq!(graph.core_vertices(target), graph.of_kind_in(target.vertex, KindId::CORE));
            prop_assert_eq!(target.cores() as usize, target.core_ids().len());
            prop_assert_eq!(target.gpus() as usize, graph.gpu_vertices(target).len());
            prop_assert_eq!(graph.target_by_rank(target.rank), Some(id));
            prop_assert!(target.host.is_empty() || graph.targets_by_host(&target.host).contains(&id));
            seen += 1;
        }
        prop_assert_eq!(graph.target_bound(), seen);
    }

    #[test]
    fn paths_lead_back(made in any_graph(0)) {
        let graph = &made.graph;
        for v in graph.vertices().filter(|&v| graph.is_contained(v)) {
            let path = graph.path(v);
            let naive = graph.vertices().find(|&w| graph.is_contained(w) && graph.path(w) == path);
            prop_assert_eq!(graph.by_path(&path), naive, "{}", path);
        }
    }

    #[test]
    fn resolves_as_each_target_by_itself(made in any_graph(0), constraint in any_constraint()) {
        let Made { graph, properties, .. } = &made;
        let naive: TargetSet = graph
            .targets()
            .iter()
            .filter(|&id| {
                let target = graph.target(id).unwrap();
                constraint.matches(&|name| properties.has(name, id), &target.host, target.rank)
            })
            .collect();
        prop_assert_eq!(graph.resolve(properties, &constraint).unwrap(), naive);
    }
}

#[test]
fn different_paths_are_counted_without_writing_them() {
    let counted_by_text = |graph: &Graph| {
        let all = graph.vertices().flat_map(|v| graph.subsystems().filter_map(move |s| graph.path_in(v, s)));
        all.map(|path| path.into_owned()).collect::<std::collections::BTreeSet<_>>().len()
    };
    for (text, expected) in [
        ("cluster c\n  rack\n    node n[0-1] cores=4\n  rack\n    node n[2-3] cores=4\n", 23),
        // Racks of one name, and what is in both of them.
        ("cluster c\n  rack r\n    node n[0-1] cores=2\n  rack r\n    node n[1-2] cores=3\n", 1 + 1 + 3 + 2 + 3 + 3),
    ] {
        let graph = Graph::from_text(text).unwrap().0;
        assert_eq!(graph.distinct_paths(), expected, "{text}");
        assert_eq!(counted_by_text(&graph), expected, "{text}");
    }
}
