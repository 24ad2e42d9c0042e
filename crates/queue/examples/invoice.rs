use queue::{Client, Job, JobError, JobHandler, LeasedJob, Runner, pool};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct GenerateInvoice {
    order_id: u64,
}

impl Job for GenerateInvoice {
    const JOB_TYPE: &'static str = "invoice.generate";
}

struct Invoicing;

impl JobHandler<GenerateInvoice> for Invoicing {
    type Output = String; // kept with the finished job

    async fn run(&self, order: GenerateInvoice, job: &LeasedJob) -> Result<String, JobError> {
        job.progress(1, 2, "adding up")?;
        let file = std::env::temp_dir().join(format!("invoice-{}.txt", order.order_id));
        tokio::fs::write(&file, "1 × 19.90").await?; // any error: retried
        Ok(file.display().to_string())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pool = pool::connect(&pool::PoolSettings::new(std::env::var("DATABASE_URL")?)).await?;
    let running = Runner::new(&pool).handle(Invoicing).start().await?; // migrates and starts
    let client = Client::open(&pool, "shop").await?;
    client.enqueue(&pool, GenerateInvoice { order_id: 7 }).await?; // or in a transaction of yours
    running.until_signal().await; // Ctrl-C: lets running jobs finish, then returns
    Ok(())
}
