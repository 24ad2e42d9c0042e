//! Components that know nothing of Headgate: they draw texts, numbers and tones.
//!
//! A class string is written once, in the variant table of its component; pages compose components and have no styling of
//! their own beyond spacing. Layouts with a grid of their own have a class in `style/base.css`.

mod button;
mod card;
mod chart_cursor;
mod chart_scale;
mod copy_button;
mod data_attr;
mod dialog;
mod empty_state;
mod field;
mod form;
mod heat_strip;
mod icon;
mod key_values;
mod link;
mod list_card;
mod meter;
mod notice;
mod pagination;
mod pill;
mod remount;
mod rich_text;
mod segmented;
mod skeleton;
mod sparkline;
mod table;
mod tile;
mod time;
mod time_chart;
mod tone;

pub use button::{Button, ButtonKind, LinkButton};
pub use card::Card;
pub use chart_cursor::ChartCursor;
pub use copy_button::CopyButton;
pub use data_attr::{data_label, data_noscroll};
pub use dialog::Dialog;
pub use empty_state::EmptyState;
pub use field::{CheckField, SelectField, SelectOption, TextField};
pub use form::{FormAction, HiddenFields, PostForm, form_action, hold_redirects, quiet_action};
pub use heat_strip::{HeatCell, HeatStrip};
pub use icon::{Glyph, Icon};
pub use key_values::{Fact, Facts};
pub use link::{Link, OptionalLink};
pub use list_card::ListCard;
pub use meter::{Meter, ProgressBar};
pub use notice::Notice;
pub use pagination::{PageLinks, Pagination};
pub use pill::Pill;
pub use remount::Remount;
pub use rich_text::{RichText, literal};
pub use segmented::{Segment, Segmented};
pub use skeleton::Skeleton;
pub use sparkline::Sparkline;
pub use table::Table;
pub use tile::{Delta, Tile};
pub use time::{Ago, Instant, LastTime};
pub use time_chart::{
    ChartBucket, ChartData, ChartForm, ChartMark, ChartSeries, ChartUnit, Stroke, TimeChart, legend,
};
pub use tone::Tone;
