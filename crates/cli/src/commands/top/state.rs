//! What is shown and what a key does to it. Knows no terminal and no folder.

use adjutant_core::{Status, TaskId};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::deed::Deed;

/// How things stand.
#[derive(Debug, Clone, Default)]
pub(super) struct Picture {
    /// What the project is called.
    pub(super) project: String,
    /// Whether a daemon runs.
    pub(super) up: bool,
    /// How the crew is doing.
    pub(super) glance: String,
    /// What waits for a person, what runs, what is ready, and the rest.
    pub(super) lists: [Vec<Row>; 4],
}

/// The names of the lists.
pub(super) const LISTS: [&str; 4] = ["Inbox", "In progress", "Ready", "Others"];

/// A line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) id: TaskId,
    /// What it is, in a word.
    pub(super) kind: String,
    pub(super) status: Status,
    pub(super) title: String,
    /// For how long, in milliseconds.
    pub(super) since: Option<i64>,
    /// What there is to say about it.
    pub(super) notes: Vec<String>,
    /// The commands that would settle it.
    pub(super) actions: Vec<String>,
}

/// What came of a deed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) done: bool,
    pub(super) text: String,
}

/// What a person writes into the line at the bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// What to look for.
    Search,
    /// Why work is sent back.
    Reason,
    /// The answer to a question.
    Answer,
}

/// What is shown.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    pub(super) picture: Picture,
    /// Which list.
    pub(super) list: usize,
    /// Which row of it.
    pub(super) place: usize,
    /// What is looked for.
    pub(super) search: String,
    /// What is being written, and into what.
    pub(super) asking: Option<(Asking, String)>,
    /// Whether the output has all the room.
    pub(super) wide: bool,
    /// Whether the keys are shown.
    pub(super) help: bool,
    /// What came of the last deed.
    pub(super) said: Option<Said>,
    /// What the last run of the chosen task printed.
    pub(super) output: Option<String>,
}

/// What a key asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Press {
    /// Nothing that goes beyond what is shown.
    Nothing,
    /// To do something.
    Do(Deed),
    /// To leave.
    Leave,
}

impl State {
    pub(super) fn new(picture: Picture) -> Self {
        let list = usize::from(picture.lists[0].is_empty());
        Self { picture, list, ..Self::default() }
    }

    /// Shows how things stand now; the same task stays chosen where it is still there.
    pub(super) fn show(&mut self, picture: Picture) {
        let chosen = self.chosen().map(|row| row.id.clone());
        self.picture = picture;
        let again = chosen.and_then(|id| self.rows().iter().position(|row| row.id == id));
        self.place = again.unwrap_or(self.place);
        self.stay_inside();
    }

    /// Returns the rows that are shown.
    pub(super) fn rows(&self) -> Vec<&Row> {
        let wanted = self.search.to_lowercase();
        let fits = |row: &&Row| {
            row.title.to_lowercase().contains(&wanted)
                || row.id.as_str().to_lowercase().contains(&wanted)
        };
        self.picture.lists[self.list].iter().filter(fits).collect()
    }

    /// Returns the row that is chosen.
    pub(super) fn chosen(&self) -> Option<&Row> {
        self.rows().get(self.place).copied()
    }

    /// Does what a key stands for.
    pub(super) fn press(&mut self, key: KeyEvent) -> Press {
        self.said = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Press::Leave;
        }
        if std::mem::take(&mut self.help) {
            return Press::Nothing;
        }
        match self.asking.take() {
            Some((asking, text)) => self.write(asking, text, key.code),
            None => self.choose(key.code),
        }
    }

    fn choose(&mut self, code: KeyCode) -> Press {
        match code {
            KeyCode::Esc if self.wide => self.wide = false,
            KeyCode::Esc if !self.search.is_empty() => self.look_for(String::new()),
            KeyCode::Esc | KeyCode::Char('q') => return Press::Leave,
            KeyCode::Char('j') | KeyCode::Down => self.go(1),
            KeyCode::Char('k') | KeyCode::Up => self.go(-1),
            KeyCode::PageDown => self.go(10),
            KeyCode::PageUp => self.go(-10),
            KeyCode::Tab => self.turn_to((self.list + 1) % LISTS.len()),
            KeyCode::BackTab => self.turn_to((self.list + LISTS.len() - 1) % LISTS.len()),
            KeyCode::Char(digit @ '1'..='4') => self.turn_to(digit as usize - '1' as usize),
            KeyCode::Enter | KeyCode::Char('l') => self.wide = !self.wide,
            KeyCode::Char('/') => self.asking = Some((Asking::Search, self.search.clone())),
            KeyCode::Char('?') => self.help = true,
            KeyCode::Char('a') => return self.deed(Deed::approve),
            KeyCode::Char('y') => return self.deed(Deed::retry),
            KeyCode::Char('r') => self.ask(Asking::Reason),
            KeyCode::Char('t') => self.ask(Asking::Answer),
            _ => {}
        }
        Press::Nothing
    }

    /// Has the person write something about the chosen task.
    fn ask(&mut self, asking: Asking) {
        if self.chosen().is_some() {
            self.asking = Some((asking, String::new()));
        }
    }

    fn deed(&self, deed: impl Fn(TaskId) -> Deed) -> Press {
        self.chosen().map_or(Press::Nothing, |row| Press::Do(deed(row.id.clone())))
    }

    fn write(&mut self, asking: Asking, mut text: String, code: KeyCode) -> Press {
        match code {
            KeyCode::Esc => return Press::Nothing,
            KeyCode::Enter => return self.written(asking, text),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(one) => text.push(one),
            _ => {}
        }
        if asking == Asking::Search {
            self.look_for(text.clone());
        }
        self.asking = Some((asking, text));
        Press::Nothing
    }

    fn written(&mut self, asking: Asking, text: String) -> Press {
        if text.trim().is_empty() && asking != Asking::Search {
            self.said =
                Some(Said { done: false, text: "nothing was said, nothing was done".to_owned() });
            return Press::Nothing;
        }
        match asking {
            Asking::Search => self.look_for(text),
            Asking::Reason => return self.deed(|id| Deed::reject(id, text.clone())),
            Asking::Answer => return self.deed(|id| Deed::answer(id, text.clone())),
        }
        Press::Nothing
    }

    fn look_for(&mut self, text: String) {
        self.search = text;
        self.place = 0;
    }

    fn turn_to(&mut self, list: usize) {
        self.list = list;
        self.place = 0;
    }

    fn go(&mut self, by: isize) {
        self.place = self.place.saturating_add_signed(by);
        self.stay_inside();
    }

    fn stay_inside(&mut self) {
        self.place = self.place.min(self.rows().len().saturating_sub(1));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn row(number: u32, kind: &str, title: &str) -> Row {
        Row {
            id: TaskId::parse(&format!("TASK-2026-11-16-{number:03}")).expect("an id"),
            kind: kind.to_owned(),
            status: Status::parse(kind).unwrap_or(Status::Blocked),
            title: title.to_owned(),
            since: Some(125_000),
            notes: vec![format!("{title}: what there is to say.")],
            actions: vec![],
        }
    }

    pub(crate) fn state() -> State {
        let lists = [
            vec![row(3, "review", "Refuse odd names"), row(7, "question", "Choose a licence")],
            vec![row(9, "in-progress", "Parse dates")],
            vec![],
            vec![],
        ];
        let picture = Picture {
            project: "importer".to_owned(),
            up: true,
            glance: "1 in progress, at most 4 at once".to_owned(),
            lists,
        };
        State::new(picture)
    }

    fn press(state: &mut State, keys: &str) -> Press {
        let mut last = Press::Nothing;
        for key in keys.chars() {
            let code = match key {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                '\u{1b}' => KeyCode::Esc,
                other => KeyCode::Char(other),
            };
            last = state.press(KeyEvent::new(code, KeyModifiers::NONE));
        }
        last
    }

    fn id(number: u32) -> TaskId {
        row(number, "review", "").id
    }

    #[test]
    fn keys_do_what_the_help_says() {
        let cases = [
            ("a", Press::Do(Deed::approve(id(3)))),
            ("ja", Press::Do(Deed::approve(id(7)))),
            ("jjja", Press::Do(Deed::approve(id(7)))),
            ("jka", Press::Do(Deed::approve(id(3)))),
            ("rNo\n", Press::Do(Deed::reject(id(3), "No".to_owned()))),
            ("jtMIT\n", Press::Do(Deed::answer(id(7), "MIT".to_owned()))),
            ("r\n", Press::Nothing),
            ("rNo\u{1b}", Press::Nothing),
            ("\ty", Press::Do(Deed::retry(id(9)))),
            ("3a", Press::Nothing),
            ("/licence\na", Press::Do(Deed::approve(id(7)))),
            ("/licence\n\u{1b}a", Press::Do(Deed::approve(id(3)))),
            ("?q", Press::Nothing),
            ("q", Press::Leave),
        ];
        for (keys, expected) in cases {
            assert_eq!(press(&mut state(), keys), expected, "{keys:?}");
        }
    }

    #[test]
    fn the_same_task_stays_chosen_when_others_come_and_go() {
        let mut state = state();
        press(&mut state, "j");
        let mut picture = state.picture.clone();
        picture.lists[0].insert(0, row(1, "review", "New"));
        state.show(picture);
        assert_eq!(state.chosen().map(|row| row.id.clone()), Some(id(7)));
        state.show(Picture::default());
        assert_eq!(state.chosen(), None);
    }
}
