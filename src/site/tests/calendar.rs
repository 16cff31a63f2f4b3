//! Sessions in which the calendar starts and stops queues.

use super::*;

/// A bed whose calendar is this, on the clock of the session; queues are made by the session.
fn with(calendar: &str) -> Bed {
    let mut bed = bed();
    bed.site.config = Arc::new(Config { calendar: read(calendar).calendar, ..Config::default() });
    bed
}

fn read(calendar: &str) -> Config {
    let names = "[queues.batch]\n[queues.dat]\n[queues.night]\npolicy.scheduler.precedence = 1\n";
    Config::parse(&format!("{names}{calendar}"), "calendar").unwrap_or_else(|e| panic!("{e}"))
}

/// From minute 1 to 2, and from 3 to 4, of the first day.
const TWICE: &str = "
    [calendar.first]
    queues = 'night'
    zone = 'UTC'
    dates = 1970-01-01
    from = '00:01'
    to = '00:02'
    [calendar.second]
    queues = 'night'
    zone = 'UTC'
    dates = 1970-01-01
    from = '00:03'
    to = '00:04'
";

#[test]
fn a_queue_is_started_and_stopped_and_plans_know_it() {
    check(
        &mut with(TWICE),
        "
        @0 create batch; create night precedence=1; online 0-3; start batch
        > created batch
        > created night
        > started batch
        > up batch 0-3
        @10 submit 1 q=batch n=4 t=50; submit 2 q=batch n=4 t=51; submit 3 q=batch n=4 t=61; submit 4 q=night n=2 t=60
        > start 1 batch 0-3
        @60 end 1; free 1
        > down batch 0-3
        > started night: calendar first
        > due calendar first
        > leaving batch 0-3 to night
        > blocked batch: overlap with night on targets 0-3
        > donated batch 0-3 to night since 60
        > up night 0-3
        > start 4 night 0-1
        @119
        @120 end 4; free 4
        > down night 0-3
        > released night: calendar first
        > due calendar first
        > leaving night 0-3 to batch
        > unblocked batch
        > donated night 0-3 to batch since 120
        > up batch 0-3
        > start 2 batch 0-3
        @171 end 2; free 2
        @180
        > down batch 0-3
        > started night: calendar second
        > due calendar second
        > leaving batch 0-3 to night
        > blocked batch: overlap with night on targets 0-3
        > donated batch 0-3 to night since 180
        > up night 0-3
        @240
        > down night 0-3
        > released night: calendar second
        > due calendar second
        > leaving night 0-3 to batch
        > unblocked batch
        > donated night 0-3 to batch since 240
        > up batch 0-3
        > start 3 batch 0-3
        ",
    );
}

#[test]
fn a_command_holds_until_the_next_boundary() {
    check(
        &mut with(TWICE),
        "
        @0 create batch; create night precedence=1; online 0-3; start batch
        > created batch
        > created night
        > started batch
        > up batch 0-3
        @60
        > down batch 0-3
        > started night: calendar first
        > due calendar first
        > leaving batch 0-3 to night
        > blocked batch: overlap with night on targets 0-3
        > donated batch 0-3 to night since 60
        > up night 0-3
        @70 release night
        > released night: over
        > down night 0-3
        > leaving night 0-3 to batch
        > unblocked batch
        > donated night 0-3 to batch since 70
        > up batch 0-3
        @120
        > released night: calendar first
        > due calendar first
        @130 start night
        > started night
        > down batch 0-3
        > leaving batch 0-3 to night
        > blocked batch: overlap with night on targets 0-3
        > donated batch 0-3 to night since 130
        > up night 0-3
        @150 stop night
        > stopped night: pause
        @180
        > started night: calendar second
        > due calendar second
        @240
        > down night 0-3
        > released night: calendar second
        > due calendar second
        > leaving night 0-3 to batch
        > unblocked batch
        > donated night 0-3 to batch since 240
        > up batch 0-3
        ",
    );
}

#[test]
fn nothing_is_missed_by_who_did_not_look() {
    // Within the look-ahead: the turns are on record, and are done late. Beyond it, the level is.
    check(
        &mut with(TWICE),
        "
        @0 create batch; create night precedence=1; online 0-3; start batch
        > created batch
        > created night
        > started batch
        > up batch 0-3
        @70
        > down batch 0-3
        > started night: calendar first
        > due calendar first
        > leaving batch 0-3 to night
        > blocked batch: overlap with night on targets 0-3
        > donated batch 0-3 to night since 70
        > up night 0-3
        @130
        > down night 0-3
        > released night: calendar first
        > due calendar first
        > leaving night 0-3 to batch
        > unblocked batch
        > donated night 0-3 to batch since 130
        > up batch 0-3
        ",
    );
    check(
        &mut with(
            "
            [calendar.monthly]
            queues = 'night'
            zone = 'UTC'
            rrule = 'FREQ=MONTHLY;BYMONTHDAY=15'
            length = '2d'
        ",
        ),
        "
        @0 create batch; create night precedence=1; online 0-3; start batch
        > created batch
        > created night
        > started batch
        > up batch 0-3
        @9000000
        > down batch 0-3
        > started night: calendar monthly
        > due calendar monthly
        > released night: calendar monthly
        > due calendar monthly
        > started night: calendar monthly
        > due calendar monthly
        > leaving batch 0-3 to night
        > blocked batch: overlap with night on targets 0-3
        > donated batch 0-3 to night since 9000000
        > up night 0-3
        @9079200
        ",
    );
}

#[test]
fn equals_are_not_refused_but_blocked() {
    check(
        &mut with(
            "
            [calendar.both]
            queues = ['night', 'dat']
            zone = 'UTC'
            dates = 1970-01-01
            from = '00:01'
            to = '00:02'
        ",
        ),
        "
        @0 create dat; create night; online 0-3
        > created dat
        > created night
        @60
        > started night: calendar both
        > started dat: calendar both
        > due calendar both
        > blocked night: overlap with dat on targets 0-3
        > up dat 0-3
        @120
        > down dat 0-3
        > released night: calendar both
        > released dat: calendar both
        > due calendar both
        > leaving dat 0-3 to nobody
        > unblocked night
        > donated dat 0-3 to nobody since 120
        ",
    );
}

#[test]
fn queues_come_and_go_under_the_calendar() {
    check(
        &mut with(TWICE),
        "
        @0 create batch; create night precedence=1; online 0-3; start batch
        > created batch
        > created night
        > started batch
        > up batch 0-3
        @30 remove night
        > removed night
        @60
        @70 create night precedence=1
        > created night
        > down batch 0-3
        > started night: calendar first
        > due calendar first
        > leaving batch 0-3 to night
        > blocked batch: overlap with night on targets 0-3
        > donated batch 0-3 to night since 70
        > up night 0-3
        @120
        > down night 0-3
        > released night: calendar first
        > due calendar first
        > leaving night 0-3 to batch
        > unblocked batch
        > donated night 0-3 to batch since 120
        > up batch 0-3
        ",
    );
}

#[test]
fn virtual_queues_follow_it_too() {
    check(
        &mut with(TWICE),
        "
        @0 create batch; create night parent=batch; online 0-3; start batch
        > created batch
        > created night
        > started batch
        > up batch 0-3
        @10 submit 1 q=night n=1 t=30
        @60
        > started night: calendar first
        > due calendar first
        > start 1 night 0
        @120
        > released night: calendar first
        > due calendar first
        ",
    );
}

#[test]
fn another_calendar_holds_at_once() {
    let mut bed = with(TWICE);
    bed.site.config = Arc::new(read(TWICE));
    check(
        &mut bed,
        "
        @0 create batch; create dat; create night precedence=1; online 0-3; start batch
        > created batch
        > created dat
        > created night
        > started batch
        > up batch 0-3
        @70
        > down batch 0-3
        > started night: calendar first
        > due calendar first
        > leaving batch 0-3 to night
        > blocked batch: overlap with night on targets 0-3
        > donated batch 0-3 to night since 70
        > up night 0-3
        ",
    );
    let other = read(
        "
        [calendar.late]
        queues = 'night'
        zone = 'UTC'
        dates = 1970-01-01
        from = '00:05'
        to = '00:06'
    ",
    );
    let (mut effects, at) = (Vec::new(), Timestamp::from_secs(80));
    let configure = Event::Configure(Box::new(Configure { config: other, pending: None }));
    bed.site.apply(at, configure, &mut effects).expect("it is taken");
    check(
        &mut bed,
        "
        @80
        > down night 0-3
        > released night: calendar first
        > due calendar first
        > leaving night 0-3 to batch
        > unblocked batch
        > donated night 0-3 to batch since 80
        > up batch 0-3
        @180
        @300
        > down batch 0-3
        > started night: calendar late
        > due calendar late
        > leaving batch 0-3 to night
        > blocked batch: overlap with night on targets 0-3
        > donated batch 0-3 to night since 300
        > up night 0-3
        ",
    );
}

#[test]
fn a_restored_site_turns_at_the_same_time() {
    let mut bed = with(TWICE);
    bed.step(0, "create batch; create night precedence=1; online 0-3; start batch");
    let mut effects = Vec::new();
    let (graph, properties) = (bed.site.graph.clone(), bed.site.properties.clone());
    let text = serde_json::to_string(&bed.site.snapshot()).expect("JSON");
    let snapshot = serde_json::from_str(&text).expect("a snapshot");
    let restored = Site::restore(snapshot, graph, properties, bed.site.options, &mut effects);
    bed.site = restored.expect("it is restored");
    assert_eq!(bed.site.turns().len(), 4);
    check(
        &mut bed,
        "
        @1 recovered
        @60
        > down batch 0-3
        > started night: calendar first
        > due calendar first
        > leaving batch 0-3 to night
        > blocked batch: overlap with night on targets 0-3
        > donated batch 0-3 to night since 60
        > up night 0-3
        ",
    );
}
