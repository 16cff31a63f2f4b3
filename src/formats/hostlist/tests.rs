use super::*;
use proptest::prelude::*;

#[test]
fn accepts_and_prints_as_flux_core_does() {
    for (text, printed, count) in [
        ("", "", 0),
        (",", "", 0),
        ("foo-1a-2,foo-1a-3", "foo-1a-[2-3]", 2),
        ("foo1,foo2,foo3,fooi", "foo[1-3],fooi", 4),
        ("foo1,fooi,foo2,foo3", "foo1,fooi,foo[2-3]", 4),
        ("fooi,foo1,foo2,foo3,foo5,foo7,foo8", "fooi,foo[1-3,5,7-8]", 7),
        (",1,2,3,4,5,9,", "[1-5,9]", 6),
        ("foo[1,3]-bar", "foo1-bar,foo3-bar", 2),
        ("[00-03]p", "00p,01p,02p,03p", 4),
        ("p[00-3]p", "p00p,p01p,p02p,p03p", 4),
        ("14636", "14636", 1),
        ("foo[005,4,11-13]", "foo[005,4,11-13]", 5),
        ("foo[1,1-2,1]", "foo[1,1-2,1]", 4),
        ("a[01,2]", "a[01,2]", 2),
        ("a[9-10]", "a[9-10]", 2),
        ("a9,a10,a11", "a[9-11]", 3),
        ("a09,a10", "a[09-10]", 2),
        ("a09,a9", "a[09,9]", 2),
        ("a099,a0100", "a[099,0100]", 2),
        ("f00[1-2]", "f00[1-2]", 2),
        ("a\tb c,d", "a,b,c,d", 4),
        ("a[1, 3]", "a[1,3]", 2),
        ("a[1]b3,a[1]b4", "a1b3,a1b4", 2),
        ("a[1-2]b[3-4]", "a1b[3-4],a2b[3-4]", 4),
        ("node[0-1048575]", "node[0-1048575]", 1_048_576),
    ] {
        let list = Hostlist::parse(text).unwrap();
        assert_eq!((list.to_string().as_str(), list.len()), (printed, count), "{text:?}");
    }
}

#[test]
fn refuses() {
    let refused = [
        ("[]", "invalid hostlist: expected a number, found `]` at byte 1"),
        ("foo[", "invalid hostlist: unbalanced bracket at byte 3"),
        ("foo[1,3", "invalid hostlist: unbalanced bracket at byte 3"),
        ("foo]", "invalid hostlist: unbalanced bracket at byte 3"),
        ("foo]1[2]", "invalid hostlist: unbalanced bracket at byte 3"),
        ("foo[1]]", "invalid hostlist: unbalanced bracket at byte 6"),
        ("foo[[1,3]", "invalid hostlist: expected a number, found `[` at byte 4"),
        ("foo[x-y]", "invalid hostlist: expected a number, found `x` at byte 4"),
        ("foo[0-1,2--5]", "invalid hostlist: expected a number, found `-` at byte 10"),
        ("foo[1-]", "invalid hostlist: expected a number, found `]` at byte 6"),
        ("foo[1-2-3]", "invalid hostlist: expected a comma or a bracket, found `-` at byte 7"),
        ("foo[1 ]", "invalid hostlist: expected a comma, a dash or a bracket, found ` ` at byte 5"),
        ("foo[1,,2]", "invalid hostlist: expected a number, found `,` at byte 6"),
        ("foo[3-1]", "invalid hostlist: range 3-1 at byte 4 does not ascend"),
        ("foo[0-1048576]", "invalid hostlist: more than 1048576 hosts in a range at byte 4"),
        ("a[0-99999999]", "invalid hostlist: more than 1048576 hosts in a range at byte 2"),
        ("a[1234567890123456789]", "invalid hostlist: number at byte 2 has more than 18 digits"),
        ("a[0-65536]s", "invalid hostlist: more than 65536 names from brackets followed by something at byte 1"),
        ("a[0-65535]s,a[1]s", "invalid hostlist: more than 65536 names from brackets followed by something at byte 13"),
        ("a[0-999]b[0-999]c", "invalid hostlist: more than 65536 names from brackets followed by something at byte 9"),
        ("a[0-65535]b[0,2]", "invalid hostlist: more than 65536 names from brackets followed by something at byte 11"),
        (
            "a[0-1048575,0-1048575,0-1048575,0-1048575,0]",
            "invalid hostlist: more than 4194304 hosts in a list at byte 1",
        ),
    ];
    for (text, message) in refused {
        assert_eq!(Hostlist::parse(text).unwrap_err().to_string(), message, "{text:?}");
    }
    let many = format!("a[{}]", vec!["1"; MAX_RANGES + 1].join(","));
    assert_eq!(
        Hostlist::parse(&many).unwrap_err().to_string(),
        "invalid hostlist: more than 10240 ranges in brackets at byte 20482"
    );
}

#[test]
fn finds_and_orders() {
    let list = Hostlist::parse("n[08-11],login,m1,n8,f00[1-2]").unwrap();
    assert_eq!(list.find("n10"), Some(2));
    assert_eq!(list.find("n8"), Some(6));
    assert_eq!(list.find("n010"), None);
    assert_eq!(list.find("f002"), Some(8));
    assert_eq!(list.find("n"), None);
    assert_eq!(list.nth(4).as_deref(), Some("login"));
    assert_eq!(list.nth(9), None);
    assert_eq!(
        Hostlist::parse("b2,a10,a9,b2,a9").unwrap().sorted().to_string(),
        "a[9-9,9-10],b[2,2]".replace("9-9", "9")
    );
    assert_eq!(Hostlist::parse("b2,a10,a9,b2,a9").unwrap().unique().to_string(), "a[9-10],b2");
}

#[test]
fn equality_is_by_names() {
    let written = |text: &str| Hostlist::parse(text).unwrap();
    assert_eq!(written("f00[1-2]"), written("f[001-002]"));
    assert_eq!(written("a[1-2]b3"), written("a1b3,a2b3"));
    assert_ne!(written("a1,a2"), written("a2,a1"));
    assert_ne!(written("a01"), written("a1"));
}

fn names() -> impl Strategy<Value = Vec<String>> {
    let name = prop_oneof!["[ab]{0,1}[0-9]{1,3}", "[ab][0-9]{0,2}[ab-]", "n0{0,2}[0-9]{1,20}"];
    proptest::collection::vec(name, 0..20)
}

proptest! {
    #![proptest_config(crate::base::testing::config(256))]
    #[test]
    fn round_trips(names in names()) {
        let list: Hostlist = names.iter().collect();
        prop_assert_eq!(list.iter().collect::<Vec<_>>(), names.clone());
        let again = Hostlist::parse(&list.to_string()).unwrap();
        prop_assert_eq!(again.iter().collect::<Vec<_>>(), names.clone());
        prop_assert_eq!(again.to_string(), list.to_string());
        for (index, name) in names.iter().enumerate() {
            prop_assert_eq!(list.nth(index).unwrap(), name.as_str());
            prop_assert_eq!(list.find(name), names.iter().position(|other| other == name));
        }
        let mut ordered = names.clone();
        ordered.sort();
        let mut sorted: Vec<_> = list.sorted().iter().collect();
        sorted.sort();
        prop_assert_eq!(sorted, ordered);
    }

    #[test]
    fn never_panics(text in ".*", near in "[ab0-9,\\[\\]\\- ]{0,16}") {
        let _ = Hostlist::parse(&text);
        if let Ok(list) = Hostlist::parse(&near) {
            prop_assert_eq!(Hostlist::parse(&list.to_string()).unwrap(), list);
        }
    }
}
