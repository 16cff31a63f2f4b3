//! Time zones: names that the built-in database knows.

use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A time zone of the IANA database, in the version that the program was built with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone {
    name: String,
    zone: TimeZone,
}

/// The built-in database has no such zone.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no time zone {0:?}: expected a name of the IANA database, as America/Los_Angeles, Europe/Berlin or UTC")]
pub struct UnknownZone(pub String);

impl Zone {
    /// Its name, in the database's spelling.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The instant at which the wall clock shows this, in seconds since 1970 UTC: a skipped time is so much later, of
    /// one that is shown twice it is the first.
    pub fn instant(&self, wall: DateTime) -> Option<i64> {
        self.zone.to_ambiguous_timestamp(wall).compatible().ok().map(|t| t.as_second())
    }

    /// What the wall clock shows at an instant, in seconds since 1970 UTC; `None` beyond the years that there are.
    pub fn wall(&self, seconds: i64) -> Option<DateTime> {
        jiff::Timestamp::from_second(seconds).ok().map(|t| self.zone.to_datetime(t))
    }

    /// The abbreviation in force at an instant, as `PDT` or `+08`.
    pub fn abbreviation(&self, seconds: i64) -> String {
        let at = jiff::Timestamp::from_second(seconds).ok();
        at.map_or_else(String::new, |t| self.zone.to_offset_info(t).abbreviation().to_owned())
    }
}

impl FromStr for Zone {
    type Err = UnknownZone;

    fn from_str(name: &str) -> Result<Self, UnknownZone> {
        let zone = TimeZoneDatabase::bundled().get(name).map_err(|_| UnknownZone(name.to_owned()))?;
        let name = zone.iana_name().unwrap_or(name).to_owned();
        Ok(Zone { name, zone })
    }
}

impl TryFrom<String> for Zone {
    type Error = UnknownZone;

    fn try_from(name: String) -> Result<Self, UnknownZone> {
        name.parse()
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> String {
        zone.name
    }
}
