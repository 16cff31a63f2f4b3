//! One run of the tool: the engine, the jobs it knows, and the loop over lines.

use crate::load::{LoadError, load};
use crate::options::Options;
use crate::output::Outputs;
use crate::{commands, drawing};
use sluice::matcher::tree::{Engine, EngineError, Options as EngineOptions, Status, Visits};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Types that a jobspec may name though the graph has none.
const KNOWN_TYPES: [&str; 10] =
    ["cluster", "core", "socket", "gpu", "node", "rack", "slot", "xor_slot", "ssd", "storage_node"];

/// Whether to read on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a session that ended reads no more lines"]
pub enum Flow {
    /// Read the next line.
    Continue,
    /// The session is over.
    End,
}

/// Why a session does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The graph.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A policy, traverser, filter or set of subsystems.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JobState {
    Allocated,
    Reserved,
    Cancelled,
}

impl JobState {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Allocated => "ALLOCATED",
            Self::Reserved => "RESERVED",
            Self::Cancelled => "CANCELED",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) state: JobState,
    /// Seconds.
    pub(crate) at: i64,
    pub(crate) file: String,
    /// Seconds that the match took.
    pub(crate) overhead: f64,
}

/// How long matches took, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) sum: f64,
}

impl Times {
    pub(crate) fn add(&mut self, took: f64) {
        self.min = self.min.min(took);
        self.max = self.max.max(took);
        self.sum += took;
    }
}

/// One run of the tool.
pub struct Session {
    pub(crate) options: Options,
    pub(crate) engine: Engine,
    /// Every job that got something, by id.
    pub(crate) jobs: BTreeMap<u64, Job>,
    pub(crate) allocated: BTreeSet<u64>,
    pub(crate) reserved: BTreeSet<u64>,
    /// The id of the next job.
    pub(crate) next_job: u64,
    pub(crate) times: Times,
    /// Of the last walk.
    pub(crate) visits: Visits,
    /// Types that jobspecs may name.
    types: BTreeSet<String>,
    load_time: Duration,
}

impl Session {
    /// Loads the graph and sets up the engine.
    ///
    /// # Errors
    /// [`StartError`]; the tool prints it and exits with 1.
    pub fn new(options: Options) -> Result<Self, StartError> {
        let started = Instant::now();
        let mut set = EngineOptions::default().with_subsystem_set(&options.subsystems)?;
        set.policy = options.policy.parse()?;
        set.traverser = options.traverser.parse()?;
        if let Some(prune) = &options.prune {
            set.prune = prune.parse()?;
        }
        set.compat = !options.right;
        let loaded = load(&options)?;
        let mut engine = Engine::new(Arc::new(loaded.graph), set)?;
        for (vertex, name) in loaded.properties {
            engine.set_property(vertex, &name, "");
        }
        for path in loaded.down {
            engine.set_status(&path, Status::Down)?;
        }
        let mut session = Self {
            options,
            engine,
            jobs: BTreeMap::new(),
            allocated: BTreeSet::new(),
            reserved: BTreeSet::new(),
            next_job: 1,
            times: Times { min: f64::MAX, max: 0.0, sum: 0.0 },
            visits: Visits::default(),
            types: KNOWN_TYPES.into_iter().map(str::to_owned).collect(),
            load_time: started.elapsed(),
        };
        session.learn_types();
        Ok(session)
    }

    /// Takes note of the types of the present graph. Those of removed vertices stay known.
    pub(crate) fn learn_types(&mut self) {
        let graph = self.engine.graph();
        let kinds = graph.kinds().filter(|&kind| !graph.of_kind(kind).is_empty());
        self.types.extend(kinds.map(|kind| graph.kind_name(kind).to_owned()));
    }

    pub(crate) fn knows_type(&self, word: &str) -> bool {
        self.types.contains(word)
    }

    /// The prompt, unless it is disabled.
    pub fn prompt(&self) -> Option<&'static str> {
        (!self.options.no_prompt).then_some("resource-query> ")
    }

    /// What `-e` prints of the graph.
    ///
    /// # Errors
    /// Those of the writers, here and below.
    pub fn introduce(&self, outputs: &mut Outputs<'_>) -> io::Result<()> {
        if !self.options.elapse {
            return Ok(());
        }
        let graph = self.engine.graph();
        let (mut names, mut kinds) = (BTreeSet::new(), BTreeSet::new());
        let mut ranks: BTreeMap<i64, u64> = BTreeMap::new();
        let mut edges = 0;
        for v in graph.vertices() {
            let name = graph.vertex(v).name();
            if !names.contains(&*name) {
                names.insert(name.into_owned());
            }
            kinds.insert(graph.kind(v));
            edges += graph.subsystems().map(|subsystem| graph.successors(v, subsystem).count()).sum::<usize>();
            *ranks.entry(graph.given_rank(v)).or_default() += 1;
        }
        let console = outputs.console();
        writeln!(console, "INFO: Graph Load Time: {}", crate::number::general(self.load_time.as_secs_f64()))?;
        writeln!(console, "INFO: Vertex Count: {}", graph.len())?;
        writeln!(console, "INFO: Edge Count: {edges}")?;
        writeln!(console, "INFO: by_type Key-Value Pairs: {}", kinds.len())?;
        writeln!(console, "INFO: by_name Key-Value Pairs: {}", names.len())?;
        writeln!(console, "INFO: by_path Key-Value Pairs: {}", graph.distinct_paths())?;
        for (rank, vertices) in ranks {
            writeln!(console, "INFO: number of vertices with rank {rank}: {vertices}")?;
        }
        Ok(())
    }

    /// Carries out a line. Blank lines and unknown commands do nothing.
    ///
    /// # Errors
    /// Those of the writers; what is wrong with a command goes to standard error.
    pub fn line(&mut self, line: &str, outputs: &mut Outputs<'_>) -> io::Result<Flow> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.first().and_then(|word| commands::find(word)) {
            Some(command) => (command.run)(self, &words, outputs),
            None => Ok(Flow::Continue),
        }
    }

    /// Carries out lines until one ends the session, or the last.
    ///
    /// # Errors
    /// As [`Session::line`].
    pub fn lines(&mut self, text: &str, outputs: &mut Outputs<'_>) -> io::Result<()> {
        for line in text.lines() {
            if self.line(line, outputs)? == Flow::End {
                break;
            }
        }
        Ok(())
    }

    /// Writes the drawing that `-o` asks for.
    ///
    /// # Errors
    /// Those of the file and the writers.
    pub fn finish(&self, outputs: &mut Outputs<'_>) -> io::Result<()> {
        let Some(name) = &self.options.graph_output else { return Ok(()) };
        writeln!(outputs.console(), "INFO: Write the target graph of the matcher...")?;
        let format = self.options.graph_format;
        let mut file = io::BufWriter::new(std::fs::File::create(format!("{name}.{}", format.extension()))?);
        drawing::draw(&self.engine, format, &mut file)?;
        io::Write::flush(&mut file)
    }
}
