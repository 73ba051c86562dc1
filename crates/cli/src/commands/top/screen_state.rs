//! The state of `adjutant top` and how keys change it. Knows no terminal and no data folder.

use adjutant_model::{Status, TaskId};
use adjutant_query::inbox::OfferedAction;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{RequestedMerge, TopAction};

#[derive(Debug, Clone, Default)]
pub(super) struct BoardSnapshot {
    pub(super) project: String,
    pub(super) daemon_running: bool,
    pub(super) run_summary: String,
    /// In the order of [`LISTS`].
    pub(super) lists: [Vec<BoardRow>; 4],
}

pub(super) const LISTS: [&str; 4] = ["Inbox", "In progress", "Ready", "Other"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BoardRow {
    /// `None` for the configuration.
    pub(super) id: Option<TaskId>,
    /// The kind of an inbox item, or the status of a task.
    pub(super) kind: String,
    pub(super) status: Status,
    pub(super) title: String,
    /// How long the task has had this status, in milliseconds.
    pub(super) age_ms: Option<i64>,
    pub(super) notes: Vec<String>,
    /// The commands that decide an inbox item.
    pub(super) actions: Vec<OfferedAction>,
    /// Whether approving the task merges its work.
    pub(super) merges: bool,
}

/// The result of an action, shown in the footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ActionResult {
    pub(super) succeeded: bool,
    pub(super) text: String,
}

/// What the text typed into the footer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputPurpose {
    Search,
    /// The reason for a rejection.
    Reason,
    Answer,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ScreenState {
    pub(super) snapshot: BoardSnapshot,
    /// The index of the shown list in [`LISTS`].
    pub(super) list_index: usize,
    /// The index of the chosen row.
    pub(super) row_index: usize,
    pub(super) search: String,
    pub(super) input: Option<(InputPurpose, String)>,
    /// Whether the output fills the screen.
    pub(super) output_expanded: bool,
    pub(super) help_shown: bool,
    /// What is done if the person says yes to the question in the footer.
    pub(super) confirmation: Option<(String, TopAction)>,
    /// The changes of the chosen task, while they fill the screen.
    pub(super) diff: Option<String>,
    /// How many lines the output is scrolled up from its end, or the changes down from their start.
    pub(super) scroll: usize,
    /// A merge whose outcome is not known yet.
    pub(super) merge: Option<RequestedMerge>,
    pub(super) last_result: Option<ActionResult>,
    /// The end of the output of the chosen task's last run.
    pub(super) output: Option<String>,
}

/// What the caller must do after a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyOutcome {
    /// Only the state changed.
    Handled,
    Perform(TopAction),
    /// Show the changes of a task.
    ShowDiff(TaskId),
    Quit,
}

impl ScreenState {
    pub(super) fn new(snapshot: BoardSnapshot) -> Self {
        let list_index = usize::from(snapshot.lists[0].is_empty());
        Self { snapshot, list_index, ..Self::default() }
    }

    /// Replaces the data. The same task stays chosen if it is still in the list.
    pub(super) fn replace_snapshot(&mut self, picture: BoardSnapshot) {
        let chosen = self.selected_row().map(|row| row.id.clone());
        self.snapshot = picture;
        let again = chosen.and_then(|id| self.rows().iter().position(|row| row.id == id));
        self.row_index = again.unwrap_or(self.row_index);
        self.clamp_selection();
    }

    /// Returns the rows of the current list that match the search.
    pub(super) fn rows(&self) -> Vec<&BoardRow> {
        let wanted = self.search.to_lowercase();
        let fits = |row: &&BoardRow| {
            row.title.to_lowercase().contains(&wanted)
                || row.id.as_ref().is_some_and(|id| id.as_str().to_lowercase().contains(&wanted))
        };
        self.snapshot.lists[self.list_index].iter().filter(fits).collect()
    }

    pub(super) fn selected_row(&self) -> Option<&BoardRow> {
        self.rows().get(self.row_index).copied()
    }

    pub(super) fn handle_key(&mut self, key: KeyEvent) -> KeyOutcome {
        self.last_result = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return KeyOutcome::Quit;
        }
        if std::mem::take(&mut self.help_shown) {
            return KeyOutcome::Handled;
        }
        if let Some((_, action)) = self.confirmation.take() {
            return self.handle_confirmation_key(action, key.code);
        }
        match self.input.take() {
            Some((asking, text)) => self.handle_input_key(asking, text, key.code),
            None if self.is_scrolling() && self.scroll_by_key(key.code) => KeyOutcome::Handled,
            None => self.handle_command_key(key.code),
        }
    }

    fn handle_confirmation_key(&mut self, action: TopAction, code: KeyCode) -> KeyOutcome {
        if matches!(code, KeyCode::Char('y' | 'Y')) {
            return KeyOutcome::Perform(action);
        }
        let text = "nothing was done".to_owned();
        self.last_result = Some(ActionResult { succeeded: false, text });
        KeyOutcome::Handled
    }

    /// Returns whether text fills the screen, so that the movement keys scroll it.
    pub(super) const fn is_scrolling(&self) -> bool {
        self.output_expanded || self.diff.is_some()
    }

    /// Scrolls the text that fills the screen. Returns whether the key does that.
    fn scroll_by_key(&mut self, code: KeyCode) -> bool {
        let down: isize = match code {
            KeyCode::Char('j') | KeyCode::Down => 1,
            KeyCode::Char('k') | KeyCode::Up => -1,
            KeyCode::PageDown | KeyCode::Char(' ') => 20,
            KeyCode::PageUp => -20,
            KeyCode::Home | KeyCode::Char('g') => isize::MIN + 1,
            KeyCode::End | KeyCode::Char('G') => isize::MAX,
            _ => return false,
        };
        // The output is followed at its end, the changes are read from their beginning.
        let by = if self.diff.is_some() { down } else { -down };
        let lines = self.diff.as_ref().or(self.output.as_ref()).map_or(0, |t| t.lines().count());
        self.scroll = self.scroll.saturating_add_signed(by).min(lines.saturating_sub(1));
        true
    }

    /// Approves the chosen task, or asks first if that merges its work.
    fn approve(&mut self) -> KeyOutcome {
        let Some(row) = self.selected_row() else { return KeyOutcome::Handled };
        let Some(id) = row.id.clone() else { return KeyOutcome::Handled };
        if !row.merges {
            return KeyOutcome::Perform(TopAction::approve(id));
        }
        let text = format!("approve {id} and merge its work? [y/n]  {}", row.title);
        self.confirmation = Some((text, TopAction::approve(id)));
        KeyOutcome::Handled
    }

    fn handle_command_key(&mut self, code: KeyCode) -> KeyOutcome {
        match code {
            KeyCode::Esc | KeyCode::Char('q' | 'd') if self.diff.is_some() => self.close_text(),
            KeyCode::Esc if self.output_expanded => self.close_text(),
            KeyCode::Esc if !self.search.is_empty() => self.set_search(String::new()),
            KeyCode::Esc | KeyCode::Char('q') => return KeyOutcome::Quit,
            KeyCode::Char('j') | KeyCode::Down => self.move_selection(1),
            KeyCode::Char('k') | KeyCode::Up => self.move_selection(-1),
            KeyCode::PageDown => self.move_selection(10),
            KeyCode::PageUp => self.move_selection(-10),
            KeyCode::Tab => self.select_list((self.list_index + 1) % LISTS.len()),
            KeyCode::BackTab => self.select_list((self.list_index + LISTS.len() - 1) % LISTS.len()),
            KeyCode::Char(digit @ '1'..='4') => self.select_list(digit as usize - '1' as usize),
            KeyCode::Enter | KeyCode::Char('l') => {
                let expanded = !self.is_scrolling();
                self.close_text();
                self.output_expanded = expanded;
            }
            KeyCode::Char('d') => {
                let id = self.selected_row().and_then(|row| row.id.clone());
                return id.map_or(KeyOutcome::Handled, KeyOutcome::ShowDiff);
            }
            KeyCode::Char('/') => self.input = Some((InputPurpose::Search, self.search.clone())),
            KeyCode::Char('?') => self.help_shown = true,
            KeyCode::Char('a') => return self.approve(),
            KeyCode::Char('y') => return self.act_on_selected(TopAction::retry),
            KeyCode::Char('r') => self.open_input(InputPurpose::Reason),
            KeyCode::Char('t') => self.open_input(InputPurpose::Answer),
            _ => {}
        }
        KeyOutcome::Handled
    }

    fn close_text(&mut self) {
        (self.output_expanded, self.diff, self.scroll) = (false, None, 0);
    }

    /// Shows the changes of a task from their beginning.
    pub(super) fn show_diff(&mut self, diff: String) {
        self.close_text();
        self.diff = Some(diff);
    }

    /// Opens the footer for text about the chosen task, if there is one.
    fn open_input(&mut self, asking: InputPurpose) {
        if self.selected_row().is_some_and(|row| row.id.is_some()) {
            self.input = Some((asking, String::new()));
        }
    }

    fn act_on_selected(&self, action: impl Fn(TaskId) -> TopAction) -> KeyOutcome {
        let id = self.selected_row().and_then(|row| row.id.clone());
        id.map_or(KeyOutcome::Handled, |id| KeyOutcome::Perform(action(id)))
    }

    fn handle_input_key(
        &mut self,
        asking: InputPurpose,
        mut text: String,
        code: KeyCode,
    ) -> KeyOutcome {
        match code {
            KeyCode::Esc => return KeyOutcome::Handled,
            KeyCode::Enter => return self.submit_input(asking, text),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(one) => text.push(one),
            _ => {}
        }
        if asking == InputPurpose::Search {
            self.set_search(text.clone());
        }
        self.input = Some((asking, text));
        KeyOutcome::Handled
    }

    fn submit_input(&mut self, asking: InputPurpose, text: String) -> KeyOutcome {
        if text.trim().is_empty() && asking != InputPurpose::Search {
            self.last_result = Some(ActionResult {
                succeeded: false,
                text: "nothing was done: the text is empty".to_owned(),
            });
            return KeyOutcome::Handled;
        }
        match asking {
            InputPurpose::Search => self.set_search(text),
            InputPurpose::Reason => {
                return self.act_on_selected(|id| TopAction::reject(id, text.clone()));
            }
            InputPurpose::Answer => {
                return self.act_on_selected(|id| TopAction::answer(id, text.clone()));
            }
        }
        KeyOutcome::Handled
    }

    fn set_search(&mut self, text: String) {
        self.search = text;
        self.row_index = 0;
    }

    fn select_list(&mut self, list: usize) {
        self.close_text();
        self.list_index = list;
        self.row_index = 0;
    }

    fn move_selection(&mut self, by: isize) {
        self.row_index = self.row_index.saturating_add_signed(by);
        self.clamp_selection();
    }

    fn clamp_selection(&mut self) {
        self.row_index = self.row_index.min(self.rows().len().saturating_sub(1));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn row(number: u32, kind: &str, title: &str) -> BoardRow {
        BoardRow {
            id: Some(id(number)),
            kind: kind.to_owned(),
            status: Status::parse(kind).unwrap_or(Status::Blocked),
            title: title.to_owned(),
            age_ms: Some(125_000),
            notes: vec![format!("{title}: a note.")],
            actions: vec![],
            merges: false,
        }
    }

    pub(crate) fn state() -> ScreenState {
        let lists = [
            vec![row(3, "review", "Refuse odd names"), row(7, "question", "Choose a licence")],
            vec![row(9, "in-progress", "Parse dates")],
            vec![],
            vec![],
        ];
        let picture = BoardSnapshot {
            project: "importer".to_owned(),
            daemon_running: true,
            run_summary: "1 in progress, concurrency limit 4".to_owned(),
            lists,
        };
        ScreenState::new(picture)
    }

    fn press(state: &mut ScreenState, keys: &str) -> KeyOutcome {
        let mut last = KeyOutcome::Handled;
        for key in keys.chars() {
            let code = match key {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                '\u{1b}' => KeyCode::Esc,
                other => KeyCode::Char(other),
            };
            last = state.handle_key(KeyEvent::new(code, KeyModifiers::NONE));
        }
        last
    }

    fn id(number: u32) -> TaskId {
        TaskId::parse(&format!("TASK-2026-11-16-{number:03}")).expect("an id")
    }

    #[test]
    fn top_offers_no_task_action_on_the_configuration() {
        let mut state = state();
        let config = BoardRow { id: None, ..row(1, "config", "adjutant.toml") };
        state.snapshot.lists[0].insert(0, config);
        for keys in ["a", "y", "rNo\n", "tMIT\n"] {
            let mut state = state.clone();
            assert_eq!(press(&mut state, keys), KeyOutcome::Handled, "{keys:?}");
        }
    }

    #[test]
    fn top_keys_do_what_the_help_says() {
        let cases = [
            ("a", KeyOutcome::Perform(TopAction::approve(id(3)))),
            ("ja", KeyOutcome::Perform(TopAction::approve(id(7)))),
            ("jjja", KeyOutcome::Perform(TopAction::approve(id(7)))),
            ("jka", KeyOutcome::Perform(TopAction::approve(id(3)))),
            ("rNo\n", KeyOutcome::Perform(TopAction::reject(id(3), "No".to_owned()))),
            ("jtMIT\n", KeyOutcome::Perform(TopAction::answer(id(7), "MIT".to_owned()))),
            ("r\n", KeyOutcome::Handled),
            ("rNo\u{1b}", KeyOutcome::Handled),
            ("\ty", KeyOutcome::Perform(TopAction::retry(id(9)))),
            ("3a", KeyOutcome::Handled),
            ("/licence\na", KeyOutcome::Perform(TopAction::approve(id(7)))),
            ("/licence\n\u{1b}a", KeyOutcome::Perform(TopAction::approve(id(3)))),
            ("?q", KeyOutcome::Handled),
            ("d", KeyOutcome::ShowDiff(id(3))),
            ("q", KeyOutcome::Quit),
        ];
        for (keys, expected) in cases {
            assert_eq!(press(&mut state(), keys), expected, "{keys:?}");
        }
    }

    #[test]
    fn top_asks_before_it_merges_and_names_the_task() {
        let mut state = state();
        state.snapshot.lists[0][0].merges = true;
        assert_eq!(press(&mut state, "a"), KeyOutcome::Handled);
        let (question, _) = state.confirmation.clone().expect("it asks");
        assert!(
            question.contains("TASK-2026-11-16-003 and merge its work? [y/n]  Refuse"),
            "{question}"
        );
        for other in ["an", "a\n", "a\u{1b}", "aa"] {
            assert_eq!(press(&mut state.clone(), &other[1..]), KeyOutcome::Handled, "{other:?}");
        }
        assert_eq!(press(&mut state, "y"), KeyOutcome::Perform(TopAction::approve(id(3))));
    }

    #[test]
    fn top_text_that_fills_screen_is_scrolled() {
        let mut state = state();
        state.output = Some("line\n".repeat(100));
        press(&mut state, "\nkkkj");
        assert_eq!((state.scroll, state.row_index), (2, 0));
        press(&mut state, "g");
        assert_eq!(state.scroll, 99);
        press(&mut state, "\u{1b}");
        assert!(!state.is_scrolling());
        state.show_diff("line\n".repeat(50));
        press(&mut state, "jjk");
        assert_eq!(state.scroll, 1);
        press(&mut state, "q");
        assert_eq!((state.is_scrolling(), state.scroll), (false, 0));
    }

    #[test]
    fn top_selection_follows_task_when_list_changes() {
        let mut state = state();
        press(&mut state, "j");
        let mut picture = state.snapshot.clone();
        picture.lists[0].insert(0, row(1, "review", "New"));
        state.replace_snapshot(picture);
        assert_eq!(state.selected_row().map(|row| row.id.clone()), Some(Some(id(7))));
        state.replace_snapshot(BoardSnapshot::default());
        assert_eq!(state.selected_row(), None);
    }
}
