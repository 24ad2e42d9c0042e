//! What every page is made of: frame, head, lists, notices, dialogs.

pub(super) mod confirm;
pub(super) mod empty_list;
pub(super) mod failure;
pub(super) mod filter_bar;
pub(super) mod filter_sentence;
pub(super) mod flash;
pub(super) mod frame;
pub(super) mod key_help;
pub(super) mod live_badge;
pub(super) mod loaded;
pub(super) mod logo;
pub(super) mod newer_rows;
pub(super) mod page_head;
pub mod page_table;
pub(super) mod palette;
pub(super) mod reader;
pub(super) mod refusal;
pub(super) mod theme_switch;

pub use confirm::Confirm;
pub use empty_list::EmptyList;
pub use failure::Failure;
pub use filter_bar::FilterBar;
pub use filter_sentence::FilterSentence;
pub use flash::{Flash, FlashBar, Outcome};
pub use frame::Frame;
pub use key_help::KeyHelp;
pub use live_badge::LiveBadge;
pub use loaded::Loaded;
pub use logo::{Brand, InstanceBand, LOGO_PATH};
pub use newer_rows::NewerRows;
pub use page_head::PageHead;
pub use palette::Palette;
pub use reader::Reader;
pub use refusal::Refusal;
pub use theme_switch::ThemeSwitch;
