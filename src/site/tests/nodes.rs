//! Sessions about targets.

use super::*;

const START: &str = "
    @0 create batch; online 0-3; start batch
    > created batch
    > started batch
    > up batch 0-3
";

fn check_started(script: &str) {
    check(&mut bed(), &format!("{START}{script}"));
}

#[test]
fn drained_and_offline_are_one_down() {
    check_started(
        "
        @1 drain 0-1
        > down batch 0-1
        @2 offline 1-2
        > down batch 2
        @3 undrain 0-1
        > up batch 0
        @4 online 1
        > up batch 1
        @5 online 2; drain 9
        > refused: targets 9 are not in the inventory, which has 0-3
        > up batch 2
        ",
    );
}

#[test]
fn a_planned_drain_bounds_jobs() {
    check_started(
        "
        @1 drain 0-2 100
        @2 submit 1 n=2 t=98; submit 2 n=2 t=99; submit 3 n=1 t=500
        > start 1 batch 0-1
        > held 2: exceeds-window: limit 99, longest window 98
        > start 3 batch 3
        @100
        > down batch 0-2
        > annotated 2: no finite start: node per queue: asked 2, available 1
        @101 undrain 0-2
        > up batch 0-2
        ",
    );
}

#[test]
fn hosts_join_and_leave() {
    check_started(
        "
        @1 submit 1 n=4 t=10
        > start 1 batch 0-3
        @2 drop 0-1; submit 2 n=4 t=10
        > down batch 0-1
        > leaving batch 0-1 to nobody
        @3 end 1; free 1
        > donated batch 0-1 to nobody since 2
        > denied 2: unsatisfiable: node per queue: asked 4, available 2
        > left 0-1
        @4 add nodeX; submit 3 n=3 t=10
        > joined 4
        > up batch 4
        > start 3 batch 2-4
        ",
    );
}

#[test]
fn a_job_found_elsewhere_takes_its_target_down_first() {
    check_started(
        "
        @1 create other hosts=node0
        > created other
        @2 found 7 other 0
        > down batch 0
        > down other 0
        > leaving other 0 to batch
        @3 found 8 gone 1
        > down batch 1
        > down gone 1
        > leaving gone 1 to batch
        @4 found 9 batch 1
        > quarantined 9: target 1 is granted whole, but is held already, or has not so much
        > down batch 1
        > donated gone 1 to nobody since 3 (cancelled)
        > leaving batch 1 to batch
        @5 submit 1 n=4 t=10
        > denied 1: no queue is named, and there is no default queue
        @6 end 7; free 7; end 8; free 8
        > donated other 0 to batch since 2
        > up batch 0
        @7 end 9; free 9
        > donated batch 1 to batch since 4
        > up batch 1
        ",
    );
}
