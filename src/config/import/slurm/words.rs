//! Keys of slurm.conf that mean nothing here, and why.

use super::Import;
use crate::config::import::book::Id;
use crate::config::nearest;

/// Keys that do not concern scheduling, by what they do concern.
const ASIDE: &[(&str, &str)] = &[
    (
        "the daemons, where they run and how they talk",
        "slurmctldhost controlmachine controladdr backupcontroller backupaddr slurmuser slurmduser slurmctldport slurmdport \
         slurmctldpidfile slurmdpidfile slurmdspooldir statesavelocation slurmctldparameters slurmdparameters authtype \
         authinfo authalttypes authaltparameters cryptotype credtype jobcredentialprivatekey jobcredentialpubliccertificate \
         communicationparameters messagetimeout tcptimeout slurmctldtimeout slurmdtimeout backupcontrollertimeout treewidth \
         srunportrange slurmctldaddr slurmctldprimaryonprog slurmctldprimaryoffprog commandstimeout epilogmsgtime plugindir \
         disablerootjobs usepam privatedata tlstype tlsparameters hashplugin keepalivetime namespacetype \
         eiotimeout frontendname frontendaddr frontendport rebootprogram bcastexclude bcastparameters interactivestepoptions \
         cacheparameters slurmctldsyslogdebug slurmdsyslogdebug  ",
    ),
    (
        "logs, accounting and mail",
        "slurmctlddebug slurmctldlogfile slurmddebug slurmdlogfile slurmschedlogfile slurmschedloglevel debugflags \
         logtimeformat mailprog maildomain accountingstoragetype accountingstoragehost accountingstoragebackuphost \
         accountingstoragepass accountingstorageport accountingstorageuser accountingstoragetres accountingstorageexternalhost \
         accountingstorageparameters accountingstoragelockdown accountingstoreflags accountingstorejobcomment jobcomphost \
         jobcomploc jobcompparams jobcomppass jobcompport jobcomptype jobcompuser jobacctgatherfrequency jobacctgathertype \
         jobacctgatherparams acctgatherenergytype acctgathernodefreq acctgatherprofiletype acctgatherinfinibandtype \
         acctgatherinterconnecttype acctgatherfilesystemtype extsensorstype extsensorsfreq trackwckey ",
    ),
    (
        "how jobs are launched on their nodes",
        "mpidefault mpiparams proctracktype switchtype switchparameters taskplugin taskpluginparam taskprolog taskepilog \
         srunprolog srunepilog launchtype launchparameters propagateresourcelimits propagateresourcelimitsexcept \
         propagateprioprocess killonbadexit killwait waittime jobfileappend unkillablestepprogram unkillablesteptimeout \
         batchstarttimeout getenvtimeout maxtaskspernode maxstepcount tmpfs plugstackconfig x11parameters \
         vsizefactor jobcontainertype jobcontainerplugin preptype prepplugins prepparameters \
         scronparameters clifilterplugins sallocdefaultcommand ",
    ),
    (
        "the health and the power of nodes, which are switched by nobody here",
        "healthcheckinterval healthchecknodestate healthcheckprogram suspendprogram resumeprogram suspendtimeout \
         resumetimeout resumerate resumefailprogram suspendexcnodes suspendexcparts suspendexcstates suspendrate suspendtime \
         powerparameters powerplugin cpufreqdef cpufreqgovernors nodefeaturesplugins returntoservice \
         maxnodecount resvprolog resvepilog",
    ),
    (
        "the memory that the controller keeps of jobs",
        "minjobage firstjobid maxjobid inactivelimit groupupdateforce groupupdatetime maxdbdmsgs",
    ),
    ("what a cluster or a federation is called", "clustername federationparameters clusterid"),
];

/// Keys that concern scheduling and have no equal here: why, and what to do.
const LOOK: &[(&str, &str, &str)] = &[
    (
        "prioritytype prioritydecayhalflife prioritycalcperiod priorityfavorsmall prioritymaxage priorityusageresetperiod \
         priorityflags priorityparameters priorityweightage priorityweightassoc priorityweightfairshare \
         priorityweightjobsize priorityweightpartition priorityweightqos priorityweighttres prioritysitefactorparameters \
         prioritysitefactorplugin fairsharedampeningfactor",
        "priorities are not computed: a job has the number that it was submitted with",
        "give jobs a `priority`; for partitions use `precedence` or virtual queues",
    ),
    (
        "accountingstorageenforce",
        "limits of accounts, associations and QOS are in slurmdbd, which is not read",
        "give queues `policy.limits`, a QOS a virtual queue (docs/from-slurm.md)",
    ),
    (
        "defmempercpu defmempernode maxmempercpu maxmempernode defcpupergpu defmempergpu jobdefaults",
        "memory and what belongs to a gpu are not scheduled",
        "bound the size of jobs with `policy.limits.job-size`",
    ),
    (
        "preempttype preemptmode preemptparameters preemptexempttime",
        "no such way of preemption is known here",
        "use `precedence`: nodes go over when their jobs have ended",
    ),
    (
        "overtimelimit resvoverrun",
        "jobs are not ended at their limit by the scheduler: one past it is expected to run `overrun-slack` longer, doubling",
        "set `policy.scheduler.overrun-slack` to about the time that jobs are given",
    ),
    (
        "completewait epilog epilogslurmctld prolog prologslurmctld prologflags prologepilogtimeout prologtimeout epilogtimeout",
        "nodes are held after a job as long as whoever runs jobs says",
        "in a replay: `housekeeping` of [site], and `release-margin` where nodes change hands",
    ),
    (
        "jobrequeue requeueexit requeueexithold",
        "what becomes of a job whose node fails is not configuration",
        "in a replay: `on-node-fail` of [site]",
    ),
    (
        "jobsubmitplugins",
        "a plugin may change any job when it is submitted",
        "see what it does; defaults and limits are `policy.jobspec.defaults` and `policy.limits`",
    ),
    (
        "maxjobcount maxarraysize",
        "the number of jobs is not bounded",
        "`policy.scheduler.queue-depth` bounds what a pass looks at",
    ),
    (
        "topologyplugin topologyparam routeplugin",
        "switches are not part of a configuration's machine",
        "name topology.conf as well: its switches become properties; or describe the machine as a graph and ask with `within`",
    ),
    ("burstbuffertype", "burst buffers are not known", "if it is a pool that all share: [[resource.pool]]"),
    ("dependencyparameters", "jobs do not depend on others here", "submit them one after the other"),
    ("schedulertimeslice", "nobody takes turns on the same cores", "nothing takes its place"),
    ("gresstypes", "nodes have cores and gpus, nothing else", "see what is said of `Gres`"),
];

/// Keys of a partition, likewise.
const PARTITION: &[(&str, &str, &str)] = &[
    (
        "allowaccounts denyaccounts allowqos denyqos qos",
        "accounts and QOS are not known; what they allow is in slurmdbd, which is not read",
        "name users in `access.allow-user`; make a virtual queue of a QOS, with limits of its own",
    ),
    (
        "defmempercpu defmempernode maxmempercpu maxmempernode defcpupergpu defmempergpu jobdefaults tresbillingweights",
        "memory and what belongs to a gpu are not scheduled",
        "bound the size of jobs with `policy.limits.job-size`",
    ),
    ("maxcpuspernode maxcpuspersocket", "what jobs take of one node is not bounded", "nothing takes its place"),
    (
        "overtimelimit",
        "jobs are not ended at their limit by the scheduler: one past it is expected to run `overrun-slack` longer, doubling",
        "set `policy.scheduler.overrun-slack` of the queue to about the time that jobs are given",
    ),
    (
        "preemptmode gracetime",
        "no such way of preemption is known here",
        "use `precedence`: nodes go over when their jobs have ended",
    ),
    (
        "lln",
        "the least loaded node is not looked for",
        "`match-policy` `high` and `low` spread single slots over the nodes",
    ),
    (
        "exclusiveuser exclusivetopo",
        "who shares a node is not looked at",
        "`policy.scheduler.match-policy` `firstnodex` gives whole nodes",
    ),
    ("reqresv", "reservations are queues here", "make a queue of the reservation (docs/from-slurm.md)"),
    ("rootonly", "a superuser is not known", "name users in `access.allow-user`"),
    ("priorityjobfactor", "priorities are not computed", "give jobs a `priority`, or queues a `precedence`"),
    ("selecttypeparameters", "what is allocated follows from what jobs ask for", "see what is said of `SelectType`"),
    ("alternate", "a queue that is closed sends nobody elsewhere", "`move` of a scenario moves its jobs"),
    ("allocnodes", "where a job comes from is not looked at", "name users in `access.allow-user`"),
    ("topology", "switches are not part of a configuration's machine", "jobs ask for properties `switch-NAME`"),
];

const PARTITION_ASIDE: &str = "hidden disablerootjobs cpubind resumetimeout suspendtime suspendtimeout powerdownonidle";

const NODE_ASIDE: &[(&str, &str)] = &[
    ("the daemons, where they run and how they talk", "nodeaddr nodehostname port bcastaddr certtoken"),
    ("why a node is in its state", "reason"),
    ("how jobs are launched on their nodes", "cpubind"),
];

const NODE: &[(&str, &str, &str)] = &[
    (
        "realmemory memspeclimit tmpdisk",
        "memory and disks are not scheduled",
        "jobs can ask for a property: add one to large nodes",
    ),
    ("cpuspeclist", "which cores are withheld is not read", "take them out of `cores`"),
    ("restrictedcorespergpu", "cores belong to no gpu", "nothing takes its place"),
    (
        "topology",
        "switches are not part of a configuration's machine",
        "name topology.conf as well, or describe the machine as a graph",
    ),
];

/// Names that are converted, for the nearest of a word that is none.
pub(super) const NODE_KEYS: &str = "nodename cpus procs sockets boards socketsperboard corespersocket threadspercore \
    corespeccount feature features gres weight state";
pub(super) const PARTITION_KEYS: &str = "partitionname nodes default maxtime defaulttime maxnodes minnodes prioritytier priority allowgroups state oversubscribe shared";
pub(super) const CLUSTER_KEYS: &str =
    "schedulertype schedulerparameters selecttype selecttypeparameters licenses enforcepartlimits grestypes";

fn among(names: &str, key: &str) -> bool {
    names.split_whitespace().any(|name| name.eq_ignore_ascii_case(key))
}

/// What kind of line a key is on.
#[derive(Clone, Copy, Debug)]
pub(super) enum On {
    Node,
    Partition,
    Cluster,
}

/// Names, why, and what to do.
type Look = &'static [(&'static str, &'static str, &'static str)];
/// What names are about.
type Aside = &'static [(&'static str, &'static str)];

/// Says of a key that is not converted why.
pub(super) fn tell(import: &mut Import, key: &str, id: Id, on: On) {
    let (look, aside, converted): (Look, Aside, &str) = match on {
        On::Node => (NODE, NODE_ASIDE, NODE_KEYS),
        On::Partition => {
            (PARTITION, &[("who sees the partition, and how its nodes are run", PARTITION_ASIDE)], PARTITION_KEYS)
        }
        On::Cluster => (LOOK, ASIDE, CLUSTER_KEYS),
    };
    if let Some((_, why, advice)) = look.iter().find(|(names, ..)| among(names, key)) {
        import.book.look(id, *why, *advice);
    } else if let Some((what, _)) = aside.iter().find(|(_, names)| among(names, key)) {
        import.book.aside(id, format!("not about scheduling, but about {what}"));
    } else {
        let known =
            look.iter().map(|(names, ..)| *names).chain(aside.iter().map(|(_, names)| *names)).chain([converted]);
        let near = nearest(key, known.flat_map(str::split_whitespace));
        let advice =
            near.map_or_else(|| "see whether it concerns scheduling".into(), |near| format!("did you mean {near}?"));
        import.book.look(id, "no key of that name is known", advice);
    }
}
