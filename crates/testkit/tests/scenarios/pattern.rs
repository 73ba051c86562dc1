//! Patterns of steps: `{task}` stands for one word, `{text...}` for any text.

/// Matches a text against a pattern and returns the shortest values of its placeholders.
pub(crate) fn captures(pattern: &str, text: &str) -> Option<Vec<String>> {
    let Some((before, from_place)) = pattern.split_once('{') else {
        return (pattern == text).then(Vec::new);
    };
    let (place, after) = from_place.split_once('}')?;
    let rest = text.strip_prefix(before)?;
    let fits = |part: &str| place.ends_with("...") || !part.contains(' ');
    let ends = rest.char_indices().map(|(at, char)| at + char.len_utf8());
    ends.map(|end| rest.split_at(end)).take_while(|(part, _)| fits(part)).find_map(
        |(part, tail)| {
            let mut found = captures(after, tail)?;
            found.insert(0, part.to_owned());
            Some(found)
        },
    )
}
