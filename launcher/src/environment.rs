//! The environment, edited where the kernel put it.

use shims::stack::CStr;

use crate::text::Text;

/// envp: an array of strings that ends in NULL.
pub struct Environment {
    first: *mut Option<CStr>,
}

impl Environment {
    /// Takes a pointer to the first string.
    ///
    /// # Safety
    ///
    /// It must point to an array that ends in NULL, to which nobody else has access.
    #[inline(always)]
    pub unsafe fn new(first: *mut Option<CStr>) -> Self {
        Environment { first }
    }

    /// Where the array starts.
    #[inline(always)]
    pub fn as_ptr(&self) -> *const Option<CStr> {
        self.first
    }

    /// Without any variable.
    #[inline(always)]
    pub fn clear(&mut self) {
        // SAFETY: the first element is a string or the NULL.
        unsafe { *self.first = None };
    }

    /// The value of a variable; the first where it is there more than once.
    #[inline(never)]
    pub fn get(&self, name: CStr) -> Option<CStr> {
        let mut at = self.first;
        // SAFETY: up to its NULL the array has strings.
        unsafe {
            loop {
                let variable = (*at)?;
                at = at.add(1);
                let value = value(variable, name);
                if value.is_some() {
                    return value;
                }
            }
        }
    }

    /// Puts `new` (`NAME=VALUE`, or nothing) in the place of the variable whose name `name` starts
    /// with. Others of that name go, so that no two readers can see different values; what is no
    /// variable stays as it is. Where there is none, `add` puts the new one before all others.
    #[inline(always)]
    pub fn set(
        &mut self,
        name: CStr,
        mut new: Option<CStr>,
        add: impl FnOnce(*mut Option<CStr>, Option<CStr>),
    ) {
        let (mut from, mut to) = (self.first, self.first);
        // SAFETY: both go through the array, `from` ahead, up to its NULL, which is kept.
        unsafe {
            loop {
                *to = *from;
                let Some(variable) = *from else { break };
                from = from.add(1);
                if value(variable, name).is_some() {
                    if new.is_none() {
                        continue;
                    }
                    *to = new.take();
                }
                to = to.add(1);
            }
        }
        if new.is_some() {
            add(self.first, new);
            // SAFETY: there it is now.
            self.first = unsafe { self.first.sub(1) };
        }
    }
}

/// The value of a variable, if its name is that at the start of `name`.
#[inline(always)]
fn value(variable: CStr, name: CStr) -> Option<CStr> {
    let (mut variable, mut name) = (Text::new(variable), Text::new(name));
    while !variable.take(b'=') {
        // That is nothing at the end.
        if !name.take(variable.next()) {
            return None;
        }
    }
    matches!(name.peek(), b'=' | 0).then(|| variable.rest())
}
