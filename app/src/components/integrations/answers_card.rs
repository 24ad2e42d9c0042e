//! What an external system answered: by class of status over time, and each status by itself.

use super::windows::{self, over_time};
use crate::format;
use crate::ui::{Card, ChartData, ChartSeries, Meter, Table, TimeChart, Tone, data_label, legend};
use leptos::prelude::*;
use model::stats::Answers;
use std::collections::BTreeMap;

/// The status that counts requests without an answer.
const NO_ANSWER: i16 = 0;

/// Classes in the order they are stacked, the first at the bottom.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Accepted,
    Elsewhere,
    Refused,
    TooMany,
    Failed,
    None,
}

impl Class {
    const ALL: [Self; 6] =
        [Self::Accepted, Self::Elsewhere, Self::Refused, Self::TooMany, Self::Failed, Self::None];

    const fn of(status: i16) -> Self {
        match status {
            NO_ANSWER => Self::None,
            ..=299 => Self::Accepted,
            300..=399 => Self::Elsewhere,
            429 => Self::TooMany,
            400..=499 => Self::Refused,
            _ => Self::Failed,
        }
    }

    const fn style(self) -> (&'static str, Tone) {
        match self {
            Self::Accepted => ("2xx accepted", Tone::Delivered),
            Self::Elsewhere => ("3xx redirect", Tone::Waiting),
            Self::Refused => ("4xx refused", Tone::Retrying),
            Self::TooMany => ("429 throttled", Tone::Limited),
            Self::Failed => ("5xx failed", Tone::Failed),
            Self::None => ("no response", Tone::Paused),
        }
    }
}

/// The chart in its card, and below it every status that occurred.
#[component]
pub fn AnswersCard(#[prop(into)] answers: Signal<Answers>) -> impl IntoView {
    let data = Memo::new(move |_| answers.with(chart));
    let series: Vec<_> = Class::ALL
        .into_iter()
        .map(|class| {
            let (label, tone) = class.style();
            ChartSeries::new(label, tone)
        })
        .collect();
    let sub =
        Signal::derive(move || format!("requests per {}", windows::step(answers.with(|a| a.step_seconds))));
    let statuses = Memo::new(move |_| answers.with(by_status));
    let head = || {
        view! {
            <th scope="col">"Status"</th>
            <th scope="col" class="n">"Responses"</th>
            <th scope="col" class="n">"Share"</th>
        }
    };
    let rows = move || {
        let statuses = statuses.get();
        let all: i64 = statuses.iter().map(|(_, n)| n).sum();
        statuses
            .into_iter()
            .map(|(status, n)| {
                let share = n as f64 / all.max(1) as f64;
                let words = if status == NO_ANSWER { "no response".to_owned() } else { status.to_string() };
                view! {
                    <tr>
                        <td class="what">{words}</td>
                        <td class="n" {..data_label("responses")}>{format::count(n)}</td>
                        <td class="n" {..data_label("share")}>
                            <Meter share=Signal::stored(share) tone=Class::of(status).style().1 />
                            {format::percent(share)}
                        </td>
                    </tr>
                }
            })
            .collect_view()
    };
    view! {
        <Card title="Responses" sub=sub aside=legend(&series, None)>
            <TimeChart label="Responses by status class over time" series=series data=data />
            {move || {
                if statuses.with(Vec::is_empty) {
                    view! { <p class="px-4 pb-4 text-muted">"No requests in this window."</p> }.into_any()
                } else {
                    view! {
                        <Table label="Responses by status" stacks=true head=head>
                            {rows}
                        </Table>
                    }
                        .into_any()
                }
            }}
        </Card>
    }
    .into_any()
}

/// Each status with its count, the most frequent first.
fn by_status(answers: &Answers) -> Vec<(i16, i64)> {
    let mut sums = BTreeMap::<i16, i64>::new();
    for status in answers.buckets.iter().flat_map(|bucket| &bucket.statuses) {
        *sums.entry(status.status).or_default() += status.count;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(status, n)| (std::cmp::Reverse(*n), *status));
    sums
}

fn chart(answers: &Answers) -> ChartData {
    over_time(answers.step_seconds, &answers.buckets, |bucket| {
        let values = Class::ALL.into_iter().map(|class| {
            let of_class = bucket.statuses.iter().filter(|status| Class::of(status.status) == class);
            Some(of_class.map(|status| status.count).sum())
        });
        (bucket.at, values.collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::stats::{AnswersBucket, StatusCount};

    #[test]
    fn each_status_is_in_its_class_and_counted_by_itself() {
        let at = chrono::DateTime::UNIX_EPOCH;
        let count = |status, count| StatusCount { status, count };
        let statuses = vec![
            count(0, 1),
            count(200, 7),
            count(204, 2),
            count(302, 3),
            count(404, 4),
            count(429, 5),
            count(503, 6),
        ];
        let answers = Answers { step_seconds: 60, buckets: vec![AnswersBucket { at, statuses }] };
        assert_eq!(chart(&answers).buckets[0].values, [Some(9), Some(3), Some(4), Some(5), Some(6), Some(1)]);
        assert_eq!(by_status(&answers), [(200, 7), (503, 6), (429, 5), (404, 4), (302, 3), (204, 2), (0, 1)]);
    }
}
