//! Job ids (RFC 19) in all their spellings.
//!
//! | encoding | as | |
//! |---|---|---|
//! | [`Dec`](Encoding::Dec) | `73735864320` | |
//! | [`Hex`](Encoding::Hex) | `0x112b000000` | |
//! | [`DotHex`](Encoding::DotHex) | `0000.0011.2b00.0000` | four groups, in keys of the KVS |
//! | [`F58`](Encoding::F58) | `ƒ2wLnaYX` | base 58 after `ƒ`; [`F58Plain`](Encoding::F58Plain) after `f` |
//! | [`Words`](Encoding::Words) | `pinball-invite-figure--album-academy-academy` | three words for each half, low half first |
//! | [`Emoji`](Encoding::Emoji) | `👙📏🔡🌼` | base 576 |
//!
//! Reading recognizes the encoding as flux-core does: a dot means dothex, a dash means words, `ƒ` or `f` at the start
//! base 58, an emoji emoji, anything else is a number. Blanks may stand before, and behind a number. Hexadecimal
//! digits and words may be in capitals. Refused, where flux-core's C takes it for some number or other: signs, numbers
//! and base 58 beyond 64 bits, surplus words, nothing but blanks.

mod emoji;
mod words;

use super::error::{ParseError, quote};
use crate::base::JobId;
use emoji::EMOJI;
use thiserror::Error;
use words::WORDS;

const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// Most digits of base 58 that flux-core reads.
const MAX_BASE58: usize = 12;
/// Bytes of one emoji.
const EMOJI_LEN: usize = 4;
/// Words of one id.
const WORD_COUNT: usize = 6;

/// How an id is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Encoding {
    /// A decimal number.
    Dec,
    /// A hexadecimal number after `0x`.
    Hex,
    /// Four groups of four hexadecimal digits.
    DotHex,
    /// Base 58 after `ƒ`.
    F58,
    /// Base 58 after `f`, in ASCII.
    F58Plain,
    /// Six words.
    Words,
    /// Up to seven emoji.
    Emoji,
}

/// Why a text is not a job id.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum JobIdError {
    /// Something else stands in the text.
    #[error("invalid job id: {0}")]
    Syntax(#[from] ParseError),
    /// The number does not fit 64 bits.
    #[error("invalid job id: {0} is larger than 64 bits")]
    TooLarge(String),
    /// A word that stands for nothing.
    #[error("invalid job id: unknown word {word} at byte {byte}")]
    Word {
        /// The word, quoted.
        word: String,
        /// Where it begins.
        byte: usize,
    },
    /// Not as many words as an id has.
    #[error("invalid job id: expected {WORD_COUNT} words, found {0}")]
    WordCount(usize),
}

/// Reads an id in whatever encoding.
///
/// ```
/// use sluice::base::JobId;
/// use sluice::formats::jobid::{Encoding, encode, parse};
/// assert_eq!(parse("ƒxyzzy").unwrap(), JobId(633528662));
/// assert_eq!(encode(JobId(633528662), Encoding::DotHex), "0000.0000.25c2.e156");
/// ```
pub fn parse(text: &str) -> Result<JobId, JobIdError> {
    let rest = text.trim_ascii_start();
    let start = text.len() - rest.len();
    let raw = if rest.contains('.') {
        dothex(text, start)
    } else if rest.contains('-') {
        from_words(text, start)
    } else if let Some(digits) = rest.strip_prefix(['ƒ', 'f']) {
        base58(text, text.len() - digits.len())
    } else if rest.as_bytes().starts_with(&[0xf0, 0x9f]) {
        from_emoji(text, start)
    } else {
        number(text, start)
    };
    raw.map(JobId)
}

/// Writes an id.
pub fn encode(id: JobId, encoding: Encoding) -> String {
    let JobId(raw) = id;
    match encoding {
        Encoding::Dec => raw.to_string(),
        Encoding::Hex => format!("{raw:#x}"),
        Encoding::DotHex => [48, 32, 16, 0].map(|shift| format!("{:04x}", raw >> shift & 0xffff)).join("."),
        Encoding::F58 => format!("ƒ{}", to_base58(raw)),
        Encoding::F58Plain => format!("f{}", to_base58(raw)),
        Encoding::Words => format!("{}--{}", half_words(raw as u32), half_words((raw >> 32) as u32)),
        Encoding::Emoji => digits(raw, 576).map(|digit| &EMOJI[digit * EMOJI_LEN..][..EMOJI_LEN]).collect(),
    }
}

/// The digits of a number, highest first; one zero for zero.
fn digits(raw: u64, base: u64) -> impl Iterator<Item = usize> {
    let count = raw.checked_ilog(base).unwrap_or(0);
    (0..=count).rev().map(move |power| (raw / base.pow(power) % base) as usize)
}

fn to_base58(raw: u64) -> String {
    digits(raw, 58).map(|digit| char::from(BASE58[digit])).collect()
}

fn half_words(half: u32) -> String {
    let base = WORDS.len();
    [1, base, base * base].map(|scale| WORDS[half as usize / scale % base]).join("-")
}

/// Puts a digit behind those that are there.
fn push_digit(raw: u64, base: u64, digit: usize, all: &str) -> Result<u64, JobIdError> {
    let next = raw.checked_mul(base).and_then(|raw| raw.checked_add(digit as u64));
    next.ok_or_else(|| JobIdError::TooLarge(quote(all)))
}

fn number(text: &str, start: usize) -> Result<u64, JobIdError> {
    let body = text[start..].trim_ascii_end();
    let (radix, digits, expected) = match body.strip_prefix("0x") {
        Some(digits) => (16, digits, "a hexadecimal digit"),
        None => (10, body, "a job id"),
    };
    let base = start + body.len() - digits.len();
    let wrong = digits.find(|c: char| !c.is_digit(radix)).or(digits.is_empty().then_some(0));
    if let Some(at) = wrong {
        return Err(ParseError::at_char(text, base + at, expected).into());
    }
    u64::from_str_radix(digits, radix).map_err(|_| JobIdError::TooLarge(quote(body)))
}

fn dothex(text: &str, start: usize) -> Result<u64, JobIdError> {
    let mut raw = 0;
    let mut at = start;
    for group in 0..4 {
        let len = text[at..].bytes().take(4).take_while(u8::is_ascii_hexdigit).count();
        let Some(value) = u64::from_str_radix(&text[at..at + len], 16).ok().filter(|_| len > 0) else {
            return Err(ParseError::at_char(text, at, "a hexadecimal digit").into());
        };
        raw = raw << 16 | value;
        at += len;
        let (stop, expected) = if group < 3 { (Some(&b'.'), "a dot") } else { (None, "the end") };
        if text.as_bytes().get(at) != stop {
            return Err(ParseError::at_char(text, at, expected).into());
        }
        at += 1;
    }
    Ok(raw)
}

fn base58(text: &str, start: usize) -> Result<u64, JobIdError> {
    let digits = &text[start..];
    if digits.is_empty() {
        return Err(ParseError::at_char(text, start, "a digit of base 58").into());
    }
    let mut raw = 0;
    for (at, byte) in digits.bytes().enumerate() {
        let Some(digit) = BASE58.iter().position(|&known| known == byte) else {
            return Err(ParseError::at_char(text, start + at, "a digit of base 58").into());
        };
        raw = push_digit(raw, 58, digit, text)?;
    }
    if digits.len() > MAX_BASE58 { Err(JobIdError::TooLarge(quote(text))) } else { Ok(raw) }
}

fn from_emoji(text: &str, start: usize) -> Result<u64, JobIdError> {
    let mut raw = 0;
    for (at, emoji) in text[start..].char_indices() {
        let Some(digit) = EMOJI.chars().position(|known| known == emoji) else {
            return Err(ParseError::at_char(text, start + at, "an emoji of RFC 19").into());
        };
        raw = push_digit(raw, 576, digit, text)?;
    }
    Ok(raw)
}

fn from_words(text: &str, start: usize) -> Result<u64, JobIdError> {
    let mut values = Vec::with_capacity(WORD_COUNT);
    let mut at = start;
    for word in text[start..].split(|c: char| !c.is_alphabetic()) {
        if !word.is_empty() {
            let lower = word.to_ascii_lowercase();
            let value = WORDS.iter().position(|&known| known == lower);
            values.push(value.ok_or_else(|| JobIdError::Word { word: quote(word), byte: at })? as u64);
        }
        // The separator behind the word is one character, of whatever length.
        at += word.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
    let [a, b, c, d, e, f] = values[..] else { return Err(JobIdError::WordCount(values.len())) };
    let base = WORDS.len() as u64;
    let half = |low, middle, high| low + base * (middle + base * high);
    let (low, high): (u64, u64) = (half(a, b, c), half(d, e, f));
    match (u32::try_from(low), u32::try_from(high)) {
        (Ok(low), Ok(high)) => Ok(u64::from(high) << 32 | u64::from(low)),
        _ => Err(JobIdError::TooLarge(quote(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Encoding; 7] = [
        Encoding::Dec,
        Encoding::Hex,
        Encoding::DotHex,
        Encoding::F58,
        Encoding::F58Plain,
        Encoding::Words,
        Encoding::Emoji,
    ];

    #[test]
    fn agrees_with_flux_core() {
        let max = u64::MAX;
        for (text, raw) in [
            ("ƒ1", 0),
            ("f111", 0),
            ("ƒz", 57),
            ("ƒ211", 3364),
            ("ƒ7YXq9G", 4_294_967_295),
            ("fxyzzy", 633_528_662),
            ("ƒuZZybuNNy", 6_731_191_091_817_518),
            ("ƒjpXCZedGfVQ", max),
            ("1234", 1234),
            ("18446744073709551615", max),
            ("0x0", 0),
            ("0x17e9fb8df16c2e", 6_731_191_091_817_518),
            (" 0xffff   ", 65535),
            ("0xFFFF", 65535),
            ("0.0.0.0", 0),
            ("0000.0000.0000.04d2", 1234),
            ("a.b.c.d", 2_814_797_012_533_261),
            ("ffff.0000.0000.0000", 18_446_462_598_732_840_960),
            ("😃", 0),
            ("🙊", 57),
            ("😁👌", 1234),
            ("💁📚", 65535),
            ("😳🏪🍖🍸", 4_294_967_295),
            ("🚹💗💧👗😷📷📚", max),
            ("academy-academy-academy--academy-academy-academy", 0),
            ("natural-analyze-verbal--natural-analyze-verbal", max),
            ("Natural-analyze-VERBAL natural/analyze--verbal", max),
        ] {
            assert_eq!(parse(text), Ok(JobId(raw)), "{text:?}");
        }
        let encoded = |raw| ALL.map(|encoding| encode(JobId(raw), encoding));
        assert_eq!(
            encoded(max),
            [
                "18446744073709551615",
                "0xffffffffffffffff",
                "ffff.ffff.ffff.ffff",
                "ƒjpXCZedGfVQ",
                "fjpXCZedGfVQ",
                "natural-analyze-verbal--natural-analyze-verbal",
                "🚹💗💧👗😷📷📚"
            ]
        );
        assert_eq!(
            encoded(0)[1..],
            ["0x0", "0000.0000.0000.0000", "ƒ1", "f1", "academy-academy-academy--academy-academy-academy", "😃"]
        );
        // Computed apart from this code.
        assert_eq!(
            encoded(73_735_864_320)[1..],
            [
                "0x112b000000",
                "0000.0011.2b00.0000",
                "ƒ2wLnaYX",
                "f2wLnaYX",
                "pinball-invite-figure--album-academy-academy",
                "👙📏🔡🌼"
            ]
        );
    }

    #[test]
    fn refuses() {
        for (text, message) in [
            ("", "expected a job id, found end of input at byte 0"),
            ("  ", "expected a job id, found end of input at byte 2"),
            ("boo", "expected a job id, found `b` at byte 0"),
            ("+1", "expected a job id, found `+` at byte 0"),
            ("12 34", "expected a job id, found ` ` at byte 2"),
            ("0x", "expected a hexadecimal digit, found end of input at byte 2"),
            ("0xg", "expected a hexadecimal digit, found `g` at byte 2"),
            ("-1", "expected 6 words, found 0"),
            ("18446744073709551616", "`18446744073709551616` is larger than 64 bits"),
            ("0x10000000000000000", "`0x10000000000000000` is larger than 64 bits"),
            ("f", "expected a digit of base 58, found end of input at byte 1"),
            ("ƒ", "expected a digit of base 58, found end of input at byte 2"),
            ("flux", "expected a digit of base 58, found `l` at byte 1"),
            ("f1230", "expected a digit of base 58, found `0` at byte 4"),
            ("f1ƒ", "expected a digit of base 58, found `ƒ` at byte 2"),
            ("fjpXCZedGfVR", "`fjpXCZedGfVR` is larger than 64 bits"),
            ("fzzzzzzzzzzzz", "`fzzzzzzzzzzzz` is larger than 64 bits"),
            ("f1111111111111", "`f1111111111111` is larger than 64 bits"),
            ("0.0.0", "expected a dot, found end of input at byte 5"),
            ("0.0.0.", "expected a hexadecimal digit, found end of input at byte 6"),
            (".0.0.0", "expected a hexadecimal digit, found `.` at byte 0"),
            ("0.0.0.g", "expected a hexadecimal digit, found `g` at byte 6"),
            ("0.0.0.0.0", "expected the end, found `.` at byte 7"),
            ("0.0.0.12345", "expected the end, found `5` at byte 10"),
            ("0.0.0.0 ", "expected the end, found ` ` at byte 7"),
            ("invalid-words-test", "unknown word `invalid` at byte 0"),
            ("academy-academyy", "unknown word `academyy` at byte 8"),
            ("academy-academy-academy", "expected 6 words, found 3"),
            ("yes-academy-academy--academy-academy-academy", "unknown word `yes` at byte 0"),
            ("academy-academy-academy--academy-academy-academy-acrobat", "expected 6 words, found 7"),
            (
                "verbal-verbal-verbal--academy-academy-academy",
                "`verbal-verbal-verbal--academy-academy-ac…` is larger than 64 bits",
            ),
            ("🦄", "expected an emoji of RFC 19, found `🦄` at byte 0"),
            ("😃😃x", "expected an emoji of RFC 19, found `x` at byte 8"),
            ("🚹💗💧👗😷📷🔰", "`🚹💗💧👗😷📷🔰` is larger than 64 bits"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), format!("invalid job id: {message}"), "{text:?}");
        }
    }

    #[test]
    fn tables_are_whole() {
        assert_eq!((EMOJI.len(), EMOJI.chars().count()), (576 * EMOJI_LEN, 576));
        assert_eq!(WORDS.iter().collect::<std::collections::BTreeSet<_>>().len(), 1626);
    }

    proptest! {
        #![proptest_config(crate::base::testing::config(256))]
        #[test]
        fn round_trips(raw in any::<u64>(), small in 0..100_000u64) {
            for raw in [raw, small] {
                for encoding in ALL {
                    prop_assert_eq!(parse(&encode(JobId(raw), encoding)), Ok(JobId(raw)), "{:?}", encoding);
                }
            }
        }

        #[test]
        fn never_panics(text in ".*", near in "[fƒ😃🦄0-9a-z. -]{0,12}") {
            let _ = parse(&text);
            let _ = parse(&near);
        }
    }
}
