//! Numbers as C reads and prints them.

/// The number that a text begins with, as `strtoll` reads it: 0 where there is none, the nearest where it is too large.
pub(crate) fn leading(text: &str) -> i64 {
    let text = text.trim_start();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.bytes().take_while(u8::is_ascii_digit);
    let value = digits.fold(0i128, |value, digit| (value * 10 + i128::from(digit - b'0')).min(1 << 64));
    let value = if negative { -value } else { value };
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// A number as C++ streams print it: six significant digits, an exponent where it is large or small.
pub(crate) use sluice::formats::duration::significant as general;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_c() {
        for (text, value) in [("12x", 12), (" -3", -3), ("x", 0), ("", 0), ("99999999999999999999", i64::MAX)] {
            assert_eq!(leading(text), value, "{text}");
        }
        for (value, text) in [
            (0.0, "0"),
            (0.000123, "0.000123"),
            (0.00001, "1e-05"),
            (1.5, "1.5"),
            (1234567.0, "1.23457e+06"),
            (100000.0, "100000"),
        ] {
            assert_eq!(general(value), text);
        }
    }
}
