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
        > denied 2: limits.job-size.max.nnodes: asked 3, allowed at most 2
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
