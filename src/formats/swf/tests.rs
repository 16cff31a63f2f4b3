//! Traces: every trap, refused inputs with their words, round trips, and the counts of the public traces.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use std::io::Write;
use std::path::PathBuf;

const LINE: &str = "1 0 -1 60 2 -1 -1 2 100 -1 1 7 8 9 1 2 -1 -1";

fn parse(text: &str) -> Swf {
    read_bytes(text.as_bytes()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Line and words of the warnings.
fn warnings(text: &str) -> Vec<String> {
    parse(text).warnings.iter().map(SwfWarning::to_string).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn columns_have_their_names() {
    let job = &parse("1 2 3 4 5 6.5 7 8 9 10 11 12 13 14 15 16 17 18").jobs[0];
    let expected = SwfJob {
        line: 1,
        id: 1,
        submit: 2,
        wait: 3,
        run: 4,
        procs: 5,
        avg_cpu: 6.5,
        used_mem: 7,
        req_procs: 8,
        req_time: 9,
        req_mem: 10,
        status: 11,
        user: 12,
        group: 13,
        executable: 14,
        queue: 15,
        partition: 16,
        preceding: 17,
        think: 18,
        extra: None,
    };
    assert_eq!(*job, expected);
}

#[test]
fn white_space_does_not_matter() {
    let plain = parse(&format!("{LINE}\n{LINE}")).jobs;
    let tabs = LINE.replace(' ', "\t");
    let odd = parse(&format!("\u{feff}\n  {LINE}  \r\n\n \t\r\n\t{tabs}")).jobs;
    assert_eq!(odd.iter().map(|job| job.line).collect::<Vec<_>>(), [2, 5]);
    let without_lines = |jobs: Vec<SwfJob>| jobs.into_iter().map(|job| SwfJob { line: 0, ..job }).collect::<Vec<_>>();
    assert_eq!(without_lines(odd), without_lines(plain));
    assert_eq!(parse("").jobs.len(), 0);
    assert_eq!(parse("; MaxProcs: 4").jobs.len(), 0);
}

#[test]
fn rules_of_a_request() {
    let job = SwfJob::unknown(1);
    assert_eq!((job.size(), job.limit(), job.run_time()), (None, None, Duration::ZERO));
    let job = SwfJob { procs: 4, req_time: 0, run: -1_359_981_026, ..job };
    assert_eq!((job.size(), job.limit(), job.run_time()), (Some(4), None, Duration::ZERO));
    let job = SwfJob { req_procs: 3, req_time: 2_147_483_647, run: 12, ..job };
    assert_eq!(job.size(), Some(3));
    assert_eq!(job.limit(), Some(Duration::from_secs(2_147_483_647)));
    assert_eq!(job.run_time(), Duration::from_secs(12));
    let job = SwfJob { req_time: i64::MAX, req_procs: 0, procs: 0, ..job };
    assert_eq!((job.size(), job.limit()), (None, Some(Duration::INFINITE)));
}

#[test]
fn odd_but_kept() {
    let cases = [
        ("1 0 -1 60 2 -1 -1 2 100 -1 1 7 8 9 1 2 -1", vec!["line 1: expected 18 columns, found 17"]),
        (
            "1 0 -1 60 2 -1 -1 2 100 -1 1 7 8 9 1 2 -1 -1 {} q - x y",
            vec!["line 1: expected at most 21 columns, found more"],
        ),
        (
            "1 9 -1 60 2 -1 -1 2 100 -1 1 7 8 9 1 2 -1 -1\n\n1 8 -1 60 2 -1 -1 2 100 -1 1 7 8 9 1 2 -1 -1",
            vec!["line 3: submit time is before that of the job above", "line 3: an earlier job has the same id"],
        ),
        (
            "1 0 -1 -60 2 -1 -7 2 100 -1 1 7 8 9 1 2 -1 -1",
            vec!["line 1: column 4 (run time) is below -1", "line 1: column 7 (used memory) is below -1"],
        ),
        (
            "1 0.5 -1 60.0 2 12.25 -1 2 1e2 -1 1 7 8 9 1 2 -1 -1",
            vec!["line 1: column 2 (submit time) has a fraction, rounded"],
        ),
        ("; MaxProcs: many\n;Queue: x", vec!["line 1: expected a number in this header field, found none"; 1]),
    ];
    for (text, expected) in &cases[..5] {
        assert_eq!(warnings(text), *expected, "{text}");
    }
    let (text, expected) = &cases[5];
    assert_eq!(warnings(text)[..1], expected[..], "{text}");
    assert_eq!(warnings(text).len(), 2);
    let job = &parse(cases[4].0).jobs[0];
    assert_eq!((job.submit, job.run, job.avg_cpu, job.req_time), (1, 60, 12.25, 100));
}

#[test]
fn ids_that_do_not_ascend() {
    let text: String = [5, 3, 5, 9, 3, 9, 4].iter().map(|id| format!("{id}{}\n", &LINE[1..])).collect();
    let repeated: Vec<u32> = parse(&text).warnings.iter().map(|warning| warning.line).collect();
    assert_eq!(repeated, [3, 5, 6]);
}

#[test]
fn extra_columns() {
    let job = &parse(&format!("{LINE} {{7,7,8}} q_2h 1:ppn=1:brno")).jobs[0];
    let expected = Extra {
        executed_nodes: vec![7, 7, 8],
        queue_name: Some("q_2h".to_owned()),
        node_spec: Some("1:ppn=1:brno".to_owned()),
    };
    assert_eq!(job.extra.as_deref(), Some(&expected));
    assert_eq!(job.queue_name(), Some("q_2h"));
    let job = &parse(&format!("{LINE} {{}} -1")).jobs[0];
    assert_eq!(job.extra.as_deref(), Some(&Extra::default()));
    assert_eq!(job.queue_name(), None);
}

#[test]
fn header_fields() {
    let text = b"; a log\n;Computer: IBM\n; Information: http://a.b/\n;              http://c.d/\n;\n; 1| 2\n\
        ; Note: M\xfcnchen\n; MaxProcs:  9216 (1152 nodes)\n; MaxNodes: 1152\n;Partition:  1  pbatch     \n\
        ;  Queue: 0 - Interactive jobs - normal priority\n; Queue: 6 No_Class\n; UnixStartTime: -5\n; MaxProcs: 1\n";
    let Swf { header, warnings, .. } = read_bytes(text).unwrap();
    assert_eq!(header.max_procs, Some(9216));
    assert_eq!(header.max_nodes, Some(1152));
    assert_eq!(header.unix_start_time, Some(-5));
    assert_eq!(header.partitions.iter().collect::<Vec<_>>(), [(&1, &"pbatch".to_owned())]);
    assert_eq!(header.queues.get(&0).map(String::as_str), Some("Interactive"));
    assert_eq!(header.queues.get(&6).map(String::as_str), Some("No_Class"));
    assert_eq!(header.get("Information"), Some("http://a.b/\nhttp://c.d/"));
    assert_eq!(header.notes().collect::<Vec<_>>(), ["München"]);
    let keyless: Vec<&str> = header.fields().iter().filter(|(key, _)| key.is_empty()).map(|(_, v)| &**v).collect();
    assert_eq!(keyless, ["a log", "1| 2"]);
    assert_eq!(warnings, [SwfWarning { line: 7, what: Warning::Encoding }]);
}

#[test]
fn refused() {
    let cut = &LINE[..LINE.len() - 9];
    let with = |at: usize, word: &str| {
        let mut words: Vec<&str> = LINE.split(' ').collect();
        words[at] = word;
        words.join(" ")
    };
    let cases = [
        (format!("\n{cut}"), "line 2: expected 18 columns, found 14"),
        (format!(";\n{LINE}\nrubbish"), "line 3, column 1 (job number): expected a number, found `rubbish`"),
        (with(0, "-1"), "line 1, column 1 (job number): expected a number of at least 0, found `-1`"),
        (with(3, "12s"), "line 1, column 4 (run time): expected a number, found `12s`"),
        (with(3, "-"), "line 1, column 4 (run time): expected a number, found `-`"),
        (with(5, "nan"), "line 1, column 6 (average CPU time): expected a number of at most 64 bits, found `nan`"),
        (with(8, "inf"), "line 1, column 9 (requested time): expected a number of at most 64 bits, found `inf`"),
        (
            with(8, "9223372036854775808"),
            "line 1, column 9 (requested time): expected a number of at most 64 bits, found `9223372036854775808`",
        ),
        (format!("{LINE} 17"), "line 1, column 19 (executed nodes): expected node numbers as in {1,2}, found `17`"),
        (
            format!("{LINE} {{1,,2}} q"),
            "line 1, column 19 (executed nodes): expected node numbers as in {1,2}, found `{1,,2}`",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(read_bytes(text.as_bytes()).map_err(|e| e.to_string()), Err(message.to_owned()), "{text}");
    }
    assert_eq!(parse(&with(8, "9223372036854775807")).jobs[0].req_time, i64::MAX);
    let broken = read_bytes(b"\x1f\x8bxx").map_err(|e| e.to_string()).unwrap_err();
    assert!(broken.starts_with("expected gzip data as the first two bytes say, found: "), "{broken}");
    let mut short = gzip(LINE.repeat(100).as_bytes());
    short.truncate(short.len() - 9);
    assert!(matches!(read_bytes(&short), Err(SwfError::Gzip(_))));
}

#[test]
fn gzip_and_readers() {
    let text = format!("; MaxProcs: 3\n{LINE}\n");
    let plain = parse(&text);
    assert_eq!(read_bytes(&gzip(text.as_bytes())).unwrap(), plain);
    let mut members = gzip(b"; MaxProcs: 3\n");
    members.extend(gzip(format!("{LINE}\n").as_bytes()));
    assert_eq!(read(&mut &members[..]).unwrap(), plain, "several gzip members make one file");
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no disk"))
        }
    }
    assert_eq!(read(&mut Broken).map_err(|e| e.to_string()), Err("cannot read the trace: no disk".to_owned()));
}

fn trace(name: &str) -> Option<Swf> {
    let root = std::env::var_os("SLUICE_SHARED").map(PathBuf::from);
    let root = root.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")));
    let path = root.join("data/traces").join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Some(read_bytes(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"))),
        Err(e) => {
            eprintln!("skipped: {}: {e}", path.display());
            None
        }
    }
}

#[test]
fn public_traces() {
    let table = [
        ("KTH-SP2-1996-2-sc15filter.swf.gz", 28_481, Some(100), 0),
        ("KTH-SP2-1996-2.swf.gz", 28_489, Some(100), 0),
        ("UniLu-Gaia-2014-1.swf.gz", 51_987, Some(2_004), 0),
        // Two jobs have a run time far below zero.
        ("wagap-2013.swf.gz", 17_900, None, 2),
        ("LLNL-Atlas-2006-2.1-cln.swf.gz", 43_778, Some(9_216), 0),
        ("SDSC-SP2-1998-4-first4961.swf", 4_961, Some(128), 0),
        ("theta_2022.swf.gz", 23_911, Some(4_360), 0),
    ];
    for (name, jobs, procs, warnings) in table {
        let Some(swf) = trace(name) else { continue };
        assert_eq!((swf.jobs.len(), swf.header.max_procs), (jobs, procs), "{name}");
        assert_eq!(swf.warnings.len(), warnings, "{name}: {:?}", swf.warnings.first());
        let mut text = Vec::new();
        swf.write(&mut text).unwrap();
        assert_same(&read_bytes(&text).unwrap(), &swf);
    }
}

#[test]
fn raw_kth_counts() {
    let Some(swf) = trace("KTH-SP2-1996-2.swf.gz") else { return };
    let count = |test: fn(&&SwfJob) -> bool| swf.jobs.iter().filter(test).count();
    assert_eq!(count(|job| job.limit().is_some_and(|limit| job.run_time() > limit)), 475);
    assert_eq!(count(|job| job.run_time() == Duration::ZERO), 8);
}

#[test]
fn atlas_counts() {
    let Some(swf) = trace("LLNL-Atlas-2006-2.1-cln.swf.gz") else { return };
    let count = |test: fn(&&SwfJob) -> bool| swf.jobs.iter().filter(test).count();
    assert_eq!(count(|job| job.size().is_none()), 4_571);
    assert_eq!(count(|job| job.limit().is_none()), 8_233);
    assert_eq!(count(|job| job.run_time() == Duration::ZERO), 7_178);
    assert_eq!(count(|job| job.req_time == 738_738_720), 1);
    let names: Vec<(i64, &str)> = swf.header.partitions.iter().map(|(n, name)| (*n, name.as_str())).collect();
    assert_eq!(names, [(1, "pbatch"), (2, "pdebug"), (3, "pbroke"), (4, "moody20")]);
}

#[test]
fn named_queues() {
    if let Some(swf) = trace("UniLu-Gaia-2014-1.swf.gz") {
        let names: Vec<(i64, &str)> = swf.header.queues.iter().map(|(n, name)| (*n, name.as_str())).collect();
        assert_eq!(names, [(0, "Interactive"), (1, "Normal"), (2, "Besteffort")]);
        assert_eq!(swf.header.max_nodes, Some(151));
    }
    if let Some(swf) = trace("wagap-2013.swf.gz") {
        let names: std::collections::BTreeSet<_> = swf.jobs.iter().filter_map(SwfJob::queue_name).collect();
        assert_eq!(names.len(), 11);
        assert!(swf.jobs.iter().all(|job| job.queue == -1));
        let nodes = |job: &SwfJob| job.extra.as_ref().map_or(0, |extra| extra.executed_nodes.len());
        assert_eq!(nodes(&swf.jobs[0]), 64);
    }
}

#[test]
fn numbers_of_every_length() {
    for digits in 1..=19 {
        for first in ["1", "9", "-1", "-9", "0", "-0"] {
            let number = format!("{first}{}", "7048159263748590126".get(..digits - 1).unwrap_or_default());
            let expected: i64 = match number.parse() {
                Ok(value) => value,
                Err(_) => continue,
            };
            let text = format!("1 {number} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\t{number}");
            let job = &parse(&text).jobs[0];
            assert_eq!((job.submit, job.think), (expected, expected), "{number}");
        }
    }
    for wrong in ["1/", "1:", "12345678x", "1234567\u{80}", "1\0", "+", "--1"] {
        let text = format!("1 {wrong} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0");
        let refused = read_bytes(text.as_bytes());
        assert!(matches!(refused, Err(SwfError::Number { column: 2, .. })), "{wrong}: {refused:?}");
    }
}

/// Equal but for line numbers and warnings.
fn assert_same(a: &Swf, b: &Swf) {
    assert_eq!(a.header, b.header);
    assert_eq!(a.jobs.len(), b.jobs.len());
    for (a, b) in a.jobs.iter().zip(&b.jobs) {
        assert_eq!(*a, SwfJob { line: a.line, ..b.clone() });
    }
}

fn any_job() -> impl Strategy<Value = SwfJob> {
    let number = || prop_oneof![Just(-1_i64), 0..1000_i64, any::<i64>()];
    let name = || proptest::option::of("[a-z_:=#]{1,8}");
    let extra = (proptest::collection::vec(0..10_000_u64, 0..4), name(), name())
        .prop_map(|(executed_nodes, queue_name, node_spec)| Extra { executed_nodes, queue_name, node_spec });
    let numbers = proptest::collection::vec(number(), 16);
    let avg_cpu = prop_oneof![Just(-1.0), 0.0..1e9_f64];
    (0..i64::MAX as u64, numbers, avg_cpu, proptest::option::of(extra)).prop_map(|(id, n, avg_cpu, extra)| SwfJob {
        submit: n[0],
        wait: n[1],
        run: n[2],
        procs: n[3],
        avg_cpu,
        used_mem: n[4],
        req_procs: n[5],
        req_time: n[6],
        req_mem: n[7],
        status: n[8],
        user: n[9],
        group: n[10],
        executable: n[11],
        queue: n[12],
        partition: n[13],
        preceding: n[14],
        think: n[15],
        extra: extra.map(Box::new),
        ..SwfJob::unknown(id)
    })
}

fn any_header() -> impl Strategy<Value = Header> {
    let line = prop_oneof![
        "[A-Z][a-z]{1,8}: [a-zä:/ ]{0,12}",
        "[a-z ]{0,9}",
        "(MaxProcs|MaxNodes|UnixStartTime): [0-9]{1,6}",
        "(Queue|Partition): [0-9]{1,2}( -)? [a-z]{1,5}",
    ];
    proptest::collection::vec(line, 0..6).prop_map(|lines| {
        let mut header = Header::default();
        lines.chunks(2).for_each(|pair| header.add(&pair.join("\n")));
        header
    })
}

proptest! {
    #![proptest_config(crate::base::testing::config(256))]
    #[test]
    fn round_trip(header in any_header(), jobs in proptest::collection::vec(any_job(), 0..6), zip: bool) {
        let swf = Swf { header, jobs, warnings: Vec::new() };
        let mut text = Vec::new();
        swf.write(&mut text).unwrap();
        assert_same(&read_bytes(&if zip { gzip(&text) } else { text }).unwrap(), &swf);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_bytes(&bytes);
        let _ = read_bytes(&[&[0x1f, 0x8b, 8, 0][..], &bytes[..]].concat());
    }

    #[test]
    fn no_near_text_panics(text in "([;0-9.,{}eE:\\- \\n\\t\\r-]|-1 ){0,200}") {
        let _ = read_bytes(text.as_bytes());
    }
}
