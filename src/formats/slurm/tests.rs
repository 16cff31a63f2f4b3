use super::*;

fn words(text: &str) -> (Vec<String>, Vec<String>) {
    let (statements, errors) = parse(text);
    let tell = |statement: &Statement| match statement {
        Statement::Include { file, line } => format!("{line} include {file}"),
        Statement::Pairs(pairs) => {
            pairs.iter().map(|p| format!("{} {}={}", p.line, p.key, p.value)).collect::<Vec<_>>().join("; ")
        }
    };
    (statements.iter().map(tell).collect(), errors.iter().map(ToString::to_string).collect())
}

#[test]
fn lines_are_read() {
    let check = |text: &str, expected: &[&str]| assert_eq!(words(text), (strings(expected), vec![]), "{text:?}");
    check("", &[]);
    check("# only\n \t \n", &[]);
    check("A=1", &["1 A=1"]);
    check("A=1 # more\nB=2#3", &["1 A=1", "2 B=2"]);
    check(r"A=1\#2", &["1 A=1#2"]);
    check("A = 1  b+=\"x y\" c.d=\"\"", &["1 A=1; 1 b=x y; 1 c.d="]);
    check("A=1 \\\nB=2 \\ \t\n\\\nC=3\nD=4", &["1 A=1; 2 B=2; 4 C=3", "5 D=4"]);
    check("A=1 \\", &["1 A=1"]);
    check("A=\\\nn1", &["1 A=n1"]);
    check("include  a.conf # x\nINCLUDE b", &["1 include a.conf", "2 include b"]);
    check("IncludeX=1\nInclude=2", &["1 IncludeX=1", "2 Include=2"]);
    check("A=k=v,w=2", &["1 A=k=v,w=2"]);
    check("A=1\r\nB=2\r\n", &["1 A=1", "2 B=2"]);
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn what_is_wrong_is_said_and_the_rest_is_read() {
    let check = |text: &str, read: &[&str], errors: &[&str]| {
        assert_eq!(words(text), (strings(read), strings(errors)), "{text:?}");
    };
    check("A=1 x B=2\nC=3", &["1 A=1", "2 C=3"], &["line 1: expected Key=Value, found \"x B=2\""]);
    check("=3", &[], &["line 1: expected Key=Value, found \"=3\""]);
    check("A=", &[], &["line 1: expected a value behind =, found \"A=\""]);
    check("A=\"x", &[], &["line 1: expected a quote at the end of the value, found \"A=\\\"x\""]);
    check("include\n", &[], &["line 1: expected a file behind Include, found \"\""]);
    check("A=1 \\\n?", &["1 A=1"], &["line 2: expected Key=Value, found \"?\""]);
}

#[test]
fn times_have_six_forms_and_no_end() {
    for (text, seconds) in [
        ("0", 0),
        ("90", 5_400),
        ("1:30", 90),
        ("01:00:00", 3_600),
        ("1-12", 129_600),
        ("1-12:30", 131_400),
        ("7-0", 604_800),
        ("2-01:02:03", 176_523),
    ] {
        assert_eq!(time(text), Some(Some(Duration::from_secs(seconds))), "{text}");
    }
    for text in ["UNLIMITED", "Infinite", "-1"] {
        assert_eq!(time(text), Some(None), "{text}");
    }
    for text in
        ["", "x", "1:", "1:2:3:4", "1-", "-", "1-2-3", "+5", "1.5", "-2", "99999999999", "9223372036854775807-0"]
    {
        assert_eq!(time(text), None, "{text}");
    }
}
