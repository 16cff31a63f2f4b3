//! The string forms: RFC 45, and the idsets of RFC 22 as lists.

use super::{Count, CountError, Shape, Step};
use crate::formats::error::quote;
use std::str::FromStr;

impl FromStr for Count {
    type Err = CountError;

    fn from_str(text: &str) -> Result<Count, CountError> {
        let mut reader = Reader { text, at: 0 };
        let bracket = reader.eat(b'[');
        let count = reader.count()?;
        if bracket && !reader.eat(b']') {
            return Err(reader.expected("`]`"));
        }
        if reader.at == text.len() { Ok(count) } else { Err(reader.expected("the end")) }
    }
}

/// A place in a count's text.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let hit = self.peek() == Some(byte);
        self.at += usize::from(hit);
        hit
    }

    /// The error that something else was expected here.
    fn expected(&self, expected: &'static str) -> CountError {
        let found = match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(c) => quote(&c.to_string()),
            None => "the end".to_owned(),
        };
        CountError::Text { text: quote(self.text), byte: self.at, expected, found }
    }

    /// A number of at least 1 without leading zeros.
    fn number(&mut self) -> Result<u64, CountError> {
        let digits = self.text.as_bytes()[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 || self.peek() == Some(b'0') {
            return Err(self.expected("a number from 1 on without leading zeros"));
        }
        let number = &self.text[self.at..self.at + digits];
        let value = number.parse().map_err(|_| CountError::Text {
            text: quote(self.text),
            byte: self.at,
            expected: "a number of at most 64 bits",
            found: quote(number),
        })?;
        self.at += digits;
        Ok(value)
    }

    fn count(&mut self) -> Result<Count, CountError> {
        let low = self.number()?;
        if self.eat(b'+') {
            let step = self.step()?;
            return Count::range(low, None, step);
        }
        let start = self.at;
        let high = if self.eat(b'-') { self.number()? } else { low };
        if self.peek() == Some(b',') {
            if start != self.at && high <= low {
                self.at = start + 1;
                return Err(self.expected("a number above the one before it"));
            }
            return self.list((low, high));
        }
        if start == self.at {
            return Ok(Count::fixed(low));
        }
        let step = self.step()?;
        Count::range(low, Some(high), step)
    }

    /// `:operand:operator`, of which the end may be missing.
    fn step(&mut self) -> Result<Step, CountError> {
        if !self.eat(b':') {
            return Ok(Step::Add(1));
        }
        let operand = self.number()?;
        if !self.eat(b':') {
            return Ok(Step::Add(operand));
        }
        let operator = match self.peek() {
            Some(c @ (b'+' | b'*' | b'^')) => char::from(c),
            _ => return Err(self.expected("`+`, `*` or `^`")),
        };
        self.at += 1;
        Step::new(operator, operand)
    }

    /// The rest of a list whose first run is `first`.
    fn list(&mut self, first: (u64, u64)) -> Result<Count, CountError> {
        let mut runs = vec![first];
        let mut last = first.1;
        while self.eat(b',') {
            let low = self.ascending(last)?;
            let high = if self.eat(b'-') { self.ascending(low)? } else { low };
            match runs.last_mut() {
                Some(run) if run.1 + 1 == low => run.1 = high,
                _ => runs.push((low, high)),
            }
            last = high;
        }
        match runs[..] {
            [(low, high)] => Count::range(low, Some(high), Step::Add(1)),
            _ => Ok(Count(Shape::Set(runs.into()))),
        }
    }

    /// A number above `last`.
    fn ascending(&mut self, last: u64) -> Result<u64, CountError> {
        let at = self.at;
        let value = self.number()?;
        if value > last {
            return Ok(value);
        }
        self.at = at;
        Err(self.expected("a number above the one before it"))
    }
}
