//! From XML to a tree of objects.

use super::tree::{Kind, Object, Tree};
use crate::formats::error::{ParseError, quote};
use crate::formats::xml::{Document, Element, XmlError};
use std::str::FromStr;

pub(super) fn parse(text: &[u8]) -> Result<Tree, XmlError> {
    let document = Document::parse(text, "topology")?;
    let version = document.root.attribute("version").unwrap_or("1");
    let major = version.split('.').next().unwrap_or_default();
    if !matches!(major, "1" | "2") {
        return Err(document.unexpected(&document.root, "version 1 or 2", quote(version)).into());
    }
    let mut machines = document.root.all("object");
    let missing = || document.unexpected(&document.root, "an <object> in <topology>", "none");
    let machine = machines.next().ok_or_else(missing)?;
    if let Some(second) = machines.next() {
        return Err(document.unexpected(second, "one <object> in <topology>", "a second").into());
    }
    let mut reader = Reader { document: &document, tree: Tree::default(), in_groups: major == "1" };
    if reader.kind(machine)? != Some(Kind::Machine) {
        let found = quote(machine.attribute("type").unwrap_or_default());
        return Err(document.unexpected(machine, "an object of type `Machine`", found).into());
    }
    reader.tree.host = info(machine, "HostName").map(str::to_owned);
    reader.add(machine, None)?;
    Ok(reader.tree)
}

fn info<'e>(element: &'e Element, name: &str) -> Option<&'e str> {
    let mut infos = element.all("info").filter(|info| info.attribute("name") == Some(name));
    infos.next().and_then(|info| info.attribute("value"))
}

struct Reader<'d> {
    document: &'d Document<'d>,
    tree: Tree,
    /// Whether what is in a NUMA node is written inside of it.
    in_groups: bool,
}

impl Reader<'_> {
    /// A number from an attribute or an info, at most 2^63 - 1.
    fn number<T: FromStr>(&self, element: &Element, what: &str, text: Option<&str>) -> Result<Option<T>, ParseError> {
        text.map(|text| {
            let bad = || self.document.unexpected(element, format!("a number as {what}"), quote(text));
            text.trim().parse().map_err(|_| bad())
        })
        .transpose()
    }

    /// Adds an object and all that is in it. Elements are nested 256 deep at most.
    fn add(&mut self, element: &Element, parent: Option<usize>) -> Result<(), ParseError> {
        let Some(kind) = self.kind(element)? else { return Ok(()) };
        let mut object = Object::new(kind);
        match kind {
            Kind::Cache { .. } => {
                let size: Option<u64> = self.number(element, "cache_size", element.attribute("cache_size"))?;
                object.size = Some(size.unwrap_or(0) / 1024);
            }
            Kind::Storage => {
                let size: Option<u64> = self.number(element, "Size", info(element, "Size"))?;
                // From units of 1,000 bytes.
                object.size = size.map(|size| size / 1_000_000);
                object.device = Some(info(element, "LinuxDeviceID").unwrap_or("-1").to_owned());
            }
            Kind::Gpu => object.number = device_number(element.attribute("name").unwrap_or_default()),
            _ => {}
        }
        let at = if kind == Kind::NumaNode && self.in_groups {
            let group = self.tree.add(Object::new(Kind::Group { depth: None }), parent);
            self.tree.add(object, Some(group));
            group
        } else {
            self.tree.add(object, parent)
        };
        for child in element.all("object") {
            self.add(child, Some(at))?;
        }
        Ok(())
    }

    /// What an object is; none if it is to be passed over with all that is in it.
    fn kind(&self, element: &Element) -> Result<Option<Kind>, ParseError> {
        let level = |depth: Option<u8>, instructions: bool| {
            let bad = || self.document.unexpected(element, "a `depth` of the cache", "none");
            Ok(Some(Kind::Cache { level: depth.ok_or_else(bad)?, instructions }))
        };
        Ok(Some(match self.document.required(element, "type")? {
            "Machine" => Kind::Machine,
            "Package" | "Socket" => Kind::Package,
            "Core" => Kind::Core,
            "PU" => Kind::Pu,
            "NUMANode" => Kind::NumaNode,
            "Group" => Kind::Group { depth: self.number(element, "depth", element.attribute("depth"))? },
            "Cache" => {
                let depth = self.number(element, "depth", element.attribute("depth"))?;
                return level(depth, element.attribute("cache_type") == Some("2"));
            }
            "OSDev" => match element.attribute("osdev_type") {
                Some("0") => Kind::Storage,
                Some("1") if element.attribute("name").is_some_and(|name| name.starts_with("rsmi")) => Kind::Gpu,
                Some("5") => Kind::Gpu,
                // DMA channels are not counted.
                Some("4") => return Ok(None),
                _ => Kind::OtherDevice,
            },
            "Bridge" | "PCIDev" => Kind::Io,
            "Misc" => return Ok(None),
            "MemCache" => Kind::MemoryCache,
            other => match cache_name(other) {
                Some((depth, instructions)) => return level(Some(depth), instructions),
                None => Kind::Other,
            },
        }))
    }
}

/// `L2Cache` and `L1iCache`.
fn cache_name(name: &str) -> Option<(u8, bool)> {
    let level = name.strip_prefix('L')?.strip_suffix("Cache")?;
    let instructions = level.ends_with('i');
    Some((level.trim_end_matches('i').parse().ok()?, instructions))
}

/// The number among the devices of one driver.
fn device_number(name: &str) -> Option<i64> {
    let digits = match name.get(..4) {
        Some("cuda" | "rsmi") => &name[4..],
        _ => name.strip_prefix("opencl")?.split_once('d')?.1,
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}
