//! Sessions about queues.

use super::*;

#[test]
fn a_removed_queue_leaves_its_running_jobs_alone() {
    check(
        &mut bed(),
        "
        @0 create batch; create other; online 0-3; start batch
        > created batch
        > created other
        > started batch
        > up batch 0-3
        @1 submit 1 q=batch n=4 t=60; submit 2 q=batch n=1 t=60; submit 3 q=batch n=2 t=60
        > start 1 batch 0-3
        @2 remove batch
        > refused: queue batch has 2 pending jobs: say what becomes of them (move, hold or cancel)
        @3 remove batch move=batch
        > refused: queue batch: its pending jobs cannot be moved to itself
        @4 remove batch move=other
        > removed batch
        > down batch 0-3
        > leaving batch 0-3 to nobody
        @5 create batch; start batch; submit 4 q=batch n=1 t=60
        > created batch
        > started batch
        @6 requeue 1
        > held 1: its queue batch was removed; move the job to another queue
        @7 free 1
        > donated batch 0-3 to batch since 4
        > up batch 0-3
        > start 4 batch 0
        @8 move 1 other
        ",
    );
}

#[test]
fn a_virtual_queue_lives_in_its_parent() {
    check(
        &mut bed(),
        "
        @0 create batch; create standby parent=batch max=2; online 0-3; start batch
        > created batch
        > created standby
        > started batch
        > up batch 0-3
        @1 submit 1 q=standby n=1; submit 2 q=standby n=3
        > denied 2: queues.standby.policy.limits.job-size.max.nnodes: asked 3, allowed at most 2
        @2 start standby
        > started standby
        > start 1 standby 0
        @3 submit 3 q=standby n=2 t=50; submit 4 q=standby n=2 p=20 t=50; submit 5 q=batch n=2 p=18 t=50
        > start 4 standby 1-2
        @4 release standby; end 4; free 4
        > released standby: over
        > start 5 batch 1-2
        @5 remove batch
        > refused: queue batch is the parent of standby: remove those first
        @6 remove standby hold
        > held 3: queue standby was removed
        > removed standby
        @7 move 3 batch; end 1; free 1
        > start 3 batch 0,3
        ",
    );
}

#[test]
fn a_job_of_a_removed_queue_that_is_found_running_runs_in_the_queue_it_names() {
    check(
        &mut bed(),
        "
        @0 create batch; create night; online 0-3; start batch; submit 1 q=night n=2; submit 2 q=night n=1
        > created batch
        > created night
        > started batch
        > up batch 0-3
        @1 remove night hold
        > held 1: queue night was removed
        > held 2: queue night was removed
        > removed night
        # Its record is behind: somebody moved it and started it.
        @2 found 1 batch 0-1; submit 3 q=batch n=3
        @3 found 2 night 2
        > down batch 2
        > down night 2
        > leaving night 2 to batch
        @4 end 1; free 1; end 2; free 2
        > donated night 2 to batch since 3
        > up batch 2
        > start 3 batch 0-2
        ",
    );
}

#[test]
fn enabled_and_started_are_two_things() {
    check(
        &mut bed(),
        "
        @0 create batch; disable batch; online 0-3; submit 1 n=1
        > created batch
        > disabled batch: closed
        > denied 1: the queue is disabled: closed
        @1 enable batch; submit 2 n=1
        > enabled batch
        @2 start batch
        > started batch
        > up batch 0-3
        > start 2 batch 0
        @3 stop batch; submit 3 n=1; start nobatch
        > refused: queue nobatch does not exist; there are: batch
        > stopped batch: pause
        @4 start batch
        > started batch: it kept its claim
        > start 3 batch 1
        ",
    );
}

#[test]
fn a_switch_in_waves_leaves_the_rest_in_use() {
    check(
        &mut bed(),
        "
        @0 create day; create night; online 0-3; start day; submit 1 q=day t=50; submit 2 q=day t=10; submit 3 q=day t=20
        > created day
        > created night
        > started day
        > up day 0-3
        > start 1 day 0
        > start 2 day 1
        > start 3 day 2
        # Of four targets one is idle, and goes at once; then the one that should be free first.
        @1 start night take waves=1
        > started night
        > down day 3
        > leaving day 3 to night
        > blocked day: overlap with night on targets 0-3
        > down day 1
        > donated day 3 to night since 1
        > leaving day 1 to night
        > up night 3
        # What waits is in use.
        @5 end 3; free 3; submit 4 q=day t=30
        > start 4 day 2
        @10 end 2; free 2
        > down day 2
        > donated day 1 to night since 1
        > leaving day 2 to night
        > up night 1
        @30 end 4; free 4
        > down day 0
        > donated day 2 to night since 10
        > leaving day 0 to night
        > up night 2
        ",
    );
}

#[test]
fn an_abort_returns_everything() {
    check(
        &mut bed(),
        "
        @0 create day; create night; create quick parent=day; online 0-3; start day; start quick; submit 1 q=day n=1 t=50
        > created day
        > created night
        > created quick
        > started day
        > started quick
        > up day 0-3
        > start 1 day 0
        @1 plan evening 10 -day -quick +night
        @2 abort morning
        > refused: no switch named morning is planned or can be undone; there are: evening
        @3 abort
        > refused: no switch was done that could be undone; planned, to be named, are: evening
        @10
        > down day 0-3
        > released day: planned switch evening
        > released quick: planned switch evening
        > started night: planned switch evening
        > due evening
        > leaving day 0-3 to night
        > donated day 1-3 to night since 10
        > up night 1-3
        @11 abort evening
        > started day: abort of switch evening
        > released night: abort of switch evening
        > started quick: abort of switch evening
        > down night 1-3
        > leaving night 1-3 to day
        > donated day 0 to day since 10 (cancelled)
        > up day 0
        > donated night 1-3 to day since 11
        > up day 1-3
        @12 abort evening
        > refused: no switch named evening is planned or can be undone; there are: none
        @13 switch -day +night; abort
        > released day: switch
        > started night: switch
        > started day: abort of a switch
        > released night: abort of a switch
        @14 plan evening 20 -day +night; abort evening
        @20
        @21 switch -day +night; stop night; abort
        > refused: switch 2 cannot be undone: queue night was started, stopped or switched since; say what is wanted with a switch of its own
        > released day: switch
        > started night: switch
        > stopped night: pause
        > down day 0-3
        > leaving day 0-3 to night
        > donated day 1-3 to night since 21
        > up night 1-3
        ",
    );
}
