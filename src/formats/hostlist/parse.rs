//! From text to list.

use super::super::error::{ParseError, quote};
use super::{Hostlist, HostlistError, MAX_DIGITS, MAX_HOSTS, MAX_RANGE, MAX_RANGES, MAX_SUFFIXED, Run};

/// Names in a text are separated by any of these.
const SEPARATORS: [char; 3] = [',', ' ', '\t'];

/// Reads a list.
pub(super) fn parse(text: &str) -> Result<Hostlist, HostlistError> {
    let mut parser = Parser { text, list: Hostlist::new(), suffixed: 0 };
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let name = rest.trim_start_matches(SEPARATORS);
        at += rest.len() - name.len();
        let end = at + name_len(name);
        if end > at {
            parser.name(at, end)?;
        }
        at = end;
    }
    Ok(parser.list)
}

/// The length of the name at the start of `text`: up to a separator outside brackets.
fn name_len(text: &str) -> usize {
    let mut level = 0i64;
    for (at, c) in text.char_indices() {
        match c {
            '[' => level += 1,
            ']' => level -= 1,
            _ if level == 0 && SEPARATORS.contains(&c) => return at,
            _ => {}
        }
    }
    text.len()
}

/// A number or range in brackets.
#[derive(Clone, Copy)]
struct Span {
    low: u64,
    high: u64,
    width: usize,
}

struct Parser<'a> {
    text: &'a str,
    list: Hostlist,
    /// Names so far that came from groups followed by something.
    suffixed: usize,
}

impl Parser<'_> {
    /// Appends what `text[start..end]` stands for.
    fn name(&mut self, start: usize, end: usize) -> Result<(), HostlistError> {
        let piece = &self.text[start..end];
        let Some(open) = piece.find('[') else {
            if let Some(at) = piece.find(']') {
                return Err(HostlistError::Bracket { byte: start + at });
            }
            self.reserve(1, start)?;
            self.list.push(piece);
            return Ok(());
        };
        if let Some(at) = piece[..open].find(']') {
            return Err(HostlistError::Bracket { byte: start + at });
        }
        let mut heads = vec![self.text[start..start + open].to_owned()];
        let mut at = start + open;
        loop {
            let (spans, after) = self.group(at, end)?;
            if after == end {
                return self.push_numbers(&heads, &spans, at);
            }
            heads = self.expand(&heads, &spans, at)?;
            let rest = &self.text[after..end];
            let literal = rest.find('[').unwrap_or(rest.len());
            if let Some(wrong) = rest[..literal].find(']') {
                return Err(HostlistError::Bracket { byte: after + wrong });
            }
            for head in &mut heads {
                head.push_str(&rest[..literal]);
            }
            at = after + literal;
            if at == end {
                self.suffixed += heads.len();
                self.reserve(heads.len(), start)?;
                for name in heads {
                    self.list.push_run(Run::Name(name.into()));
                }
                return Ok(());
            }
        }
    }

    /// Appends each head with each number: the group at `byte` ends the name.
    fn push_numbers(&mut self, heads: &[String], spans: &[Span], byte: usize) -> Result<(), HostlistError> {
        if heads.len() > 1 {
            self.suffixed += self.charge(heads.len() as u64 * spans.len() as u64, byte)?;
        }
        for head in heads {
            for &Span { low, high, width } in spans {
                self.reserve((high - low) as usize + 1, byte)?;
                self.list.push_run(Run::Numbers { prefix: head.as_str().into(), low, high, width });
            }
        }
        Ok(())
    }

    /// Each head with each number appended: the group at `byte` is followed by something.
    fn expand(&self, heads: &[String], spans: &[Span], byte: usize) -> Result<Vec<String>, HostlistError> {
        let numbers: u64 = spans.iter().map(|span| span.high - span.low + 1).sum();
        let total = self.charge(numbers.saturating_mul(heads.len() as u64), byte)?;
        let mut all = Vec::with_capacity(total);
        for head in heads {
            for &Span { low, high, width } in spans {
                all.extend((low..=high).map(|number| format!("{head}{number:0width$}")));
            }
        }
        Ok(all)
    }

    /// Checks that the list may have `more` names or ranges from groups that something follows.
    fn charge(&self, more: u64, byte: usize) -> Result<usize, HostlistError> {
        if more > (MAX_SUFFIXED - self.suffixed) as u64 {
            let what = "names from brackets followed by something";
            return Err(HostlistError::TooMany { limit: MAX_SUFFIXED as u64, what, byte });
        }
        Ok(more as usize)
    }

    /// Checks that `more` names still fit the list.
    fn reserve(&self, more: usize, byte: usize) -> Result<(), HostlistError> {
        if self.list.len + more > MAX_HOSTS {
            return Err(HostlistError::TooMany { limit: MAX_HOSTS as u64, what: "hosts in a list", byte });
        }
        Ok(())
    }

    /// The ranges of the bracket group that opens at `open`, and the byte after its end.
    fn group(&self, open: usize, end: usize) -> Result<(Vec<Span>, usize), HostlistError> {
        let inside = open + 1;
        let Some(len) = self.text[inside..end].find(']') else {
            return Err(HostlistError::Bracket { byte: open });
        };
        let mut spans = Vec::new();
        let mut at = inside;
        for element in self.text[inside..inside + len].split(',') {
            if spans.len() == MAX_RANGES {
                let limit = MAX_RANGES as u64;
                return Err(HostlistError::TooMany { limit, what: "ranges in brackets", byte: at });
            }
            spans.push(self.span(at, element)?);
            at += element.len() + 1;
        }
        Ok((spans, inside + len + 1))
    }

    /// The range `element`, which begins at `byte`. Blanks before it are passed over, as flux-core does.
    fn span(&self, byte: usize, element: &str) -> Result<Span, HostlistError> {
        let trimmed = element.trim_start_matches([' ', '\t']);
        let start = byte + element.len() - trimmed.len();
        let stop = byte + element.len();
        let (low, dash) = self.number(start)?;
        let width = dash - start;
        if dash == stop {
            return Ok(Span { low, high: low, width });
        }
        if self.text.as_bytes()[dash] != b'-' {
            return Err(ParseError::at_char(self.text, dash, "a comma, a dash or a bracket").into());
        }
        let (high, after) = self.number(dash + 1)?;
        if after != stop {
            return Err(ParseError::at_char(self.text, after, "a comma or a bracket").into());
        }
        if high < low {
            return Err(HostlistError::Range { range: quote(trimmed).replace('`', ""), byte: start });
        }
        if high - low >= MAX_RANGE {
            return Err(HostlistError::TooMany { limit: MAX_RANGE, what: "hosts in a range", byte: start });
        }
        Ok(Span { low, high, width })
    }

    /// The number at `byte`, and where it ends.
    fn number(&self, byte: usize) -> Result<(u64, usize), HostlistError> {
        let digits = self.text[byte..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Err(ParseError::at_char(self.text, byte, "a number").into());
        }
        match self.text[byte..byte + digits].parse() {
            Ok(number) if digits <= MAX_DIGITS => Ok((number, byte + digits)),
            _ => Err(HostlistError::Digits { byte }),
        }
    }
}
