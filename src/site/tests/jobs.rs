//! Sessions about jobs.

use super::*;

#[test]
fn a_job_starts_ends_and_frees() {
    check(
        &mut bed(),
        "
        @0 create batch; online 0-3; start batch
        > created batch
        > started batch
        > up batch 0-3
        @1 submit 1 n=3 t=60; submit 2 n=2 t=60
        > start 1 batch 0-2
        @2 end 1
        @3 free 1
        > start 2 batch 0-1
        @4 end 2; free 2
        @5 submit 2 n=1
        > denied 2: the job id is taken
        @5 submit 3 n=5
        > denied 3: unsatisfiable: node per queue: asked 5, available 4
        @5 submit 4 q=other n=1
        > denied 4: queue other does not exist
        ",
    );
}
