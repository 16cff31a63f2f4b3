use super::*;

#[test]
fn adds_and_removes_nodes() {
    let (graph, _) = Graph::from_text("cluster / rack*2 / node*2 cores=2").unwrap();
    let (less, map) = graph.without(&[1, 7].map(TargetId).into_iter().collect());
    assert_eq!((less.version(), less.targets().to_string().as_str(), less.target_bound()), (1, "0,2-3", 4));
    let gone = graph.by_path("/cluster0/rack0/node1/core1").unwrap();
    assert_eq!(map.get(gone), None);
    let stays = graph.by_path("/cluster0/rack1/node3/core1").unwrap();
    assert_eq!(less.path(map.get(stays).unwrap()), "/cluster0/rack1/node3/core1");

    // The same node comes back at another rank, with a new one: neither gets the old number.
    let addition = "cluster / rack[0] / node[1] cores=1 rank=9 properties=new + node[7] cores=3 properties=new";
    let (addition, properties) = Graph::from_text(addition).unwrap();
    let extended = less.extend(&addition).unwrap();
    let Extended { graph: more, old: map, added } = &extended;
    assert_eq!((more.version(), more.targets().to_string().as_str(), more.target_bound()), (2, "0,2-5", 6));
    assert_eq!(map.get(less.by_path("/cluster0/rack1").unwrap()), more.by_path("/cluster0/rack1"));
    assert_eq!(added.get(VertexId(1)), more.by_path("/cluster0/rack0"));
    let order: Vec<u32> = more.targets_in_order().iter().map(|id| id.0).collect();
    assert_eq!(order, [0, 4, 5, 2, 3]);
    assert_eq!(extended.translate(&addition, &properties).get("new").unwrap().to_string(), "4-5");
    assert_eq!(more.target(TargetId(5)).map(|t| (t.rank, t.cores())), Some((10, 3)));
}

#[test]
fn adds_to_a_target() {
    let (graph, _) = Graph::from_text("cluster / node pc[1-2] cores=2").unwrap();
    let (addition, _) = Graph::from_text("cluster other / node pc2 rank=1 / gpu*2 + core[1] + core[5]").unwrap();
    let more = graph.extend(&addition).unwrap().graph;
    let target = more.target(TargetId(1)).unwrap();
    assert_eq!((target.core_ids(), target.gpu_ids()), (&[0, 1, 5][..], &[0, 1][..]));
    assert_eq!(more.targets().len(), 2);
}

#[test]
fn refuses_a_rank_that_is_taken() {
    let graph = Graph::uniform(2, 1, 0).unwrap();
    let (addition, _) = Graph::from_text("cluster / node pc7 rank=1").unwrap();
    let error = graph.extend(&addition).unwrap_err();
    assert_eq!(error.to_string(), "expected each rank once, found rank 1 on /cluster0/node1 and on /cluster0/pc7");
}

#[test]
fn refuses_what_is_no_tree() {
    let mut builder = Builder::new();
    let word = builder.names.symbol("rack");
    let first = builder.add_unlinked(Draft::new(KindId::RACK, word, 0)).unwrap();
    let second = builder.add_unlinked(Draft::new(KindId::RACK, word, 1)).unwrap();
    builder.link(first, Some(second));
    builder.link(second, Some(first));
    assert_eq!(builder.finish().err(), Some(GraphError::Circle { vertex: "rack0".into() }));
    let nested = Graph::from_text("cluster / node / rack / node rank=7");
    assert_eq!(
        nested.unwrap_err().to_string(),
        "line 1, column 25: expected a target outside of targets, in the tree, found a vertex inside one"
    );
}

proptest! {
    #![proptest_config(crate::base::testing::config(96))]

    #[test]
    fn without_keeps_the_rest(made in any_graph(0), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
        let Made { graph, .. } = &made;
        let gone: TargetSet = picks.iter().map(|i| TargetId(i.index(graph.target_bound() + 1) as u32)).collect();
        let (less, map) = graph.without(&gone);
        prop_assert_eq!(less.targets(), &(graph.targets() - &gone));
        prop_assert_eq!(less.target_bound(), graph.target_bound());
        let mut last = None;
        for (old, new) in map.iter() {
            prop_assert_eq!(new.is_none(), graph.target_of(old).is_some_and(|id| gone.contains(id)));
            if let Some(new) = new {
                prop_assert!(last < Some(new));
                last = Some(new);
                prop_assert_eq!(less.parent(new), graph.parent(old).and_then(|parent| map.get(parent)));
                same_vertex(graph, old, &less, new)?;
                prop_assert_eq!(less.target_of(new), graph.target_of(old));
            }
        }
        prop_assert_eq!(map.iter().filter(|(_, new)| new.is_some()).count(), less.len());
        prop_assert_eq!(map.is_identity(), gone.is_disjoint(graph.targets()));
    }

    #[test]
    fn extend_keeps_and_adds(made in any_graph(0), other in any_graph(1000)) {
        let (graph, addition) = (&made.graph, &other.graph);
        let Extended { graph: more, old: map, added } = match graph.extend(addition) {
            Ok(done) => done,
            // A target of one inside a target of the other; nothing was changed.
            Err(GraphError::NestedTarget { .. }) => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        for (old, new) in map.iter() {
            let new = new.unwrap();
            prop_assert_eq!(more.parent(new), graph.parent(old).and_then(|parent| map.get(parent)));
            same_vertex(graph, old, &more, new)?;
            prop_assert!(graph.target_of(old).is_none() || more.target_of(new) == graph.target_of(old));
        }
        for (old, new) in added.iter() {
            let new = new.unwrap();
            prop_assert_eq!(more.kind_name(more.kind(new)), addition.kind_name(addition.kind(old)));
            let below_same_root = addition.parent(old).is_some();
            if below_same_root {
                prop_assert_eq!(more.vertex(new).name(), addition.vertex(old).name());
                prop_assert_eq!(more.parent(new), addition.parent(old).and_then(|parent| added.get(parent)));
            }
        }
        let new_ones = more.targets() - graph.targets();
        prop_assert!(graph.targets().is_subset(more.targets()));
        prop_assert!(new_ones.iter().all(|id| id.index() >= graph.target_bound()));
        prop_assert_eq!(more.target_bound(), graph.target_bound() + new_ones.len());
        // Twice the same changes nothing more.
        let Extended { graph: again, old: map, .. } = more.extend(addition).unwrap();
        prop_assert!(map.is_identity());
        prop_assert_eq!(again.len(), more.len());
    }
}

fn same_vertex(a: &Graph, v: VertexId, b: &Graph, w: VertexId) -> Result<(), TestCaseError> {
    let (one, other) = (a.vertex(v), b.vertex(w));
    prop_assert_eq!(a.kind_name(one.kind()), b.kind_name(other.kind()));
    prop_assert_eq!(one.name(), other.name());
    prop_assert_eq!(
        (one.id(), one.size(), one.unit(), one.properties()),
        (other.id(), other.size(), other.unit(), other.properties())
    );
    Ok(())
}
