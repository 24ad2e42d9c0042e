//! Parts that know nothing of Headgate: they take words, numbers and tones and draw them.
//!
//! A class string lives once, in the variant table of its part; pages compose parts and carry no styling of
//! their own beyond spacing. What needs a grid of its own has a class in `style/base.css`.

mod anew;
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
mod meter;
mod notice;
mod pagination;
mod pill;
mod segmented;
mod skeleton;
mod sparkline;
mod table;
mod tile;
mod time;
mod time_chart;
mod tone;

pub use anew::Anew;
pub use button::{Button, ButtonKind, LinkButton};
pub use card::Card;
pub use chart_cursor::ChartCursor;
pub use copy_button::CopyButton;
pub use data_attr::{data_label, data_noscroll};
pub use dialog::Dialog;
pub use empty_state::EmptyState;
pub use field::{CheckField, SelectField, SelectOption, TextField};
pub use form::{HiddenFields, PostForm, follow};
pub use heat_strip::{HeatCell, HeatStrip};
pub use icon::{Glyph, Icon};
pub use key_values::{Fact, Facts};
pub use link::{Link, PerhapsLink};
pub use meter::{Meter, ProgressBar};
pub use notice::Notice;
pub use pagination::Pagination;
pub use pill::Pill;
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
