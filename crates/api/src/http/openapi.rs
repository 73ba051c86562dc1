//! The description of the programming interface, made from the types it is made of.

use axum::Json;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::routes;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Adjutant",
        description = "Tasks for a crew of coding agents: work orders out, reports in.",
        license(name = "Apache-2.0"),
    ),
    paths(
        routes::health::alive,
        routes::health::ready,
        routes::agents::status,
        routes::agents::agents,
        routes::agents::runs,
        routes::stories::list,
        routes::stories::show,
        routes::stories::prompt,
        routes::stories::start,
        routes::stories::next,
        routes::stories::approve,
        routes::stories::reject,
        routes::stories::rollback,
        routes::stories::reopen,
        routes::stories::auto,
        routes::stories::hook,
        routes::stories::report_error,
        routes::inbox::list,
        routes::inbox::settle,
        routes::events::list,
        routes::events::stream,
        routes::events::of_task,
        routes::messages::send,
        routes::messages::beat,
        routes::tasks::list,
        routes::tasks::show,
        routes::tasks::why,
        routes::tasks::runs,
        routes::tasks::log,
        routes::commands::create,
        routes::commands::edit,
        routes::commands::move_to,
        routes::commands::approve,
        routes::commands::reject,
        routes::commands::answer,
        routes::commands::retry,
        routes::commands::cancel,
        routes::commands::apply_salvage,
    ),
    security(("token" = []), ("cookie" = [])),
    modifiers(&Tokens),
)]
struct Api;

/// How a caller shows who it is.
struct Tokens;

impl Modify for Tokens {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let components = api.components.get_or_insert_default();
        let token = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The operator's token, or the token of a run"))
            .build();
        components.add_security_scheme("token", SecurityScheme::Http(token));
        let cookie = ApiKeyValue::with_description(
            "adjutant",
            "What a browser has after it signed in, under a name that differs from project to project; calls that change something also send X-CSRF-Token",
        );
        components.add_security_scheme("cookie", SecurityScheme::ApiKey(ApiKey::Cookie(cookie)));
    }
}

/// Returns the description of the programming interface, as JSON.
pub fn document() -> serde_json::Value {
    serde_json::to_value(Api::openapi()).unwrap_or_default()
}

/// Shows it. It says nothing of what is kept here, and needs no token.
pub(super) async fn show() -> Json<utoipa::openapi::OpenApi> {
    Json(Api::openapi())
}
