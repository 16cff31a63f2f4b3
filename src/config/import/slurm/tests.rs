use super::*;
use crate::config::import::Concern;
use crate::config::{Config, Members};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Default)]
struct Shelf(BTreeMap<PathBuf, String>);

impl Library for Shelf {
    fn read(&self, file: &Path) -> Result<Option<String>, String> {
        match self.0.get(file).map(String::as_str) {
            Some("(locked)") => Err("permission denied".to_owned()),
            text => Ok(text.map(str::to_owned)),
        }
    }

    fn list(&self, _: &Path) -> Result<Vec<PathBuf>, String> {
        Ok(Vec::new())
    }
}

fn import_all(files: &[(&str, &str)]) -> Result<Imported, Vec<ImportError>> {
    let shelf = Shelf(files.iter().map(|(file, text)| (PathBuf::from(file), (*text).to_owned())).collect());
    import(&[PathBuf::from(files[0].0)], &shelf)
}

fn of(text: &str) -> Imported {
    import_all(&[("s", text)]).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn config(imported: &Imported) -> Config {
    Config::parse(&imported.text, "made").unwrap_or_else(|errors| panic!("{errors}\n{}", imported.text))
}

/// `line key: why` of all remarks that ask for something.
fn looks(imported: &Imported) -> Vec<String> {
    let look = |key: &ImportedKey| {
        let notes = key.notes.iter().filter(|note| note.concern == Concern::Look);
        notes.map(|note| format!("{} {}: {}", key.line, key.key, note.why)).collect::<Vec<_>>()
    };
    imported.keys.iter().flat_map(look).collect()
}

#[test]
fn cores_follow_from_sockets_and_cpus() {
    let check = |keys: &str, cores: u32, said: &[&str]| {
        let imported = of(&format!("NodeName=a {keys}"));
        let entry = &config(&imported).resource.entries[0];
        assert_eq!(
            (entry.cores.len() as u32, looks(&imported)),
            (cores, said.iter().map(|&s| s.into()).collect()),
            "{keys}"
        );
    };
    check("", 1, &[]);
    check("CPUs=8", 8, &[]);
    check("procs=8", 8, &[]);
    check("Sockets=2 CoresPerSocket=6", 12, &[]);
    check("Sockets=2 CPUs=16", 16, &[]);
    check("Boards=2 SocketsPerBoard=2 CoresPerSocket=4", 16, &[]);
    check("CoresPerSocket=4 CPUs=8", 8, &[]);
    check("CPUs=12 Sockets=2 CoresPerSocket=6 CoreSpecCount=2", 10, &[]);
    let threads = "1 ThreadsPerCore: jobs are given whole cores, not one of 2 threads";
    check("CPUs=32 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 16, &[threads]);
    check("CPUs=32 ThreadsPerCore=2", 16, &[threads]);
    let odd = "1 CPUs: it is neither the 12 cores of sockets and boards nor their threads: the cores count";
    check("CPUs=7 Sockets=2 CoresPerSocket=6", 12, &[odd]);
}

#[test]
fn defaults_lie_under_what_follows_and_over_each_other() {
    let text =
        "NodeName=DEFAULT CPUs=4 Feature=a\nNodeName=n1\nNodeName=DEFAULT Feature=b\nNodeName=n2 CPUs=8\nNodeName=n3";
    let imported = of(text);
    let config = config(&imported);
    let found: Vec<_> = config.resource.entries.iter().map(|e| (e.cores.len(), e.properties.join(","))).collect();
    assert_eq!(found, [(4, "a".into()), (8, "b".into()), (4, "b".into())]);
    let unused = of("NodeName=DEFAULT CPUs=4\nNodeName=n1 CPUs=2");
    assert_eq!(looks(&unused), ["1 CPUs: nothing that follows uses it"]);
}

#[test]
fn gres_become_gpus_and_properties() {
    let imported = of("NodeName=a Gres=gpu:a100:2,gpu:v100:1(S:0),fpga:2,craynetwork:no_consume:4K");
    let entry = &config(&imported).resource.entries[0];
    assert_eq!((entry.gpus.len(), entry.properties.join(",")), (3, "a100,v100,fpga,craynetwork".into()));
    assert_eq!(
        looks(&imported),
        [
            "1 Gres: nodes have cores and gpus, nothing else: of the 2 fpga remains a property of that name",
            "1 Gres: nodes have cores and gpus, nothing else: of the 4096 craynetwork remains a property of that name",
        ]
    );
    let beside = of(
        "NodeName=a[1-2] Gres=gpu:2\nNodeName=a[1-2] Name=gpu Count=2 File=/dev/g[0-1]\nNodeName=a1 Name=gpu Count=3\n",
    );
    assert_eq!(
        looks(&beside).first().map(String::as_str),
        Some("3 NodeName: slurm.conf says that a[1-2] has 2 gpus, and that counts")
    );
}

#[test]
fn nodes_stand_in_the_order_of_their_weight() {
    let config = config(&of("NodeName=a Weight=5\nNodeName=b\nNodeName=c Weight=3 State=FUTURE\nNodeName=d Weight=1"));
    let order: Vec<String> = config.resource.entries.iter().map(|entry| entry.hosts.to_string()).collect();
    assert_eq!(order, ["b", "d", "c", "a"]);
    assert_eq!(config.resource.exclude.as_deref(), Some("c"));
}

#[test]
fn partitions_become_queues() {
    let text = "NodeName=n[1-8] CPUs=4 Feature=x\nNodeSet=odd Nodes=n[1,3]\nNodeSet=x Feature=x\n\
        PartitionName=DEFAULT MaxTime=1-0\n\
        PartitionName=\"a b\" Nodes=odd,n5 DefaultTime=90 MaxNodes=2 MinNodes=2 Priority=3 Default=yes OverSubscribe=EXCLUSIVE\n\
        partitionname=all Nodes=ALL MaxTime=infinite AllowGroups=g,h PriorityTier=1 Priority=9\n\
        PartitionName=x Nodes=x,nowhere State=DOWN PriorityTier=2";
    let imported = of(text);
    let config = config(&imported);
    let queue = &config.queues["a-b"];
    let hosts = |members: &Members| match members {
        Members::Hosts(hosts) => hosts.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(hosts(&queue.members), "n[1,3,5]");
    assert_eq!(queue.policy.limits.duration.map(|d| d.micros()), Some(86_400_000_000));
    assert_eq!(queue.policy.defaults.duration.map(|d| d.micros()), Some(5_400_000_000));
    let limits = &queue.policy.limits;
    assert_eq!((limits.job_size_max.nnodes, limits.job_size_min.nnodes), (Some(2), Some(2)));
    assert_eq!(queue.policy.scheduler.precedence, 3);
    assert_eq!(queue.policy.scheduler.match_policy.name(), "firstnodex");
    assert_eq!(config.default_queue().map(|queue| queue.name.as_str()), Some("a-b"));
    let all = &config.queues["all"];
    assert_eq!((hosts(&all.members), all.policy.limits.duration), ("All".to_owned(), None));
    assert_eq!(all.policy.access.allow_group, ["g", "h"]);
    let x = &config.queues["x"];
    assert_eq!((hosts(&x.members), x.policy.defaults.duration), ("n[1-8]".into(), queue.policy.limits.duration));
    insta::assert_snapshot!(looks(&imported).join("\n"), @r#"
    5 PartitionName: no queue can be called "a b": here it is a-b
    6 Nodes: n[1,3,5]: also in partition a-b, of a higher tier: here the nodes are that queue's alone while it is started
    6 Nodes: n[1-8]: also in partition x, of a higher tier: here the nodes are that queue's alone while it is started
    6 AllowGroups: who is in these groups does not stand in slurm.conf: nobody is let in until it is said
    6 Priority: priorities are not computed; `PriorityTier` counts
    7 Nodes: no line describes nowhere: left out
    7 Nodes: n[1,3,5]: also in partition a-b, of a higher tier: here the nodes are that queue's alone while it is started
    7 State: whether a queue is DOWN is state, not configuration
    "#);
}

#[test]
fn partitions_of_one_tier_take_shared_nodes() {
    let imported =
        of("NodeName=n[1-4]\nPartitionName=a Nodes=n[1-2]\nPartitionName=b Nodes=ALL\nPartitionName=c Nodes=n4");
    let config = config(&imported);
    let overlaps: Vec<_> = config.queues.values().map(|queue| queue.policy.scheduler.overlap.name()).collect();
    assert_eq!(overlaps, ["take", "refuse", "take"]);
}

#[test]
fn the_cluster_gives_policy_and_pools() {
    let imported = of(
        "NodeName=n1\nSchedulerType=sched/builtin\nSchedulerType=sched/backfill\nselecttype=select/linear\n\
        Licenses=a*4,b,node*2,c*0\nSchedulerParameters=bf_max_job_test=7,bf_new_thing\nEnforcePartLimits=NO\nSchedulrType=x",
    );
    let config = config(&imported);
    let scheduler = &config.policy.scheduler;
    assert_eq!((scheduler.queue_policy.name(), scheduler.queue_depth), ("hybrid", Some(7)));
    assert_eq!(scheduler.match_policy.name(), "firstnodex");
    let pools: Vec<_> = config.resource.pools.iter().map(|pool| (pool.kind.as_str(), pool.size)).collect();
    assert_eq!(pools, [("a", 4), ("b", 1)]);
    insta::assert_snapshot!(looks(&imported).join("\n"), @r#"
    2 SchedulerType: the key stands again further down, and that counts
    5 Licenses: a pool cannot be called "node"
    5 Licenses: c: a pool of nothing is left out
    6 SchedulerParameters: bf_new_thing: no such parameter of a scheduler is known here
    7 EnforcePartLimits: a job beyond the limits of its queue is denied when it is submitted; it does not wait
    8 SchedulrType: no key of that name is known
    "#);
}

#[test]
fn switches_become_properties() {
    let imported =
        of("NodeName=n[1-4]\nSwitchName=l1 Nodes=n[1-2]\nSwitchName=l2 Nodes=n3\nSwitchName=m Switches=l[1-2]\n\
        SwitchName=top Switches=m,l3,top\nSwitchName=l3 Nodes=n[4,9] LinkSpeed=10\nSwitchName=gone Nodes=z");
    let config = config(&imported);
    let places: Vec<String> =
        config.resource.entries[1..].iter().map(|e| format!("{} {}", e.properties.join(","), e.hosts)).collect();
    assert_eq!(places, ["switch-l1 n[1-2]", "switch-l2 n3", "switch-m n[1-3]", "switch-l3 n4"]);
    insta::assert_snapshot!(looks(&imported).join("\n"), @r#"
    6 Nodes: no line describes n9: left out
    7 SwitchName: no node below the switch is described
    7 Nodes: no line describes z: left out
    7 Nodes: no node below the switch is described
    "#);
}

#[test]
fn includes_stand_where_they_are() {
    let files = [
        ("etc/s", "NodeName=DEFAULT CPUs=2\nInclude parts/nodes.conf\nNodeName=b"),
        ("etc/parts/nodes.conf", "NodeName=a\nNodeName=DEFAULT CPUs=3"),
    ];
    let imported = import_all(&files).expect("both files");
    let cores: Vec<_> = config(&imported).resource.entries.iter().map(|entry| entry.cores.len()).collect();
    assert_eq!(cores, [2, 3]);
    let places: Vec<_> = imported.keys.iter().map(|key| format!("{}:{}", key.file, key.line)).collect();
    assert_eq!(places[2..4], ["etc/parts/nodes.conf:1", "etc/parts/nodes.conf:2"]);
}

#[test]
fn errors_say_where() {
    let told = |files: &[(&str, &str)]| {
        let errors = import_all(files).expect_err("errors");
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let text = "NodeName=n[1-2 CPUs=x\nNodeName=a CPUs=0 Weight=many\nNodeName=a CoreSpecCount=1\nwhat is this\n\
        PartitionName=p Nodes=a MaxTime=soon MaxNodes=few\nPartitionName=p Nodes=a\nLicenses=l*many,m,m\n\
        SchedulerParameters=bf_max_job_test=0\nInclude s\nInclude gone\nInclude %c.conf\nSwitchName=s Nodes=a\nSwitchName=s Nodes=a\n\
        Include locked";
    insta::assert_snapshot!(told(&[("s", text), ("locked", "(locked)")]), @r#"
    gone: there is no such file
    locked: cannot read it: permission denied
    s:1: NodeName: invalid hostlist: unbalanced bracket at byte 1
    s:2: CPUs: expected 1 or more, found 0
    s:2: Weight: expected a whole number, found "many"
    s:3: CoreSpecCount: expected fewer than the cores of the node
    s:3: node a is described twice, first at s:2
    s:4: expected Key=Value, found "what is this"
    s:5: MaxTime: expected a time as 90, 1:30:00 or 2-12, or UNLIMITED, found "soon"
    s:5: MaxNodes: expected a whole number, found "few"
    s:6: partition p is described twice, first at s:5
    s:7: Licenses: expected a number behind l, found "many"
    s:7: licence m is there twice
    s:8: bf_max_job_test: expected a number from 1, found "0"
    s:9: s includes itself: s
    s:11: expected the name of a file, found "%c.conf": write out what stands for it
    s:13: switch s is described twice
    "#);
}

/// Lines of known and unknown keys, right and wrong.
fn lines() -> impl Strategy<Value = String> {
    let pair = prop::sample::select(vec![
        "CPUs=4",
        "Sockets=2",
        "Feature=a,b",
        "Gres=gpu:2,fpga:1",
        "Weight=7",
        "State=DOWN",
        "State=UP",
        "RealMemory=1",
        "Foo=1",
        "MaxTime=1-0",
        "DefaultTime=5",
        "MaxNodes=3",
        "MinNodes=1",
        "PriorityTier=5",
        "Priority=2",
        "AllowGroups=g",
        "Default=YES",
        "OverSubscribe=FORCE:2",
        "QOS=x",
        "Nodes=n1",
        "Nodes=ALL",
        "Hidden=YES",
        "PreemptMode=OFF",
        "LLN=no",
        "SchedulerType=sched/backfill",
        "Licenses=a*2",
        "SlurmUser=x",
        "Reason=\"a b\"",
        "GraceTime=4",
        "Count=2",
        "Name=gpu",
        "SchedulerParameters=bf_max_job_test=3,bf_x=1",
        "SelectType=select/linear",
        "KillWait=3",
        "Switches=s",
        "Cores=0-1",
        "SelectTypeParameters=CR_Core_Memory,CR_LLN",
        "PriorityType=x",
        "Port=1",
        "ThreadsPerCore=2",
        "Feature=c",
    ]);
    let head = prop_oneof![
        3 => (0..6u32).prop_map(|n| format!("NodeName=n{n}")),
        1 => Just("NodeName=DEFAULT".to_owned()),
        3 => (0..4u32).prop_map(|n| format!("PartitionName=p{n}")),
        1 => Just("PartitionName=DEFAULT".to_owned()),
        1 => (0..2u32).prop_map(|n| format!("SwitchName=s{n} Nodes=n{n}")),
        1 => (0..2u32).prop_map(|n| format!("NodeSet=set{n} Nodes=n{n}")),
        1 => Just("DownNodes=n1".to_owned()),
        2 => Just(String::new()),
    ];
    (head, prop::collection::vec(pair, 0..5)).prop_map(|(head, pairs)| format!("{head} {}", pairs.join(" ")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// Every key of the input comes back, in its place, converted or with a reason; what is made is a configuration.
    #[test]
    fn nothing_is_left_out_in_silence(lines in prop::collection::vec(lines(), 0..14)) {
        let text = lines.join("\n");
        let Ok(imported) = import_all(&[("s", &text)]) else { return Ok(()) };
        prop_assert!(Config::parse(&imported.text, "made").is_ok(), "{}\n{}", text, imported.text);
        let mut keys = imported.keys.iter();
        for (index, line) in lines.iter().enumerate() {
            for word in line.replace("\"a b\"", "ab").split_whitespace() {
                let key = keys.next().expect("a key for each of the input");
                prop_assert_eq!((key.line, key.key.as_str()), (index + 1, word.split('=').next().unwrap_or_default()));
                prop_assert!(!key.became.is_empty() || !key.notes.is_empty(), "{:?}", key);
                prop_assert!(key.notes.iter().all(|note| !note.why.is_empty()), "{:?}", key);
            }
        }
        prop_assert!(keys.next().is_none());
    }
}
