//! Lines that concern the whole cluster: what becomes of them in `[policy]` and `[[resource.pool]]`.

use super::nodes::hosts;
use super::words::{On, tell};
use super::{Import, Lines};
use crate::config::import::book::Id;

/// What holds for all queues, and the pools.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    /// Keys below `policy`, with values as TOML writes them.
    pub policy: Vec<(&'static str, String, Id)>,
    /// Name and size.
    pub pools: Vec<(String, u64, Id)>,
}

pub(super) fn read(lines: &Lines, import: &mut Import) -> Cluster {
    let mut cluster = Cluster::default();
    for line in &lines.down {
        for (key, id) in &line.keys {
            if key == "downnodes" {
                hosts(import, *id);
            }
            let advice = "drain them: `drain` or `fail` of a scenario, or `resource.exclude`";
            import.book.look(*id, "that nodes are down is state, not configuration", advice);
        }
    }
    let all: Vec<(String, Id)> = lines.cluster.iter().flat_map(|line| line.keys.clone()).collect();
    for (at, (key, id)) in all.iter().enumerate() {
        // Slurm takes the last of several.
        if CONVERTED.contains(&key.as_str()) && all[at + 1..].iter().any(|(later, _)| later == key) {
            import.book.look(*id, "the key stands again further down, and that counts", "say it once");
            continue;
        }
        one(key, *id, &mut cluster, import);
    }
    cluster
}

const CONVERTED: [&str; 5] = ["schedulertype", "schedulerparameters", "selecttype", "licenses", "selecttypeparameters"];

fn one(key: &str, id: Id, cluster: &mut Cluster, import: &mut Import) {
    let value = import.book.value(id).to_owned();
    let small = value.to_ascii_lowercase();
    let set = |cluster: &mut Cluster, import: &mut Import, key: &'static str, value: &str| {
        import.book.became(id, format!("policy.{key}"));
        cluster.policy.push((key, value.to_owned(), id));
    };
    match key {
        "schedulertype" => match small.as_str() {
            "sched/backfill" => set(cluster, import, "scheduler.queue-policy", "\"hybrid\""),
            "sched/builtin" => set(cluster, import, "scheduler.queue-policy", "\"fcfs\""),
            _ => import.book.look(id, "no such scheduler is known here", "choose a `queue-policy`"),
        },
        "schedulerparameters" => {
            for part in value.split(',').filter(|part| !part.is_empty()) {
                parameter(part.trim(), id, cluster, import);
            }
        }
        "selecttype" => match small.as_str() {
            "select/linear" => set(cluster, import, "scheduler.match-policy", "\"firstnodex\""),
            "select/cons_res" | "select/cons_tres" => {
                import.book.aside(id, "so it is without the key: parts of nodes are given")
            }
            _ => import.book.look(id, "no such selection is known here", "choose a `match-policy`"),
        },
        "selecttypeparameters" => {
            for part in small.split(',').filter(|part| !part.is_empty()) {
                selection(part, id, import);
            }
        }
        "licenses" => {
            for part in value.split(',').filter(|part| !part.is_empty()) {
                licence(part.trim(), id, cluster, import);
            }
        }
        "enforcepartlimits" => match small.as_str() {
            "all" | "yes" | "any" => import.book.aside(id, "so it is: a job beyond the limits of its queue is denied"),
            _ => {
                let why = "a job beyond the limits of its queue is denied when it is submitted; it does not wait";
                import.book.look(id, why, "raise the limits where such jobs are wanted");
            }
        },
        "grestypes" => match small.as_str() {
            "gpu" => import.book.aside(id, "nodes may have gpus anyway"),
            _ => import.book.look(id, "nodes have cores and gpus, nothing else", "see what is said of `Gres`"),
        },
        "preemptmode" | "preempttype" if matches!(small.as_str(), "off" | "preempt/none") => {
            import.book.aside(id, "so it is without the key");
        }
        "autodetect" => import.book.aside(id, "not about scheduling, but about how jobs reach their devices"),
        other => tell(import, other, id, On::Cluster),
    }
}

fn parameter(part: &str, id: Id, cluster: &mut Cluster, import: &mut Import) {
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    match name.to_ascii_lowercase().as_str() {
        "bf_max_job_test" => match value.parse::<u32>() {
            Ok(depth) if depth > 0 => {
                import.book.became(id, "policy.scheduler.queue-depth");
                cluster.policy.push(("scheduler.queue-depth", depth.to_string(), id));
            }
            _ => import.error(id, format!("bf_max_job_test: expected a number from 1, found {value:?}")),
        },
        "bf_max_job_user"
        | "bf_max_job_part"
        | "bf_max_job_assoc"
        | "bf_max_job_user_part"
        | "bf_max_job_start"
        | "bf_max_job_array_resv" => {
            let why = format!("{name}: what is looked at is bounded for the whole queue, not for a user or a part");
            import.book.look(id, why, "use `queue-depth`");
        }
        "bf_window" | "bf_resolution" => {
            let why = format!("{name}: plans have no end and no grain");
            import.book.look(id, why, "nothing to do");
        }
        "bf_continue"
        | "bf_interval"
        | "bf_max_time"
        | "bf_yield_interval"
        | "bf_yield_sleep"
        | "sched_interval"
        | "sched_min_interval"
        | "sched_max_job_start"
        | "default_queue_depth"
        | "defer"
        | "batch_sched_delay"
        | "max_rpc_cnt"
        | "max_sched_time"
        | "partition_job_depth"
        | "build_queue_timeout"
        | "defer_batch"
        | "max_script_size"
        | "sched_max_job_start_tres" => {
            import.book.aside(id, format!("{name}: a pass runs at every event and to its end"));
        }
        "bf_busy_nodes"
        | "bf_licenses"
        | "bf_one_resv_per_job"
        | "bf_min_prio_reserve"
        | "bf_min_age_reserve"
        | "bf_job_part_count_reserve"
        | "bf_node_space_size"
        | "bf_running_job_reserve"
        | "bf_hetjob_prio"
        | "bf_hetjob_immediate"
        | "bf_ignore_newly_avail_nodes"
        | "bf_allow_magnetic_slots" => {
            let why = format!("{name}: who gets a reservation is said by the queue policy and its depth");
            import.book.look(id, why, "see `queue-policy` and `reservation-depth`");
        }
        _ => {
            let why = format!("{name}: no such parameter of a scheduler is known here");
            import.book.look(id, why, "see whether one of `policy.scheduler` means the same");
        }
    }
}

fn selection(part: &str, id: Id, import: &mut Import) {
    match part {
        "cr_core" | "cr_cpu" | "cr_core_default_dist_block" => {
            import.book.aside(id, format!("{part}: so it is without the key: cores are given, from the lowest on"));
        }
        "cr_core_memory" | "cr_cpu_memory" | "cr_memory" | "cr_socket_memory" => {
            import.book.look(
                id,
                format!("{part}: memory is not scheduled"),
                "bound the size of jobs with `policy.limits.job-size`",
            );
        }
        _ => {
            let why = format!("{part}: what is given follows from what jobs ask for, and from the match policy");
            import.book.look(id, why, "choose a `match-policy`");
        }
    }
}

fn licence(part: &str, id: Id, cluster: &mut Cluster, import: &mut Import) {
    let (name, count) = part.split_once(['*', ':', '=']).unwrap_or((part, "1"));
    match count.parse::<u64>() {
        Ok(0) => import.book.look(id, format!("{name}: a pool of nothing is left out"), "nothing to do"),
        Ok(count) if i64::try_from(count).is_ok() => {
            if ["node", "slot", "core", "gpu"].contains(&name) || name.is_empty() || name.starts_with('/') {
                import.book.look(id, format!("a pool cannot be called {name:?}"), "choose another name, also in jobs");
            } else if cluster.pools.iter().any(|(known, ..)| known == name) {
                import.error(id, format!("licence {name} is there twice"));
            } else {
                import.book.became(id, "resource.pool");
                cluster.pools.push((name.to_owned(), count, id));
            }
        }
        _ => import.error(id, format!("Licenses: expected a number behind {name}, found {count:?}")),
    }
}
