//! How the type of a vertex fits what is wanted at its place: as a resource, as the parent of slots, or as a level that
//! the request leaves out.

use super::options::Traverser;
use super::select::{Fit, Walk};
use super::types::{Spec, Ty};
use crate::base::VertexId;

impl Walk<'_> {
    pub(super) fn fit<'r>(&mut self, v: VertexId, ty: Ty, specs: &'r [Spec], pristine: bool) -> Fit<'r> {
        match self.engine.options.traverser {
            Traverser::Simple => self.fit_simply(v, ty, specs, pristine),
            Traverser::Flexible => self.fit_flexibly(v, ty, specs, pristine),
        }
    }

    pub(super) fn fit_simply<'r>(&mut self, v: VertexId, ty: Ty, specs: &'r [Spec], pristine: bool) -> Fit<'r> {
        let (mut slot, mut resource): (Option<&Spec>, Option<&Spec>) = (None, None);
        let mut matched = false;
        for spec in specs {
            if spec.ty != ty && spec.ty != Ty::SLOT {
                continue;
            }
            if std::mem::replace(&mut matched, true) {
                return self.ambiguous(ty);
            }
            if spec.ty == ty {
                resource = Some(spec);
                slot = spec.with.iter().rfind(|below| below.ty == Ty::SLOT).or(slot);
            } else {
                slot = Some(spec);
            }
        }
        match (slot, resource) {
            (Some(slot), _) if self.has_parts_of(v, slot) => Fit::Slot(&slot.with, slot.most()),
            (_, Some(resource)) => Fit::Resource(&resource.with),
            _ if pristine => Fit::Passed(specs),
            _ => Fit::None,
        }
    }

    pub(super) fn fit_flexibly<'r>(&mut self, v: VertexId, ty: Ty, specs: &'r [Spec], pristine: bool) -> Fit<'r> {
        let mut slots: Option<(&[Spec], u64)> = None;
        let mut resource: Option<&Spec> = None;
        let (mut matched, mut slot_matched) = (false, false);
        for spec in specs {
            if spec.ty == ty {
                if matched || slot_matched {
                    return self.ambiguous(ty);
                }
                matched = true;
                resource = Some(spec);
                if let Some(below) = spec.with.iter().rfind(|below| below.ty == Ty::SLOT) {
                    slots = Some((&spec.with, below.most()));
                }
            } else if spec.ty == Ty::SLOT {
                if matched {
                    return self.ambiguous(ty);
                }
                slots = Some((specs, spec.most()));
                slot_matched = true;
            }
        }
        match (slots, resource) {
            (Some((siblings, slots)), resource) => {
                if siblings.iter().any(|slot| self.has_parts_of(v, slot)) {
                    Fit::Slot(siblings, slots)
                } else if !self.compat() && resource.is_some() {
                    Fit::Resource(siblings)
                } else if pristine {
                    Fit::Passed(specs)
                } else {
                    Fit::None
                }
            }
            (None, Some(resource)) => Fit::Resource(&resource.with),
            _ if pristine => Fit::Passed(specs),
            _ => Fit::None,
        }
    }

    pub(super) fn ambiguous<'r>(&mut self, ty: Ty) -> Fit<'r> {
        self.complaint.push_str("test: siblings in jobspec request same resource type : ");
        self.complaint.push_str(self.engine.types.name(ty));
        self.complaint.push_str(".\n");
        Fit::None
    }

    /// Whether there is at least one vertex of each part of a slot directly below.
    pub(super) fn has_parts_of(&self, v: VertexId, slot: &Spec) -> bool {
        let engine = self.engine;
        let has =
            |part: &Spec| engine.types.kind(part.ty).is_some_and(|k| engine.topology.has_child(&engine.graph, v, k));
        slot.with.iter().all(has)
    }
}
