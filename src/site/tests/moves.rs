//! Sessions in which targets move between queues.

use super::*;

#[test]
fn a_target_moves_once_its_job_is_gone() {
    check(
        &mut bed(),
        "
        @0 create batch; create night precedence=1; online 0-3; start batch
        > created batch
        > created night
        > started batch
        > up batch 0-3
        @1 submit 1 q=batch n=2 t=60; submit 2 q=night n=4 t=60
        > start 1 batch 0-1
        @2 start night
        > started night
        > down batch 0-3
        > leaving batch 0-3 to night
        > blocked batch: overlap with night on targets 0-3
        > donated batch 2-3 to night since 2
        > up night 2-3
        @5 end 1
        @6 free 1 0
        > donated batch 0 to night since 2
        > up night 0
        @7 free 1 1
        > donated batch 1 to night since 2
        > up night 1
        > start 2 night 0-3
        @9 end 2; free 2; release night
        > released night: over
        > down night 0-3
        > leaving night 0-3 to batch
        > unblocked batch
        > donated night 0-3 to batch since 9
        > up batch 0-3
        ",
    );
}

#[test]
fn a_donation_is_cancelled() {
    check(
        &mut bed(),
        "
        @0 create batch; create night precedence=1; online 0-3; start batch
        > created batch
        > created night
        > started batch
        > up batch 0-3
        @1 submit 1 q=batch n=2 t=60
        > start 1 batch 0-1
        @2 start night
        > started night
        > down batch 0-3
        > leaving batch 0-3 to night
        > blocked batch: overlap with night on targets 0-3
        > donated batch 2-3 to night since 2
        > up night 2-3
        @3 release night
        > released night: over
        > down night 2-3
        > leaving night 2-3 to batch
        > donated batch 0-1 to batch since 2 (cancelled)
        > unblocked batch
        > up batch 0-1
        > donated night 2-3 to batch since 3
        > up batch 2-3
        ",
    );
}

#[test]
fn a_planned_switch_bounds_plans_before_and_moves_at_its_time() {
    check(
        &mut bed(),
        "
        @0 create day; create night; online 0-3; start day
        > created day
        > created night
        > started day
        > up day 0-3
        @10 plan evening 100 -day +night
        @20 submit 1 q=day n=2 t=80; submit 2 q=day n=2 t=81; submit 3 q=night n=1 t=10
        > start 1 day 0-1
        > held 2: exceeds-window: limit 81, longest window 80
        @100
        > down day 0-3
        > released day: planned switch evening
        > started night: planned switch evening
        > due evening
        > leaving day 0-3 to night
        > donated day 2-3 to night since 100
        > up night 2-3
        > start 3 night 2
        @101 end 1; free 1
        > donated day 0-1 to night since 100
        > up night 0-1
        ",
    );
}

#[test]
fn an_overlapping_start_is_refused_unless_it_takes() {
    check(
        &mut bed(),
        "
        @0 create a hosts=node[0-2]; create b hosts=node[2-3]; online 0-3; start a
        > created a
        > created b
        > started a
        > up a 0-2
        @1 start b
        > refused: queue b cannot start: at equal precedence it shares target 2 with claiming queue a; release them first, or start it with `take`
        @2 start b take
        > started b
        > down a 2
        > leaving a 2 to b
        > blocked a: overlap with b on targets 2
        > up b 3
        > donated a 2 to b since 2
        > up b 2
        @3 release b
        > released b: over
        > down b 2-3
        > leaving b 3 to nobody
        > leaving b 2 to a
        > unblocked a
        > donated b 3 to nobody since 3
        > donated b 2 to a since 3
        > up a 2
        ",
    );
}

#[test]
fn a_group_waits_until_its_targets_are_together() {
    check(
        &mut bed(),
        "
        @0 create batch; create dat precedence=1; online 0-3; start batch
        > created batch
        > created dat
        > started batch
        > up batch 0-3
        @1 submit 1 q=batch n=1 t=50; submit 2 q=dat n=4 t=10
        > start 1 batch 0
        @2 start dat group=200
        > gathering dat
        @3 submit 3 q=batch n=1 t=48; submit 4 q=batch n=1 t=49
        > start 3 batch 1
        > held 4: exceeds-window: limit 49, longest window 48
        @51 end 1 3; free 1; free 3
        > down batch 0-3
        > leaving batch 0-3 to dat
        > blocked batch: overlap with dat on targets 0-3
        > gathered dat: targets 0-3
        > donated batch 0-3 to dat since 51
        > up dat 0-3
        > annotated 4: no finite start: node per queue: asked 1, available 0
        > start 2 dat 0-3
        @61 end 2; free 2; release dat
        > released dat: over
        > down dat 0-3
        > leaving dat 0-3 to batch
        > unblocked batch
        > donated dat 0-3 to batch since 61
        > up batch 0-3
        > start 4 batch 0
        ",
    );
}
