//! What each command answers, on a machine of two nodes.

use resource_query::{Flow, Options, Outputs, Parsed, Session};
use std::path::PathBuf;

const MACHINE: &str = r#"{"version": 1, "execution": {"R_lite": [{"rank": "0-1", "children": {"core": "0-1"}}],
    "nodelist": ["n[0-1]"], "starttime": 0, "expiration": 0}}"#;

/// A directory of files that goes away in the end.
struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("resource-query-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let files = Self(directory);
        files.add("machine.json", MACHINE);
        files.add("node.yaml", &jobspec("node", 1));
        files.add("rack.yaml", &jobspec("rack", 1));
        files.add("nodes.yaml", &jobspec("node", 3));
        files.add("widget.yaml", &jobspec("widget", 1));
        files.add(
            "first.json",
            &MACHINE.replace("\"0-1\", \"children\"", "\"0\", \"children\"").replace("n[0-1]", "n0"),
        );
        files
    }

    fn add(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn jobspec(kind: &str, count: u32) -> String {
    format!(
        "version: 9999\nresources: [{{type: slot, count: {count}, label: x, with: [{{type: {kind}, count: 1}}]}}]\n\
         attributes: {{system: {{duration: 60}}}}\ntasks: [{{command: [a], slot: x, count: {{per_slot: 1}}}}]\n"
    )
}

/// Results, console and errors of lines in which `@` stands for the directory.
fn run(files: &Files, options: &[&str], lines: &str) -> (String, String, String) {
    let directory = files.0.to_str().unwrap();
    let machine = format!("{directory}/machine.json");
    let arguments = ["-L", &machine, "-f", "rv1exec"].into_iter().chain(options.iter().copied());
    let Ok(Parsed::Run { options, .. }) = Options::parse(arguments.map(str::to_owned)) else { panic!("options") };
    let mut session = Session::new(*options).unwrap();
    let (mut results, mut console, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let mut outputs = Outputs::new(Some(&mut results), &mut console, &mut errors);
    session.introduce(&mut outputs).unwrap();
    session.lines(&lines.replace('@', directory), &mut outputs).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(directory, "@");
    (text(results), text(console), text(errors))
}

const LINE: &str = "INFO: =============================\n";

#[test]
fn matches_tell_what_became_of_them() {
    let files = Files::new("match");
    let (results, _, errors) = run(
        &files,
        &["-P", "low"],
        "match allocate @/node.yaml\nmatch allocate @/nodes.yaml\nmatch allocate_with_satisfiability @/nodes.yaml\n\
         match satisfiability @/node.yaml\nmatch satisfiability @/nodes.yaml\nmatch allocate @/widget.yaml\n\
         match allocate_orelse_reserve @/node.yaml\nmatch allocate_orelse_reserve @/node.yaml\n\
         match without_allocating_future @/node.yaml\nmatch maybe @/node.yaml\nmatch allocate\nmatch allocate @/none\n",
    );
    let node = |n| format!("      ------n{n}[1:x]\n      ---cluster0[1:s]\n");
    let matched =
        |job, mode, at| format!("{LINE}INFO: JOBID={job}\nINFO: RESOURCES={mode}\nINFO: SCHEDULED AT={at}\n{LINE}");
    let failed = |job, why| format!("{LINE}INFO: No matching resources found\n{why}INFO: JOBID={job}\n{LINE}");
    let expected = [
        node(0),
        matched(1, "ALLOCATED", "Now"),
        failed(2, ""),
        failed(3, "INFO: Unsatisfiable request\n"),
        format!("{LINE}INFO: Satisfiable request\n{LINE}"),
        format!("{LINE}INFO: Unsatisfiable request\n{LINE}"),
        failed(4, ""),
        node(1),
        matched(4, "ALLOCATED", "Now"),
        node(0),
        matched(5, "RESERVED", "60"),
        node(1),
        matched(6, "MATCHED", "60"),
    ];
    assert_eq!(results, expected.concat());
    assert_eq!(
        errors,
        "match_allocate: ERROR: Jobspec error for 4: Value of \"type\" must be a resource type known to fluxion\n\
         ERROR: unknown subcmd maybe\nERROR: malformed command\nERROR: can't open @/none\n"
    );
}

#[test]
fn jobs_are_listed_and_given_back() {
    let files = Files::new("jobs");
    let (results, console, errors) = run(
        &files,
        &["-P", "low", "-F", "rlite"],
        "multi-match allocate @/node.yaml @/node.yaml @/node.yaml\nmatch allocate_orelse_reserve @/node.yaml\n\
         partial-cancel 4 rv1exec @/first.json\npartial-cancel 1 rv1exec @/first.json stats\ncancel 1\ncancel 2\n\
         cancel 2\ninfo 2\ninfo 9\npartial-cancel 1 hwloc @/first.json\n",
    );
    assert!(
        results.contains("INFO: PARTIAL CANCEL PREORDER COUNT=\"0\"\nINFO: PARTIAL CANCEL POSTORDER COUNT=\"0\"\n"),
        "{results}"
    );
    assert_eq!(console.lines().count(), 1, "{console}");
    assert!(console.starts_with("INFO: 2, CANCELED, 0, @/node.yaml, "), "{console}");
    assert_eq!(
        errors,
        "ERROR: reservations not currently supported by partial cancel\ncancel: ERROR: nonexistent job 1\n\
         cancel: ERROR: nonexistent job 2\ninfo: ERROR: nonexistent job 9\nERROR: unsupported reader hwloc\n"
    );
}

#[test]
fn marks_and_properties_are_shown() {
    let files = Files::new("marks");
    let (results, _, errors) = run(
        &files,
        &[],
        "set-property /cluster0/n0 b=2\nset-property /cluster0/n0 a=1\nget-property /cluster0/n0\n\
         get-property /cluster0/n1\nget-property /no\nset-property /cluster0/n0 a=\nset-property /no a=1\n\
         set-status /cluster0/n1 down\nget-status /cluster0/n1\nget-status /no\nset-status /no up\n\
         set-status /cluster0/n0 broken\nfind status=down\nfind status=broken\nfind\n",
    );
    let expected = "a=1\nb=2\nNo properties were found for /cluster0/n1 (vtx's uniq_id=4).\n\
         Could not find path /no in resource graph.\n\
         Incorrect input format. \nPlease use `set-property <resource> PROPERTY=VALUE`.\n\
         Couldn't find path /no in resource graph.\n/cluster0/n1 is down\n\
         Could not find path /no in resource graph.\nCould not find path /no in resource graph.\n";
    let found = "      ---------core0[1:x]\n      ---------core1[1:x]\n      ------n1[1:x]\n      ---cluster0[1:x]\n";
    assert_eq!(results, format!("{expected}{found}{LINE}INFO: EXPRESSION=\"status=down\"\n{LINE}"));
    assert_eq!(
        errors,
        "ERROR: unrecognized status\nfindfind: invalid criteria: status=broken.\nERROR: malformed command: \n"
    );
}

#[test]
fn a_session_ends_where_it_is_told_to() {
    let files = Files::new("end");
    let (results, console, errors) =
        run(&files, &["-d"], "\n# a comment\n! match allocate @/node.yaml\nhelp q\nquit\nget-status /cluster0\n");
    assert_eq!((&*results, &*errors), ("", ""));
    assert_eq!(console, "INFO: quit (q) -- End the session: quit\n");
    let directory = files.0.to_str().unwrap();
    let arguments = ["-L", &format!("{directory}/machine.json"), "-f", "rv1exec"].map(str::to_owned);
    let Ok(Parsed::Run { options, .. }) = Options::parse(arguments) else { panic!("options") };
    let mut session = Session::new(*options).unwrap();
    assert_eq!(session.prompt(), Some("resource-query> "));
    let (mut console, mut errors) = (Vec::new(), Vec::new());
    let mut outputs = Outputs::new(None, &mut console, &mut errors);
    assert_eq!(session.line("get-status /cluster0", &mut outputs).unwrap(), Flow::Continue);
    assert_eq!(session.line("q", &mut outputs).unwrap(), Flow::End);
    assert_eq!(String::from_utf8(console).unwrap(), "/cluster0 is up\n");
}

#[test]
fn drawings_name_every_vertex() {
    let files = Files::new("drawing");
    let directory = files.0.to_str().unwrap();
    for (format, vertices, edges) in [("dot", "[label=\"core", "->"), ("graphml", "<node ", "<edge ")] {
        let base = format!("{directory}/drawing");
        let arguments = ["-L", &format!("{directory}/machine.json"), "-f", "rv1exec", "-g", format, "-o", &base];
        let Ok(Parsed::Run { options, .. }) = Options::parse(arguments.map(str::to_owned)) else { panic!("options") };
        let session = Session::new(*options).unwrap();
        let (mut console, mut errors) = (Vec::new(), Vec::new());
        session.finish(&mut Outputs::new(None, &mut console, &mut errors)).unwrap();
        let text = std::fs::read_to_string(format!("{base}.{format}")).unwrap();
        let expected = if format == "dot" { 4 } else { 7 };
        assert_eq!(text.matches(vertices).count(), expected, "{text}");
        assert_eq!(text.matches(edges).count(), 6, "{text}");
    }
}
