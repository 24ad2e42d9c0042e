//! What may not be shown of an app's data, put together from the deployment's settings and its integrations'.

use model::{
    id::AppId,
    rules::masking::{Masking, Masks, Sensitive},
};

use crate::{Delivery, DeliveryError, store};

impl Delivery {
    /// How data of these apps is masked.
    ///
    /// # Errors
    /// When the database cannot be asked: then nothing may be shown.
    pub async fn masks(&self, mut app_ids: Vec<AppId>) -> Result<Masks, DeliveryError> {
        app_ids.sort_unstable();
        app_ids.dedup();
        let everywhere = || self.config.masked_fields.iter().map(String::as_str);
        let mut masks = Masks { everywhere: Masking::new(everywhere()), ..Masks::default() };
        if app_ids.is_empty() {
            return Ok(masks);
        }
        for (app_id, fields) in store::masks::marked(&self.pool, &app_ids).await? {
            let masking = Masking::new(everywhere().chain(fields.iter().map(String::as_str)));
            masks.by_app.insert(app_id, masking);
        }
        Ok(masks)
    }

    /// The same without what is secret in it, and how many values that were.
    ///
    /// # Errors
    /// As with [`Self::masks`].
    pub async fn masked<T: Sensitive>(&self, mut what: T) -> Result<(T, usize), DeliveryError> {
        let masks = self.masks(what.app_ids()).await?;
        let masked = what.mask(&masks);
        Ok((what, masked))
    }
}
