use super::*;
use proptest::prelude::*;

fn shared() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("SLUICE_SHARED")
        .map_or_else(|| std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), std::path::PathBuf::from);
    let there = path.join("data").is_dir();
    if !there {
        eprintln!("skipped: no shared data at {}", path.display());
    }
    there.then_some(path)
}

/// Parts as `kind:id(parts)`, with `=size` where it is not 1.
fn outline(parts: &[Part]) -> String {
    let part = |part: &Part| {
        let size = match part.size {
            Some(1) => String::new(),
            Some(size) => format!("={size}"),
            None => "=?".to_owned(),
        };
        let below = if part.parts.is_empty() { String::new() } else { format!("({})", outline(&part.parts)) };
        format!("{}:{}{size}{below}", part.kind.word(), part.id)
    };
    parts.iter().map(part).collect::<Vec<_>>().join(" ")
}

fn check(version: &str, objects: &str, expected: &str) {
    let text = format!("<topology version=\"{version}\"><object type=\"Machine\">{objects}</object></topology>");
    let text = text.replace('[', "<object type=\"").replace(']', "</object>");
    let found = Hwloc::parse(&text).unwrap_or_else(|e| panic!("{e} in {text}"));
    assert_eq!(outline(&found.parts), expected, "{objects}");
}

#[test]
fn arranges_objects_as_hwloc_does() {
    // A core of two threads, one of one.
    let cores = "[Core\">[PU\">][PU\">]][Core\">[PU\">]]";
    let counted = "core:0(pu:0 pu:1) core:1(pu:2)";
    check("2.0", cores, counted);
    // A cache of one core says nothing, one of two does.
    let l2 = |inner: &str| format!("[L2Cache\" cache_size=\"2048\">{inner}]");
    check("2.0", &format!("[Package\">{}]", l2(cores)), &format!("socket:0({counted})"));
    let core = "[Core\">[PU\">]]";
    check("2.0", &l2(core).repeat(2), "core:0(pu:0) core:1(pu:1)");
    check(
        "2.0",
        &l2(&core.repeat(2)).repeat(2),
        "L2cache:0=2(core:0(pu:0) core:1(pu:1)) L2cache:1=2(core:2(pu:2) core:3(pu:3))",
    );
    // Caches that are alike: the upper stays, if any.
    let both =
        "[L3Cache\" cache_size=\"4096\">[L2Cache\" cache_size=\"1024\">CORES]]".replace("CORES", &core.repeat(2));
    check("2.0", &both.repeat(2), "L3cache:0=4(core:0(pu:0) core:1(pu:1)) L3cache:1=4(core:2(pu:2) core:3(pu:3))");
    // Version 1: what is in a NUMA node is beside it, and its devices with its only child.
    let numa = "[NUMANode\">[Socket\">[Core\">]][Bridge\">[OSDev\" osdev_type=\"5\" name=\"cuda1\">]]]";
    check("1", &numa.repeat(2), "socket:0(core:0 numanode:0 gpu:1) socket:1(core:1 numanode:1 gpu:1)");
    let numa = "[NUMANode\">[Socket\">[Core\">]][Socket\">[Core\">]]]";
    check(
        "1.0",
        &numa.repeat(2),
        "group:0(socket:0(core:0) socket:1(core:1) numanode:0) group:1(socket:2(core:2) socket:3(core:3) numanode:1)",
    );
    // Version 2: memory is after cores wherever it stands.
    check("2.0", "[NUMANode\">][Core\">]", "core:0 numanode:0");
}

#[test]
fn counts_devices_through_the_whole_tree() {
    let osdev = |kind: u32, name: &str, infos: &str| format!("[OSDev\" osdev_type=\"{kind}\" name=\"{name}\">{infos}]");
    let size = "<info name=\"Size\" value=\"2500000\"/><info name=\"LinuxDeviceID\" value=\"8:0\"/>";
    let devices = [
        osdev(4, "dma0", ""),
        osdev(2, "eno1", ""),
        osdev(0, "sda", size),
        osdev(1, "rsmi3", ""),
        osdev(1, "card0", ""),
        osdev(5, "opencl1d2", ""),
        osdev(5, "mic", ""),
        osdev(0, "sdb", ""),
    ];
    let all = format!("[Bridge\">[PCIDev\">{}]]", devices.concat());
    check("2.0", &all, "storage:1=2 gpu:3 gpu:2 gpu:5 storage:6=?");
}

#[test]
fn refuses() {
    let topology = |inner: &str| format!("<topology>{inner}</topology>");
    let cases = [
        ("<graphml/>".to_owned(), "expected the element <topology>, found <graphml> at line 1, column 1"),
        ("<topology version=\"3.0\"/>".to_owned(), "expected version 1 or 2, found `3.0` at line 1, column 1"),
        (topology(""), "expected an <object> in <topology>, found none at line 1, column 1"),
        (topology("<object/>"), "expected an attribute `type` of <object>, found none at line 1, column 11"),
        (topology("<object type='Core'/>"), "expected an object of type `Machine`, found `Core` at line 1, column 11"),
        (
            topology("<object type='Machine'/><object type='Machine'/>"),
            "expected one <object> in <topology>, found a second at line 1, column 35",
        ),
        (
            topology("<object type='Machine'><object type='Cache'/></object>"),
            "expected a `depth` of the cache, found none at line 1, column 34",
        ),
        (
            topology("<object type='Machine'><object type='L2Cache' cache_size='-1'/></object>"),
            "expected a number as cache_size, found `-1` at line 1, column 34",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(Hwloc::parse(text).unwrap_err().to_string(), message);
    }
    assert_eq!(
        AllowList::parse("node,cores").unwrap_err().to_string(),
        "expected a type among cluster, node, group, numanode, socket, L1cache, L2cache, L3cache, core, pu, gpu, storage, \
         found \"cores\""
    );
}

#[test]
fn allow_lists_say_what_is_wanted() {
    let some = AllowList::parse("node, core,,").unwrap();
    assert!(some.allows("core") && !some.allows("pu"));
    assert!(AllowList::parse("").unwrap().allows("pu") && AllowList::all().allows("pu"));
}

fn count(parts: &[Part], counts: &mut std::collections::BTreeMap<&'static str, usize>) {
    for part in parts {
        *counts.entry(part.kind.word()).or_default() += 1;
        count(&part.parts, counts);
    }
}

#[test]
fn reads_real_nodes() {
    let Some(shared) = shared() else { return };
    let (ours, core) = (shared.join("data/fluxion/t/data/hwloc-data"), shared.join("data/flux-core/t/hwloc-data"));
    // Sockets, cores, threads, NUMA nodes, GPUs, disks: cores to NUMA nodes as often as they stand in the file.
    let cases = [
        (ours.join("001N/amd_gpu/corona11.xml"), "corona11", [2, 48, 96, 8, 4, 1]),
        (ours.join("001N/exclusive/01-brokers/0.xml"), "cab1234", [2, 16, 16, 2, 0, 0]),
        (ours.join("001N/exclusive/01-brokers-sierra2/0.xml"), "sierra3682", [2, 44, 176, 6, 4, 1]),
        (ours.join("001N/multi_gpu_types/chimera.xml"), "chimera", [1, 32, 64, 4, 2, 2]),
        (ours.join("001N/node_local_storage/catalyst/0.xml"), "catalyst321", [2, 24, 48, 2, 0, 4]),
        (ours.join("001N/node_local_storage/corona/0.xml"), "corona116", [2, 48, 96, 8, 0, 1]),
        (ours.join("001N/node_local_storage/lassen/0.xml"), "lassen6", [2, 40, 160, 2, 4, 1]),
        (core.join("corona.xml"), "corona263", [2, 48, 96, 2, 8, 3]),
        (core.join("ipa20.xml"), "testhost-nvidia", [2, 112, 224, 8, 8, 2]),
        (core.join("sierra.xml"), "sierra3682", [2, 44, 176, 6, 4, 1]),
        (core.join("tuo.SPX.xml"), "testhost-amd", [4, 96, 192, 4, 4, 33]),
        (core.join("tuo.TPX.xml"), "testhost-amd", [4, 96, 192, 4, 12, 33]),
        (core.join("tuo.CPX.xml"), "testhost-amd", [4, 96, 192, 4, 24, 33]),
    ];
    for (file, host, numbers) in cases {
        let text = std::fs::read_to_string(&file).unwrap();
        let found = Hwloc::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        assert_eq!(found.host.as_deref(), Some(host));
        let mut counts = std::collections::BTreeMap::new();
        count(&found.parts, &mut counts);
        let words = ["socket", "core", "pu", "numanode", "gpu", "storage"];
        let has = words.map(|word| counts.get(word).copied().unwrap_or_default());
        assert_eq!(has, numbers, "{}", file.display());
        for (word, names) in [("core", "Core"), ("pu", "PU"), ("numanode", "NUMANode")] {
            let stands = text.matches(&format!("<object type=\"{names}\"")).count();
            assert_eq!(counts.get(word).copied().unwrap_or_default(), stands, "{} {word}", file.display());
        }
    }
}

proptest! {
    #![proptest_config(crate::base::testing::config(256))]
    #[test]
    fn any_tree_gives_a_node(
        seeds in prop::collection::vec((0..14usize, any::<prop::sample::Index>()), 0..40),
        version in 1..3u32,
    ) {
        let kinds = ["Package", "Core", "PU", "Group", "Group\" depth=\"1", "L2Cache", "L1Cache", "L1iCache", "NUMANode",
            "Bridge", "PCIDev", "OSDev\" osdev_type=\"0", "OSDev\" osdev_type=\"5", "Die"];
        let parents: Vec<usize> = seeds.iter().enumerate().map(|(i, (_, above))| above.index(i + 1)).collect();
        let mut bodies = vec![String::new(); seeds.len() + 1];
        for (i, (kind, _)) in seeds.iter().enumerate().rev() {
            let body = std::mem::take(&mut bodies[i + 1]);
            bodies[parents[i]].insert_str(0, &format!("<object type=\"{}\">{body}</object>", kinds[*kind]));
        }
        let text = format!("<topology version=\"{version}.0\"><object type=\"Machine\">{}</object></topology>", bodies[0]);
        let node = Hwloc::parse(&text).unwrap();
        let mut counts = std::collections::BTreeMap::new();
        count(&node.parts, &mut counts);
        // Nothing but groups and caches is ever lost.
        for (word, names) in [("core", "Core"), ("pu", "PU"), ("numanode", "NUMANode"), ("gpu", "OSDev\" osdev_type=\"5")] {
            let stands = text.matches(&format!("<object type=\"{names}\">")).count();
            prop_assert_eq!(counts.get(word).copied().unwrap_or_default(), stands);
        }
    }

    #[test]
    fn any_bytes_give_a_value_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = Hwloc::parse(&bytes);
    }
}
