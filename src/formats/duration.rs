//! Flux standard durations (RFC 23): `N[ms|s|m|h|d]`, as `1.5h`; a bare number is seconds; `inf` or `infinity`.
//!
//! N is a decimal number with or without fraction and exponent. flux-core's C parser also takes what `strtod` takes
//! more: blanks before, hexadecimal floats, nothing at all for 0. These are refused here, as in its Python parser.
//!
//! Rounding: to the nearest microsecond, halves up; but what is longer than nothing never becomes zero, because zero
//! means "no limit" in most places where durations stand. What is longer than some 292,000 years is infinite.

use super::error::ParseError;
use crate::base::Duration;
use thiserror::Error;

/// Units, with their length in seconds.
const UNITS: [(&str, f64); 6] = [("", 1.0), ("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];

/// Why a text is not a duration.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("invalid duration: {0}")]
pub struct DurationError(#[from] ParseError);

/// Reads a duration.
///
/// ```
/// use sluice::base::Duration;
/// use sluice::formats::duration;
/// assert_eq!(duration::parse("1.5h").unwrap(), Duration::from_secs(5400));
/// assert_eq!(duration::parse("5w").unwrap_err().to_string(),
///     "invalid duration: expected one of ms, s, m, h, d, found `w` at byte 1");
/// ```
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    if ["inf", "infinity"].iter().any(|infinite| text.eq_ignore_ascii_case(infinite)) {
        return Ok(Duration::INFINITE);
    }
    let end = number_len(text);
    let digits = text[..end].strip_prefix('+').unwrap_or(&text[..end]);
    let Some(number) = digits.parse::<f64>().ok().filter(|_| digits.bytes().any(|b| b.is_ascii_digit())) else {
        return Err(ParseError::at_char(text, 0, "a non-negative number, or infinity").into());
    };
    let unit = &text[end..];
    let Some(&(_, seconds)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(ParseError::at_piece(end, "one of ms, s, m, h, d", unit).into());
    };
    match Duration::from_secs_f64(number * seconds) {
        Some(Duration::ZERO) if number > 0.0 => Ok(Duration::from_micros(1)),
        Some(duration) => Ok(duration),
        None => Err(ParseError::at_piece(0, "a non-negative number", text).into()),
    }
}

/// The length of the decimal number at the start of `text`. An `e` counts only if an exponent follows.
fn number_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = digits(usize::from(bytes.first() == Some(&b'+')));
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let after = digits(exponent);
        if after > exponent {
            return after;
        }
    }
    end
}

/// Writes a duration as flux-core does: six significant digits, below 0.1 s in `ms`, else in the largest of `s`, `m`,
/// `h`, `d` of which there is at least one.
///
/// ```
/// # use sluice::{base::Duration, formats::duration};
/// assert_eq!(duration::format(Duration::from_secs(5400)), "1.5h");
/// ```
pub fn format(duration: Duration) -> String {
    if duration.is_infinite() {
        return "infinity".to_owned();
    }
    let seconds = duration.secs_f64();
    let (number, unit) = match seconds {
        s if s < 0.1 && s != 0.0 => (s * 1000.0, "ms"),
        s if s < 60.0 => (s, "s"),
        s if s < 3600.0 => (s / 60.0, "m"),
        s if s < 86_400.0 => (s / 3600.0, "h"),
        s => (s / 86_400.0, "d"),
    };
    significant(number) + unit
}

/// Writes a duration in seconds to the last microsecond, or `infinity`: read again it is the same, below 140 years.
///
/// ```
/// # use sluice::{base::Duration, formats::duration};
/// assert_eq!(duration::format_exact(Duration::from_micros(60_000_001)), "60.000001s");
/// ```
pub fn format_exact(duration: Duration) -> String {
    if duration.is_infinite() { "infinity".to_owned() } else { format!("{duration}s") }
}

/// A number as C's `%.6g` writes it: six significant digits, without trailing zeros.
pub fn significant(number: f64) -> String {
    let scientific = format!("{number:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        trim(&format!("{number:.*}", usize::try_from(5 - exponent).unwrap_or(0)))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim(mantissa), exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads() {
        for (text, micros) in [
            ("0", 0),
            ("0s", 0),
            ("0.0", 0),
            ("1", 1_000_000),
            ("+1", 1_000_000),
            ("1.", 1_000_000),
            (".5", 500_000),
            ("1ms", 1_000),
            ("1.5s", 1_500_000),
            ("2m", 120_000_000),
            ("1h", 3_600_000_000),
            ("1d", 86_400_000_000),
            ("1e3", 1_000_000_000),
            ("1E-3s", 1_000),
            ("1e+1m", 600_000_000),
            ("0.0000004", 1),
            ("0.0000005", 1),
            ("0.0000014", 1),
            ("0.0000015", 2),
            ("1e-300", 1),
            ("inf", i64::MAX),
            ("Infinity", i64::MAX),
            ("INF", i64::MAX),
            ("1e300d", i64::MAX),
            ("1e999", i64::MAX),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_micros(micros)), "{text:?}");
        }
    }

    #[test]
    fn refuses() {
        for (text, message) in [
            ("", "expected a non-negative number, or infinity, found end of input at byte 0"),
            ("-1", "expected a non-negative number, or infinity, found `-` at byte 0"),
            (" 1", "expected a non-negative number, or infinity, found ` ` at byte 0"),
            (".", "expected a non-negative number, or infinity, found `.` at byte 0"),
            ("+", "expected a non-negative number, or infinity, found `+` at byte 0"),
            ("nan", "expected a non-negative number, or infinity, found `n` at byte 0"),
            ("e5", "expected a non-negative number, or infinity, found `e` at byte 0"),
            ("0x10", "expected one of ms, s, m, h, d, found `x10` at byte 1"),
            ("5w", "expected one of ms, s, m, h, d, found `w` at byte 1"),
            ("1H", "expected one of ms, s, m, h, d, found `H` at byte 1"),
            ("1 h", "expected one of ms, s, m, h, d, found ` h` at byte 1"),
            ("1e", "expected one of ms, s, m, h, d, found `e` at byte 1"),
            ("1h30m", "expected one of ms, s, m, h, d, found `h30m` at byte 1"),
            ("infs", "expected a non-negative number, or infinity, found `i` at byte 0"),
            ("infinite", "expected a non-negative number, or infinity, found `i` at byte 0"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), format!("invalid duration: {message}"), "{text:?}");
        }
    }

    #[test]
    fn prints_as_flux_core_does() {
        for (micros, text) in [
            (0, "0s"),
            (1, "0.001ms"),
            (12, "0.012ms"),
            (62_100, "62.1ms"),
            (100_000, "0.1s"),
            (59_999_999, "60s"),
            (60_000_000, "1m"),
            (90_000_000, "1.5m"),
            (5_400_000_000, "1.5h"),
            (100_000_000_000, "1.15741d"),
            (86_400_000_000 * 90, "90d"),
            (86_400_000_000 * 1_234_567, "1.23457e+06d"),
            (i64::MAX, "infinity"),
        ] {
            assert_eq!(format(Duration::from_micros(micros)), text);
        }
    }

    proptest! {
        #![proptest_config(crate::base::testing::config(256))]
        #[test]
        fn exact_form_round_trips(micros in prop_oneof![0..200_000i64, 0..1i64 << 50, Just(i64::MAX)]) {
            let duration = Duration::from_micros(micros);
            prop_assert_eq!(parse(&format_exact(duration)), Ok(duration));
        }

        #[test]
        fn short_form_keeps_six_digits(micros in prop_oneof![0..200_000i64, 0..1i64 << 62]) {
            let again = parse(&format(Duration::from_micros(micros))).unwrap().micros();
            prop_assert!((again - micros).unsigned_abs() <= micros.unsigned_abs() / 200_000 + 1, "{} {}", micros, again);
        }

        #[test]
        fn never_panics(text in ".*", near in "[+0-9.eE]{0,6}[a-z]{0,2}") {
            let _ = parse(&text);
            let _ = parse(&near);
        }
    }
}
