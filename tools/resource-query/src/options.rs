//! The options of the command line, read as `getopt_long` reads them.

use sluice::matcher::tree::Format;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What `--help` and every mistake print.
pub const USAGE: &str = "
usage: resource-query [OPTIONS...]

Loads a resource graph, reads commands from standard input, and matches
jobspecs on the graph. A drop-in for Fluxion's tool of the same name.
The command `help` lists the commands.

OPTIONS:
    -h, --help
            Print this text
    -L, --load-file=FILE
            The graph (default: conf/default)
    -f, --load-format=grug|hwloc|jgf|jgf_shorthand|rv1exec|rv1exec_force
            The format of the graph (default: grug)
    -W, --load-allowlist=TYPE[,TYPE...]
            Of hwloc, load these types only; `cluster` is always among them
    -S, --match-subsystems=CA|IBA|IBBA|PFS1BA|PA|C+IBA|C+IBBA|C+PFS1BA|C+PA|IB+IBBA|C+P+IBA|VA|V+PFS1BA|ALL
            The subsystems to match on, the leading one first (default: CA)
    -P, --match-policy=low|high|lonode|hinode|lonodex|hinodex|first|firstnodex|locality|variation
            Which resources are preferred (default: first); or policy=low|high
            with node_centric=, node_exclusive= and stop_on_1_matches=true|false
    -F, --match-format=simple|pretty_simple|jgf|jgf_shorthand|rlite|rv1|rv1_nosched|rv1_shorthand
            How matched resources are printed (default: simple)
    -T, --traverser-policy=simple|flexible
            How slots are understood (default: simple)
    -p, --prune-filters=HIGH:LOW[,HIGH:LOW...]
            Keep counts of LOW at every HIGH (or at ALL); may be repeated
            (default: ALL:core,ALL:node)
    -g, --graph-format=dot|graphml
            The format of the file that -o writes (default: dot)
    -o, --graph-output=BASENAME
            At the end write the graph to BASENAME.dot or BASENAME.graphml
    -r, --reserve-vtx-vec=N
            Taken for compatibility: room for N vertices is not needed here
    -t, --test-output=FILE
            Print resources and results of commands to FILE
    -e, --elapse-time
            Print times and visit counts of matches
    -d, --disable-prompt
            Print no prompt
        --right
            Match as Sluice's library does, not as Fluxion does
";

/// The format of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoadFormat {
    /// A recipe.
    Grug,
    /// A topology of one node.
    Hwloc,
    /// A graph.
    Jgf,
    /// A graph, for which an exclusive vertex stands for what is inside in updates.
    JgfShorthand,
    /// R; a graph in `scheduling` goes first.
    Rv1exec,
    /// R, whatever stands in `scheduling`.
    Rv1execForce,
}

impl LoadFormat {
    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "grug" => Self::Grug,
            "hwloc" => Self::Hwloc,
            "jgf" => Self::Jgf,
            "jgf_shorthand" => Self::JgfShorthand,
            "rv1exec" => Self::Rv1exec,
            "rv1exec_force" => Self::Rv1execForce,
            _ => return None,
        })
    }
}

/// The format of the drawing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphFormat {
    /// Graphviz.
    Dot,
    /// GraphML.
    GraphMl,
}

impl GraphFormat {
    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Dot => "dot",
            Self::GraphMl => "graphml",
        }
    }
}

/// All options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// `-L`
    pub load_file: PathBuf,
    /// `-f`
    pub load_format: LoadFormat,
    /// `-W`: the list as it is used, `cluster` included.
    pub allow_list: Option<String>,
    /// `-S`
    pub subsystems: String,
    /// `-P`
    pub policy: String,
    /// `-F`
    pub format: Format,
    /// `-T`
    pub traverser: String,
    /// `-p`, all of them joined; none for the default.
    pub prune: Option<String>,
    /// `-g`
    pub graph_format: GraphFormat,
    /// `-o`
    pub graph_output: Option<String>,
    /// `-t`
    pub test_output: Option<PathBuf>,
    /// `-e`
    pub elapse: bool,
    /// `-d`
    pub no_prompt: bool,
    /// `--right`
    pub right: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            load_file: "conf/default".into(),
            load_format: LoadFormat::Grug,
            allow_list: None,
            subsystems: "CA".into(),
            policy: "first".into(),
            format: Format::Simple,
            traverser: "simple".into(),
            prune: None,
            graph_format: GraphFormat::Dot,
            graph_output: None,
            test_output: None,
            elapse: false,
            no_prompt: false,
            right: false,
        }
    }
}

/// A command line that was understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Parsed {
    /// `--help`.
    Help,
    /// Run.
    Run {
        /// With these.
        options: Box<Options>,
        /// Lines for standard error.
        warnings: Vec<String>,
    },
}

/// A command line that was not understood. The tool prints it, then [`USAGE`], and exits with 1.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum UsageError {
    /// An option that is not there.
    #[error("unrecognized option '{0}'")]
    Unknown(String),
    /// An option that several begin with.
    #[error("option '{0}' is ambiguous")]
    Ambiguous(String),
    /// An option without its argument.
    #[error("option '{0}' requires an argument")]
    NoArgument(String),
    /// An argument where none belongs.
    #[error("option '{0}' doesn't allow an argument")]
    Argument(String),
    /// A word that is no option.
    #[error("expected options only, found '{0}'")]
    Operand(String),
    /// A word that is none of the format's names.
    #[error("[ERROR] unknown format for {option}: {found}")]
    Format {
        /// The option.
        option: &'static str,
        /// The word.
        found: String,
    },
    /// No such file.
    #[error("[ERROR] file does not exist for --load-file: {0}")]
    NoFile(String),
    /// Not a file.
    #[error("[ERROR] path passed to --load-file is a directory: {0}")]
    Directory(String),
}

const LONG: [(&str, char, bool); 15] = [
    ("load-file", 'L', true),
    ("load-format", 'f', true),
    ("load-allowlist", 'W', true),
    ("match-subsystems", 'S', true),
    ("match-policy", 'P', true),
    ("match-format", 'F', true),
    ("traverser-policy", 'T', true),
    ("graph-format", 'g', true),
    ("graph-output", 'o', true),
    ("prune-filters", 'p', true),
    ("test-output", 't', true),
    ("reserve-vtx-vec", 'r', true),
    ("elapse-time", 'e', false),
    ("disable-prompt", 'd', false),
    ("help", 'h', false),
];
/// Stands for `--right`, which has no short form.
const RIGHT: char = '\0';
/// The most vertices that may be reserved.
const MAX_RESERVE: i64 = 2_000_000;

/// The long option that `name` is, or is the beginning of.
fn long_option(name: &str) -> Result<(&'static str, char, bool), UsageError> {
    let all = || LONG.into_iter().chain([("right", RIGHT, false)]);
    if let Some(exact) = all().find(|(long, ..)| *long == name) {
        return Ok(exact);
    }
    let mut begun = all().filter(|(long, ..)| long.starts_with(name));
    match (begun.next(), begun.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(UsageError::Unknown(format!("--{name}"))),
        (Some(_), Some(_)) => Err(UsageError::Ambiguous(format!("--{name}"))),
    }
}

impl Options {
    /// Reads the arguments after the name of the program. Options may stand in any order, short ones joined, long
    /// ones shortened as far as they stay clear; the last of several goes, but filters add up.
    ///
    /// # Errors
    /// [`UsageError`]. Looks at the file system for the graph.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Parsed, UsageError> {
        let mut reader = Reader { options: Options::default(), warnings: Vec::new(), operand: None };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                reader.operand = reader.operand.or_else(|| arguments.next());
                break;
            }
            if let Some(long) = argument.strip_prefix("--") {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let (full, short, takes) = long_option(name)?;
                let value = match (takes, value) {
                    (true, Some(value)) => value.to_owned(),
                    (true, None) => arguments.next().ok_or_else(|| UsageError::NoArgument(format!("--{full}")))?,
                    (false, Some(_)) => return Err(UsageError::Argument(format!("--{full}"))),
                    (false, None) => String::new(),
                };
                if short == 'h' {
                    return Ok(Parsed::Help);
                }
                reader.option(short, value)?;
                continue;
            }
            let Some(joined) = argument.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
                reader.operand.get_or_insert(argument);
                continue;
            };
            let mut rest = joined.chars();
            while let Some(short) = rest.next() {
                let known = LONG.iter().find(|(_, known, _)| *known == short);
                let (_, _, takes) = *known.ok_or_else(|| UsageError::Unknown(format!("-{short}")))?;
                if short == 'h' {
                    return Ok(Parsed::Help);
                }
                if !takes {
                    reader.option(short, String::new())?;
                    continue;
                }
                let value = match rest.as_str() {
                    "" => arguments.next().ok_or_else(|| UsageError::NoArgument(format!("-{short}")))?,
                    value => value.to_owned(),
                };
                reader.option(short, value)?;
                break;
            }
        }
        match reader.operand {
            Some(operand) => Err(UsageError::Operand(operand)),
            None => Ok(Parsed::Run { options: Box::new(reader.options), warnings: reader.warnings }),
        }
    }
}

struct Reader {
    options: Options,
    warnings: Vec<String>,
    operand: Option<String>,
}

impl Reader {
    fn option(&mut self, short: char, value: String) -> Result<(), UsageError> {
        let options = &mut self.options;
        let unknown = |option, found: &str| UsageError::Format { option, found: found.to_owned() };
        let is_blank = |text: &str| text.chars().all(|c| c == ' ');
        match short {
            'L' => {
                let path = Path::new(&value);
                if !path.exists() {
                    return Err(UsageError::NoFile(value));
                }
                if path.is_dir() {
                    return Err(UsageError::Directory(value));
                }
                options.load_file = path.to_owned();
            }
            'f' => {
                let format = LoadFormat::from_word(&value);
                options.load_format = format.ok_or_else(|| unknown("--load-format", &value))?;
            }
            'W' if !is_blank(&value) => {
                let before = options.allow_list.take().unwrap_or_default();
                options.allow_list = Some(format!("{before}cluster,{value}"));
            }
            'S' => options.subsystems = value,
            'P' => options.policy = value,
            'F' => options.format = Format::from_word(&value).ok_or_else(|| unknown("--match-format", &value))?,
            'T' => options.traverser = value,
            'g' if value.eq_ignore_ascii_case("dot") => options.graph_format = GraphFormat::Dot,
            'g' if value.eq_ignore_ascii_case("graphml") => options.graph_format = GraphFormat::GraphMl,
            'g' => return Err(unknown("--graph-format", &value)),
            'o' => options.graph_output = Some(value).filter(|name| !name.is_empty()),
            'p' if !is_blank(&value) => {
                options.prune = Some(match options.prune.take() {
                    Some(before) => format!("{before},{value}"),
                    None => value,
                });
            }
            't' => options.test_output = Some(value.into()),
            'r' if !(0..=MAX_RESERVE).contains(&super::number::leading(&value)) => {
                self.warnings.push(format!("WARN: out of range specified for --reserve-vtx-vec: {value}"));
            }
            'e' => options.elapse = true,
            'd' => options.no_prompt = true,
            RIGHT => options.right = true,
            // Blank lists and filters change nothing, nor does room for vertices.
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        match Options::parse(line.split_whitespace().map(str::to_owned)) {
            Ok(Parsed::Run { options, warnings }) if warnings.is_empty() => Ok(*options),
            Ok(Parsed::Run { warnings, .. }) => Err(warnings.join("\n")),
            Ok(Parsed::Help) => Err("help".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn options_stand_in_any_form() {
        let options =
            parse("-ed -Phigh --match-f rv1 --prune-filters=ALL:core -p ALL:gpu -f jgf -tout -r 400000").unwrap();
        let expected = Options {
            elapse: true,
            no_prompt: true,
            policy: "high".into(),
            format: Format::Rv1,
            prune: Some("ALL:core,ALL:gpu".into()),
            load_format: LoadFormat::Jgf,
            test_output: Some("out".into()),
            ..Options::default()
        };
        assert_eq!(options, expected);
        assert_eq!(parse("-W node,core").unwrap().allow_list.as_deref(), Some("cluster,node,core"));
        assert_eq!(Options::parse(["--prune-filters=".to_owned()]).map(|_| ()), Ok(()));
        assert!(parse("--right").unwrap().right);
    }

    #[test]
    fn what_is_refused() {
        let cases = [
            ("-x", "unrecognized option '-x'"),
            ("--match=high", "option '--match' is ambiguous"),
            ("--nope", "unrecognized option '--nope'"),
            ("-P", "option '-P' requires an argument"),
            ("--right=1", "option '--right' doesn't allow an argument"),
            ("graph.xml", "expected options only, found 'graph.xml'"),
            ("-F xml", "[ERROR] unknown format for --match-format: xml"),
            ("-f xml", "[ERROR] unknown format for --load-format: xml"),
            ("-g png", "[ERROR] unknown format for --graph-format: png"),
            ("-L /no/such/file", "[ERROR] file does not exist for --load-file: /no/such/file"),
            ("-L /", "[ERROR] path passed to --load-file is a directory: /"),
            ("-r 3000000", "WARN: out of range specified for --reserve-vtx-vec: 3000000"),
            ("-dh", "help"),
        ];
        for (line, expected) in cases {
            assert_eq!(parse(line).unwrap_err(), expected, "{line}");
        }
    }
}
