//! Splits a shell command line into its commands, as far as that is possible without running it.

/// How deep `sh -c` may be nested.
const NESTING_MAX: usize = 4;

/// Programs that run the command which follows them.
const WRAPPERS: [&str; 10] =
    ["!", "command", "env", "exec", "nice", "nohup", "setsid", "sudo", "time", "xargs"];

/// Words of the shell's grammar: what follows them is not a plain list of commands.
const KEYWORDS: [&str; 15] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "function", "select", "eval",
];

/// Returns the forms of each command of a line: as it is written, with its quotes removed, and
/// without variables and programs before it. `None` if the commands cannot be told apart.
pub(super) fn split_commands(line: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = vec![];
    collect_commands(line, NESTING_MAX, &mut commands)?;
    (!commands.is_empty()).then_some(commands)
}

fn collect_commands(line: &str, depth: usize, into: &mut Vec<Vec<String>>) -> Option<()> {
    for (text, words) in simple_commands(line)? {
        let plain: Vec<&str> = words.iter().map(String::as_str).collect();
        let command = without_assignments(&plain);
        if command.is_empty() {
            // Only variables are set.
            into.push(vec![text]);
            continue;
        }
        // What a variable stands for is not known.
        if KEYWORDS.contains(&command[0]) || command[0].starts_with('$') {
            return None;
        }
        if let Some(inner) = shell_argument(command) {
            collect_commands(inner, depth.checked_sub(1)?, into)?;
            continue;
        }
        let mut forms = vec![text, plain.join(" "), command.join(" ")];
        forms.dedup();
        into.push(forms);
        // A command behind another program is a command of its own.
        let inner = without_wrappers(command);
        if inner.len() < command.len() && !inner.is_empty() {
            match shell_argument(inner) {
                Some(line) => collect_commands(line, depth.checked_sub(1)?, into)?,
                None => into.push(vec![inner.join(" ")]),
            }
        }
    }
    Some(())
}

/// Returns what a shell runs that is started with `-c`.
fn shell_argument<'a>(command: &[&'a str]) -> Option<&'a str> {
    match *command {
        [shell, "-c" | "-lc" | "-ec" | "-lec", line, ..] if is_shell(shell) => Some(line),
        _ => None,
    }
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    ["sh", "bash", "dash", "zsh", "ksh"].contains(&name)
}

fn without_assignments<'s, 'a>(words: &'s [&'a str]) -> &'s [&'a str] {
    let end = words.iter().position(|word| !is_assignment(word)).unwrap_or(words.len());
    &words[end..]
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let is_start = |sign: char| sign.is_ascii_alphabetic() || sign == '_';
    name.starts_with(is_start) && name.chars().all(|sign| is_start(sign) || sign.is_ascii_digit())
}

/// Removes programs that run what follows, with their options and variables.
fn without_wrappers<'s, 'a>(words: &'s [&'a str]) -> &'s [&'a str] {
    let mut rest = words;
    while let Some(first) = rest.first() {
        let name = first.rsplit('/').next().unwrap_or(first);
        if !WRAPPERS.contains(&name) {
            break;
        }
        rest = &rest[1..];
        while rest.first().is_some_and(|word| word.starts_with('-') || is_assignment(word)) {
            rest = &rest[1..];
        }
    }
    rest
}

/// Splits at the operators of the shell. Returns each command as it is written, and its words.
fn simple_commands(line: &str) -> Option<Vec<(String, Vec<String>)>> {
    let mut found = vec![];
    let mut current = CommandText::default();
    let mut signs = line.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\'' => {
                current.quote(sign);
                loop {
                    match signs.next()? {
                        '\'' => break,
                        inner => current.quoted(inner),
                    }
                }
                current.text.push('\'');
            }
            '"' => {
                current.quote(sign);
                loop {
                    match signs.next()? {
                        '"' => break,
                        '`' => return None,
                        '$' if signs.peek() == Some(&'(') => return None,
                        '\\' => current.escaped(signs.next()?),
                        inner => current.quoted(inner),
                    }
                }
                current.text.push('"');
            }
            '\\' => match signs.next()? {
                '\n' => current.end_word(' '),
                escaped => current.escaped(escaped),
            },
            '`' | '(' | ')' | '{' | '}' => return None,
            // A here-document brings lines that are no commands.
            '<' if signs.peek() == Some(&'<') => return None,
            '#' if current.word.is_none() => while signs.next_if(|next| *next != '\n').is_some() {},
            // `2>&1` and `&>` redirect.
            '&' if current.text.ends_with(['>', '<']) || signs.peek() == Some(&'>') => {
                current.plain(sign);
            }
            ';' | '\n' | '|' | '&' => current.end(&mut found),
            space if space.is_whitespace() => current.end_word(space),
            plain => current.plain(plain),
        }
    }
    current.end(&mut found);
    Some(found)
}

/// A command that is being read.
#[derive(Default)]
struct CommandText {
    text: String,
    words: Vec<String>,
    word: Option<String>,
}

impl CommandText {
    fn quote(&mut self, sign: char) {
        self.text.push(sign);
        self.word.get_or_insert_default();
    }

    fn quoted(&mut self, sign: char) {
        self.text.push(sign);
        self.word.get_or_insert_default().push(sign);
    }

    fn escaped(&mut self, sign: char) {
        self.text.push('\\');
        self.quoted(sign);
    }

    fn plain(&mut self, sign: char) {
        self.quoted(sign);
    }

    fn end_word(&mut self, space: char) {
        self.text.push(space);
        self.words.extend(self.word.take());
    }

    fn end(&mut self, into: &mut Vec<(String, Vec<String>)>) {
        let ended = std::mem::take(self);
        let words: Vec<String> = ended.words.into_iter().chain(ended.word).collect();
        if !words.is_empty() {
            into.push((ended.text.trim().to_owned(), words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last form of each command, which is the plainest.
    fn split(line: &str) -> Option<Vec<String>> {
        let commands = split_commands(line)?;
        Some(commands.into_iter().filter_map(|forms| forms.last().cloned()).collect())
    }

    #[test]
    fn command_line_is_split_at_operators_of_the_shell() {
        for (line, expected) in [
            ("make", vec!["make"]),
            ("cd x && make -j2; make test || true", vec!["cd x", "make -j2", "make test", "true"]),
            ("a | b |& c & d", vec!["a", "b", "c", "d"]),
            ("echo 'a; b' \"c && d\" e\\;f", vec!["echo a; b c && d e;f"]),
            ("a > x 2>&1 && b &> y", vec!["a > x 2>&1", "b &> y"]),
            ("X=1 Y=2 make", vec!["make"]),
            ("a # b; c\nd", vec!["a", "d"]),
            ("a \\\n  b", vec!["a b"]),
            ("bash -c 'a; b'", vec!["a", "b"]),
            ("/bin/sh -ec \"a && sh -c 'b'\"", vec!["a", "b"]),
            ("sudo -n rm x", vec!["sudo -n rm x", "rm x"]),
            ("env A=1 bash -c 'rm x'", vec!["env A=1 bash -c rm x", "rm x"]),
            ("echo \"$HOME\"", vec!["echo $HOME"]),
            ("! git push", vec!["! git push", "git push"]),
        ] {
            let expected = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(split(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn command_line_that_cannot_be_split_is_known_as_such() {
        for line in [
            "a $(b)",
            "a \"$(b)\"",
            "a `b`",
            "a \"`b`\"",
            "(a)",
            "{ a; }",
            "cat <<E\nx\nE",
            "a 'b",
            "a \"b",
            "a \\",
            "if a; then b; fi",
            "for x in a; do b; done",
            "eval a",
            "",
            " ; ",
            "diff <(a) b",
            "X=git; $X push",
            "\"$X\" push",
        ] {
            assert_eq!(split(line), None, "{line}");
        }
        let nested = (0..9).fold("a".to_owned(), |line, _| format!("sh -c {line:?}"));
        assert_eq!(split(&nested), None);
    }
}
