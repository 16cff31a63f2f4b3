//! XML as GRUG and hwloc use it: elements with attributes and text, each with its place.
//!
//! Decides well-formedness, by way of quick-xml, and resolves the predefined entities and character references. Does
//! not fetch or expand anything else: a document type is passed over, and an entity of its own is an error. Prefixes
//! of namespaces are cut off. Elements may be nested 256 deep.

use super::error::{ParseError, Position, quote};
use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use std::borrow::Cow;

/// How deep elements may be nested.
const MAX_DEPTH: usize = 256;

/// Why bytes are not an XML document.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum XmlError {
    /// Not UTF-8.
    #[error("expected UTF-8, found byte 0x{found:02x} at byte {byte}")]
    NotUtf8 {
        /// Bytes before it.
        byte: usize,
        /// The byte.
        found: u8,
    },
    /// Not well formed.
    #[error("{at}: {message}")]
    Syntax {
        /// Where.
        at: Position,
        /// What is wrong.
        message: String,
    },
    /// Well formed, but not what belongs there.
    #[error(transparent)]
    Content(#[from] ParseError),
}

/// An element with all that is in it.
#[derive(Debug)]
pub(super) struct Element {
    /// Without the prefix of a namespace.
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    /// All text directly in it.
    pub(super) text: String,
    pub(super) children: Vec<Element>,
    /// Bytes before its start tag.
    pub(super) byte: usize,
}

impl Element {
    /// The value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The elements of a name directly in it.
    pub(super) fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Element> + 'e {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// A document: its text, for places, and its root element.
#[derive(Debug)]
pub(super) struct Document<'t> {
    text: &'t str,
    pub(super) root: Element,
}

impl<'t> Document<'t> {
    /// Reads a whole document whose root has the given name.
    pub(super) fn parse(bytes: &'t [u8], root: &'static str) -> Result<Self, XmlError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let byte = error.valid_up_to();
            XmlError::NotUtf8 { byte, found: bytes.get(byte).copied().unwrap_or_default() }
        })?;
        let element = Builder::new(text).run(root)?;
        let document = Self { text, root: element };
        if document.root.name != root {
            let expected = format!("the element <{root}>");
            return Err(document.unexpected(&document.root, expected, format!("<{}>", document.root.name)).into());
        }
        Ok(document)
    }

    /// Where an element starts.
    pub(super) fn position(&self, element: &Element) -> Position {
        Position::in_text(self.text, element.byte)
    }

    /// An error about an element.
    pub(super) fn unexpected(
        &self,
        element: &Element,
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
    ) -> ParseError {
        ParseError { at: self.position(element), expected: expected.into(), found: found.into() }
    }

    /// The value of an attribute that must be there.
    pub(super) fn required<'e>(&self, element: &'e Element, name: &str) -> Result<&'e str, ParseError> {
        element.attribute(name).ok_or_else(|| {
            let expected = format!("an attribute `{name}` of <{}>", element.name);
            self.unexpected(element, expected, "none")
        })
    }
}

struct Builder<'t> {
    text: &'t str,
    reader: Reader<&'t [u8]>,
    open: Vec<Element>,
    root: Option<Element>,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, reader: Reader::from_str(text), open: Vec::new(), root: None }
    }

    fn run(mut self, expected_root: &str) -> Result<Element, XmlError> {
        loop {
            let byte = usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX);
            let event = self.reader.read_event().map_err(|error| {
                let byte = usize::try_from(self.reader.error_position()).unwrap_or(usize::MAX);
                self.syntax(byte, error.to_string())
            })?;
            match event {
                Event::Start(tag) => {
                    let element = self.element(&tag, byte)?;
                    self.open.push(element);
                }
                Event::Empty(tag) => {
                    let element = self.element(&tag, byte)?;
                    self.close(element);
                }
                Event::End(_) => {
                    if let Some(element) = self.open.pop() {
                        self.close(element);
                    }
                }
                Event::Text(text) => self.add_text(&text.xml10_content(), byte)?,
                Event::CData(text) => self.add_text(&text.xml10_content(), byte)?,
                Event::GeneralRef(reference) => {
                    let resolved = reference.resolve_char_ref().map_err(|e| self.syntax(byte, e.to_string()))?;
                    match resolved {
                        Some(c) => self.add_text(c.encode_utf8(&mut [0; 4]), byte)?,
                        None => {
                            let known = resolve_predefined_entity(&reference);
                            let unknown = || self.syntax(byte, format!("unknown entity {}", quote(&reference)));
                            self.add_text(known.ok_or_else(unknown)?, byte)?;
                        }
                    }
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
                Event::Eof => break,
            }
        }
        if let Some(open) = self.open.last() {
            return Err(self.syntax(self.text.len(), format!("expected </{}>, found end of input", open.name)));
        }
        let root = self.root.take();
        root.ok_or_else(|| self.syntax(self.text.len(), format!("expected the element <{expected_root}>, found none")))
    }

    fn syntax(&self, byte: usize, message: String) -> XmlError {
        XmlError::Syntax { at: Position::in_text(self.text, byte), message }
    }

    fn element(&self, tag: &BytesStart<'_>, byte: usize) -> Result<Element, XmlError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.syntax(byte, format!("expected elements nested at most {MAX_DEPTH} deep, found more")));
        }
        if self.open.is_empty() && self.root.is_some() {
            return Err(self.syntax(byte, "expected one root element, found another".to_owned()));
        }
        let mut attributes = Vec::new();
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|error| self.syntax(byte, error.to_string()))?;
            let value = attribute.normalized_value(XmlVersion::Explicit1_0);
            let value = value.map_err(|error| self.syntax(byte, error.to_string()))?;
            attributes.push((attribute.key.as_ref().to_owned(), value.into_owned()));
        }
        let name = tag.local_name().as_ref().to_owned();
        Ok(Element { name, attributes, text: String::new(), children: Vec::new(), byte })
    }

    fn close(&mut self, element: Element) {
        match self.open.last_mut() {
            Some(parent) => parent.children.push(element),
            None => self.root = Some(element),
        }
    }

    fn add_text(&mut self, text: &str, byte: usize) -> Result<(), XmlError> {
        match self.open.last_mut() {
            Some(element) => element.text.push_str(text),
            None if text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty() => {}
            None => return Err(self.syntax(byte, format!("expected an element, found text {}", quote(text.trim())))),
        }
        Ok(())
    }
}

/// Text as it stands in XML between tags or in double quotes.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    quick_xml::escape::escape(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_elements_attributes_and_text() {
        let text = "<?xml version=\"1.0\"?><!DOCTYPE a SYSTEM \"a.dtd\"><!-- c -->\n<n:a x='1&amp;2'>p&lt;<b/>q<![CDATA[<r>]]>&#x41;</n:a>";
        let document = Document::parse(text.as_bytes(), "a").unwrap();
        let a = &document.root;
        assert_eq!((a.attribute("x"), a.text.as_str(), a.all("b").count()), (Some("1&2"), "p<q<r>A", 1));
        assert_eq!(document.position(&a.children[0]).to_string(), "line 2, column 23");
    }

    #[test]
    fn refuses_what_is_not_well_formed() {
        let cases: [(&[u8], &str); 11] = [
            (b"", "line 1, column 1: expected the element <a>, found none"),
            (b"<a", "line 1, column 1: syntax error: tag not closed: `>` not found before end of input"),
            (b"<a>", "line 1, column 4: expected </a>, found end of input"),
            (b"<a></b>", "line 1, column 4: ill-formed document: expected `</a>`, but `</b>` was found"),
            (b"<b/>", "expected the element <a>, found <b> at line 1, column 1"),
            (b"<a/><a/>", "line 1, column 5: expected one root element, found another"),
            (b"\n<a/>x", "line 2, column 5: expected an element, found text `x`"),
            (b"<a>&x;</a>", "line 1, column 4: unknown entity `x`"),
            (b"<a>&#0;</a>", ""),
            (b"<a x='1' x='2'/>", ""),
            (b"<a>\xff</a>", "expected UTF-8, found byte 0xff at byte 3"),
        ];
        for (text, message) in cases {
            let found = Document::parse(text, "a").unwrap_err().to_string();
            assert!(if message.is_empty() { found.starts_with("line 1") } else { found == message }, "{found}");
        }
        let deep = "<a>".repeat(100_000);
        let found = Document::parse(deep.as_bytes(), "a").unwrap_err().to_string();
        assert_eq!(found, "line 1, column 769: expected elements nested at most 256 deep, found more");
    }

    proptest! {
        #![proptest_config(crate::base::testing::config(256))]
        #[test]
        fn any_bytes_give_a_value_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Document::parse(&bytes, "a");
        }

        #[test]
        fn any_markup_gives_a_value_or_an_error(text in "[<>/a&;#x!\\[\\]?='\" -]{0,40}") {
            let _ = Document::parse(text.as_bytes(), "a");
        }

        #[test]
        fn escaped_text_reads_as_it_was(text in "[ -~é]{0,20}") {
            let document = format!("<a x=\"{0}\">{0}</a>", escape(&text));
            let document = Document::parse(document.as_bytes(), "a").unwrap();
            prop_assert_eq!(&document.root.text, &text);
            prop_assert_eq!(document.root.attribute("x"), Some(text.as_str()));
        }
    }
}
