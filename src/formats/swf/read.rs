//! Reading a trace: bytes to jobs in one pass, without an allocation per line.

use super::{Extra, Swf, SwfError, SwfJob, SwfWarning, Warning};
use crate::base::FastSet;
use crate::formats::error::quote;
use flate2::read::MultiGzDecoder;
use std::io::Read;

/// The columns' names, for messages.
pub(super) const COLUMNS: [&str; 21] = [
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
    "executed nodes",
    "queue name",
    "node specification",
];

/// The most text that is read: some 20 million jobs. A small gzip file can unpack to a thousand times its size.
const MAX_BYTES: u64 = 2 << 30;
/// The most that is reserved before anything is unpacked.
const MAX_RESERVED: usize = 64 << 20;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Index of the column that keeps its fraction.
const AVG_CPU: usize = 5;
/// Columns of the format; below 17 a line is refused.
const FULL: usize = 18;

/// Reads a trace, plain or gzip, to its end.
///
/// # Errors
/// [`SwfError`]; also what `input` answers.
pub fn read(input: &mut impl Read) -> Result<Swf, SwfError> {
    let mut bytes = Vec::new();
    input.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(SwfError::Io)?;
    read_bytes(&bytes)
}

/// Reads a trace, plain or gzip, from memory.
///
/// # Errors
/// [`SwfError`] with the line and column of the first thing that is not SWF.
///
/// ```
/// let text = b"; MaxProcs: 4\n 1 0 -1 60 2 -1 -1 2 100 -1 1 1 1 -1 0 -1 -1 -1\n";
/// let trace = sluice::formats::swf::read_bytes(text).unwrap();
/// assert_eq!(trace.header.max_procs, Some(4));
/// assert_eq!(trace.jobs[0].size(), Some(2));
/// ```
pub fn read_bytes(bytes: &[u8]) -> Result<Swf, SwfError> {
    if !bytes.starts_with(&GZIP_MAGIC) {
        return read_text(bytes);
    }
    // The last four bytes of a gzip file tell its unpacked size, modulo 4 GiB; they may lie.
    let told = bytes.last_chunk().map_or(0, |size| u32::from_le_bytes(*size) as usize);
    let mut text = Vec::with_capacity(told.min(MAX_RESERVED).min(bytes.len().saturating_mul(32)) + 1);
    MultiGzDecoder::new(bytes).take(MAX_BYTES + 1).read_to_end(&mut text).map_err(SwfError::Gzip)?;
    read_text(&text)
}

fn read_text(text: &[u8]) -> Result<Swf, SwfError> {
    if text.len() as u64 > MAX_BYTES {
        return Err(SwfError::TooLarge { limit: MAX_BYTES });
    }
    // 64 bytes are a short line; a wrong guess costs one growth.
    let mut reader = Reader { swf: Swf::default(), ids: Ids::default(), line: 0, open: false };
    reader.swf.jobs.reserve(text.len() / 64);
    let mut rest = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    while !rest.is_empty() {
        reader.line += 1;
        rest = reader.line(rest)?;
    }
    Ok(reader.swf)
}

struct Reader {
    swf: Swf,
    ids: Ids,
    line: u32,
    /// Whether a header line without a key continues the one above.
    open: bool,
}

impl Reader {
    fn warn(&mut self, what: Warning) {
        self.swf.warnings.push(SwfWarning { line: self.line, what });
    }

    /// Reads the line at the head of `text`; answers what follows it.
    fn line<'a>(&mut self, text: &'a [u8]) -> Result<&'a [u8], SwfError> {
        let mut cursor = Cursor { text, at: 0 };
        match cursor.skip_blanks() {
            None => {}
            Some(b';') => {
                let end = cursor.line_end();
                self.header(&text[cursor.at + 1..end]);
                cursor.at = end;
            }
            Some(_) => self.job(&mut cursor)?,
        }
        // The cursor is at a line feed or at the end.
        Ok(text.get(cursor.at + 1..).unwrap_or_default())
    }

    fn header(&mut self, line: &[u8]) {
        let warning = match std::str::from_utf8(line) {
            Ok(line) => self.swf.header.add_line(line, &mut self.open),
            Err(_) => {
                self.warn(Warning::Encoding);
                let latin: String = line.iter().map(|byte| char::from(*byte)).collect();
                self.swf.header.add_line(&latin, &mut self.open)
            }
        };
        if let Some(warning) = warning {
            self.warn(warning);
        }
    }

    fn job(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SwfError> {
        self.open = false;
        let mut numbers = [-1_i64; FULL];
        let mut avg_cpu = -1.0;
        let mut found = 0;
        let mut least = 0;
        while found < FULL && cursor.skip_blanks().is_some() {
            let number = match cursor.whole() {
                Some(number) => {
                    if found == AVG_CPU {
                        avg_cpu = number as f64;
                    }
                    number
                }
                None => self.fraction(cursor, found, &mut avg_cpu)?,
            };
            numbers[found] = number;
            least = least.min(number);
            found += 1;
        }
        if found < FULL - 1 {
            return Err(SwfError::Columns { line: self.line, found });
        }
        let [id, submit, wait, run, procs, _, used_mem, req_procs, req_time, req_mem, status, ..] = numbers;
        let [.., user, group, executable, queue, partition, preceding, think] = numbers;
        let id = u64::try_from(id).map_err(|_| self.bad(0, "a number of at least 0", id.to_string().as_bytes()))?;
        self.warn_job(id, submit, &numbers, least, found);
        let extra = self.extra(cursor)?;
        self.swf.jobs.push(SwfJob {
            line: self.line,
            id,
            submit,
            wait,
            run,
            procs,
            avg_cpu,
            used_mem,
            req_procs,
            req_time,
            req_mem,
            status,
            user,
            group,
            executable,
            queue,
            partition,
            preceding,
            think,
            extra,
        });
        Ok(())
    }

    fn warn_job(&mut self, id: u64, submit: i64, numbers: &[i64; FULL], least: i64, found: usize) {
        if found < FULL {
            self.warn(Warning::MissingColumn);
        }
        if least < -1 {
            for (at, _) in numbers.iter().enumerate().filter(|(_, number)| **number < -1) {
                self.warn(Warning::Negative(at + 1));
            }
        }
        if self.swf.jobs.last().is_some_and(|last| submit < last.submit) {
            self.warn(Warning::SubmitGoesBack);
        }
        if self.ids.seen(id, &self.swf.jobs) {
            self.warn(Warning::DuplicateId);
        }
    }

    /// A column that is not a whole number of up to 18 digits.
    #[cold]
    fn fraction(&mut self, cursor: &mut Cursor<'_>, at: usize, avg_cpu: &mut f64) -> Result<i64, SwfError> {
        let word = cursor.word();
        let text = std::str::from_utf8(word).map_err(|_| self.bad(at, "a number", word))?;
        if let Ok(number) = text.parse::<i64>() {
            if at == AVG_CPU {
                *avg_cpu = number as f64;
            }
            return Ok(number);
        }
        let number: f64 = text.parse().map_err(|_| self.bad(at, "a number", word))?;
        // 2^63 is the first float above the range; NaN does not fit either.
        let fits = number.abs() < 9_223_372_036_854_775_808.0;
        if !fits {
            return Err(self.bad(at, "a number of at most 64 bits", word));
        }
        if at == AVG_CPU {
            *avg_cpu = number;
        } else if number.fract() != 0.0 {
            self.warn(Warning::Rounded(at + 1));
        }
        Ok(number.round() as i64)
    }

    #[cold]
    fn bad(&self, at: usize, expected: &'static str, word: &[u8]) -> SwfError {
        let found = quote(&String::from_utf8_lossy(word));
        SwfError::Number { line: self.line, column: at + 1, expected, found }
    }

    /// Columns 19 to 21, and the cursor to the end of the line.
    fn extra(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<Box<Extra>>, SwfError> {
        if cursor.skip_blanks().is_none() {
            return Ok(None);
        }
        let executed_nodes = self.nodes(cursor.word())?;
        let mut names = [None, None];
        for name in &mut names {
            if cursor.skip_blanks().is_some() {
                let word = String::from_utf8_lossy(cursor.word());
                *name = (word != "-1").then(|| word.into_owned());
            }
        }
        if cursor.skip_blanks().is_some() {
            self.warn(Warning::ExtraColumns);
            cursor.at = cursor.line_end();
        }
        let [queue_name, node_spec] = names;
        Ok(Some(Box::new(Extra { executed_nodes, queue_name, node_spec })))
    }

    /// `{1241,1241}`; `{}` and `-1` are none.
    fn nodes(&self, word: &[u8]) -> Result<Vec<u64>, SwfError> {
        if matches!(word, b"{}" | b"-1") {
            return Ok(Vec::new());
        }
        let bad = || self.bad(FULL, "node numbers as in {1,2}", word);
        let list = word.strip_prefix(b"{").and_then(|list| list.strip_suffix(b"}")).ok_or_else(bad)?;
        list.split(|byte| *byte == b',')
            .map(|digits| {
                let mut cursor = Cursor { text: digits, at: 0 };
                let number = cursor.whole().and_then(|number| u64::try_from(number).ok());
                number.filter(|_| cursor.at == digits.len()).ok_or_else(bad)
            })
            .collect()
    }
}

/// Which ids there were, at no cost while they ascend.
#[derive(Default)]
struct Ids {
    highest: Option<u64>,
    /// Every id so far, from the first that did not ascend.
    all: Option<FastSet<u64>>,
}

impl Ids {
    fn seen(&mut self, id: u64, earlier: &[SwfJob]) -> bool {
        let ascends = self.highest.is_none_or(|highest| id > highest);
        if ascends {
            self.highest = Some(id);
            if let Some(all) = &mut self.all {
                all.insert(id);
            }
            return false;
        }
        let all = self.all.get_or_insert_with(|| earlier.iter().map(|job| job.id).collect());
        !all.insert(id)
    }
}

/// A place in a text. Words end at blanks and line feeds.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Skips blanks; the byte of the word that follows, `None` at a line feed or the end.
    #[inline]
    fn skip_blanks(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) => self.at += 1,
                Some(b'\n') | None => return None,
                word => return word,
            }
        }
    }

    /// A whole number of at most 18 digits that fills its word; otherwise the cursor stays.
    #[inline]
    fn whole(&mut self) -> Option<i64> {
        let negative = self.peek() == Some(b'-');
        let start = self.at + usize::from(negative);
        let mut at = start;
        let mut value = 0_i64;
        while let Some(digit) = self.text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            // More than 18 digits may wrap; the length is checked below.
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
            at += 1;
        }
        let ends = matches!(self.text.get(at), None | Some(b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c));
        if at == start || at - start > 18 || !ends {
            return None;
        }
        self.at = at;
        Some(if negative { -value } else { value })
    }

    /// The word here.
    fn word(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c);
        let end = rest.iter().position(blank).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Where the line ends: its line feed, or the end.
    fn line_end(&self) -> usize {
        self.text[self.at..].iter().position(|byte| *byte == b'\n').map_or(self.text.len(), |end| self.at + end)
    }
}
