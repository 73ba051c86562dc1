//! Operations of the HTTP API. Each is a route together with its description; the router and the
//! `OpenAPI` document are both built from them.

use std::collections::BTreeMap;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{self, MethodRouter};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::SharedState;
use super::problem::{MEDIA_TYPE, ProblemDocument};

/// Returns the schema of one type, and registers the types it refers to with the generator.
pub(super) type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// The generators of schemas. A field that can be null is required only in a response.
pub(super) struct ApiSchemas {
    pub(super) requests: SchemaGenerator,
    pub(super) responses: SchemaGenerator,
}

/// A route that has no summary yet.
pub(super) struct ApiRoute {
    method: &'static str,
    path: &'static str,
    tag: &'static str,
    id: &'static str,
    handler: MethodRouter<SharedState>,
}

impl ApiRoute {
    pub(super) fn get<T: 'static>(
        path: &'static str,
        tag: &'static str,
        id: &'static str,
        handler: impl Handler<T, SharedState>,
    ) -> Self {
        Self { method: "get", path, tag, id, handler: routing::get(handler) }
    }

    pub(super) fn post<T: 'static>(
        path: &'static str,
        tag: &'static str,
        id: &'static str,
        handler: impl Handler<T, SharedState>,
    ) -> Self {
        Self { method: "post", path, tag, id, handler: routing::post(handler) }
    }

    pub(super) fn patch<T: 'static>(
        path: &'static str,
        tag: &'static str,
        id: &'static str,
        handler: impl Handler<T, SharedState>,
    ) -> Self {
        Self { method: "patch", path, tag, id, handler: routing::patch(handler) }
    }

    /// Returns the operation. Each can respond with a problem, because the gate in front of the
    /// router can refuse any request.
    pub(super) fn summary(self, summary: &'static str) -> ApiOperation {
        let responses = BTreeMap::from([("default", ApiResponse::problem("The request failed."))]);
        let (parameters, request, is_public) = (vec![], None, false);
        ApiOperation { route: self, summary, parameters, request, responses, is_public }
    }
}

/// A route and its description.
pub(super) struct ApiOperation {
    route: ApiRoute,
    summary: &'static str,
    parameters: Vec<ApiParameter>,
    request: Option<ApiRequest>,
    responses: BTreeMap<&'static str, ApiResponse>,
    is_public: bool,
}

impl ApiOperation {
    pub(super) fn parameters(mut self, parameters: impl Into<Vec<ApiParameter>>) -> Self {
        self.parameters = parameters.into();
        self
    }

    /// Sets the request body to a JSON document of this type.
    pub(super) fn with_request_type<T: JsonSchema>(mut self) -> Self {
        self.request = Some(ApiRequest { description: None, content: ApiContent::json::<T>() });
        self
    }

    /// Sets the request body to bytes of any content type.
    pub(super) fn with_request_bytes(mut self, description: &'static str) -> Self {
        let content = ApiContent::bytes();
        self.request = Some(ApiRequest { description: Some(description), content });
        self
    }

    /// Adds the response 200 with a JSON document of this type.
    pub(super) fn with_response_type<T: JsonSchema>(self, description: &'static str) -> Self {
        self.response("200", ApiResponse::json::<T>(description))
    }

    pub(super) fn response(mut self, status: &'static str, response: ApiResponse) -> Self {
        self.responses.insert(status, response);
        self
    }

    /// Marks an operation that needs no token.
    pub(super) fn with_public_access(mut self) -> Self {
        self.is_public = true;
        self
    }

    /// Adds the route to a router.
    pub(super) fn add_route(self, router: Router<SharedState>) -> Router<SharedState> {
        router.route(self.route.path, self.route.handler)
    }

    /// Adds the description to the paths of an `OpenAPI` document.
    pub(super) fn add_description(
        &self,
        paths: &mut BTreeMap<&'static str, Map<String, Value>>,
        schemas: &mut ApiSchemas,
    ) {
        let path = paths.entry(self.route.path).or_default();
        path.insert(self.route.method.to_owned(), self.description(schemas));
    }

    fn description(&self, schemas: &mut ApiSchemas) -> Value {
        let ApiSchemas { requests, responses } = schemas;
        let (tag, summary, id) = (self.route.tag, self.summary, self.route.id);
        let mut object = json!({ "tags": [tag], "summary": summary, "operationId": id });
        if !self.parameters.is_empty() {
            let parameters = self.parameters.iter();
            object["parameters"] = parameters.map(|one| one.description(requests)).collect();
        }
        if let Some(request) = &self.request {
            object["requestBody"] = request.description(requests);
        }
        let bodies = self.responses.iter();
        object["responses"] =
            bodies.map(|(status, body)| (*status, body.description(responses))).collect();
        if self.is_public {
            object["security"] = json!([{}]);
        }
        object
    }
}

/// A parameter in a path, a query or a header.
#[derive(Clone, Copy)]
pub(super) struct ApiParameter {
    pub(super) name: &'static str,
    pub(super) location: &'static str,
    pub(super) description: &'static str,
    pub(super) schema: SchemaFn,
}

impl ApiParameter {
    pub(super) const fn path(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            location: "path",
            description,
            schema: SchemaGenerator::subschema_for::<String>,
        }
    }

    pub(super) const fn query<T: JsonSchema>(
        name: &'static str,
        description: &'static str,
    ) -> Self {
        Self { name, location: "query", description, schema: SchemaGenerator::subschema_for::<T> }
    }

    pub(super) const fn header<T: JsonSchema>(
        name: &'static str,
        description: &'static str,
    ) -> Self {
        Self { name, location: "header", description, schema: SchemaGenerator::subschema_for::<T> }
    }

    fn description(&self, schemas: &mut SchemaGenerator) -> Value {
        json!({
            "name": self.name,
            "in": self.location,
            "description": self.description,
            "required": self.location == "path",
            "schema": schema_of(self.schema, schemas),
        })
    }
}

/// The body of a request.
struct ApiRequest {
    description: Option<&'static str>,
    content: ApiContent,
}

impl ApiRequest {
    fn description(&self, schemas: &mut SchemaGenerator) -> Value {
        let mut object = json!({ "required": true, "content": self.content.description(schemas) });
        if let Some(description) = self.description {
            object["description"] = description.into();
        }
        object
    }
}

/// A response. `OpenAPI` requires its description.
pub(super) struct ApiResponse {
    description: &'static str,
    /// `None` if the document leaves the content open.
    content: Option<ApiContent>,
}

impl ApiResponse {
    pub(super) fn any(description: &'static str) -> Self {
        Self { description, content: None }
    }

    pub(super) fn json<T: JsonSchema>(description: &'static str) -> Self {
        Self { description, content: Some(ApiContent::json::<T>()) }
    }

    pub(super) fn text(media_type: &'static str, description: &'static str) -> Self {
        Self { description, content: Some(ApiContent::text(media_type)) }
    }

    pub(super) fn problem(description: &'static str) -> Self {
        let schema = SchemaGenerator::subschema_for::<ProblemDocument>;
        Self { description, content: Some(ApiContent { media_type: MEDIA_TYPE, schema }) }
    }

    fn description(&self, schemas: &mut SchemaGenerator) -> Value {
        let mut object = json!({ "description": self.description });
        if let Some(content) = &self.content {
            object["content"] = content.description(schemas);
        }
        object
    }
}

/// The content of a body: its media type and its schema.
struct ApiContent {
    media_type: &'static str,
    schema: SchemaFn,
}

impl ApiContent {
    fn json<T: JsonSchema>() -> Self {
        Self { media_type: "application/json", schema: SchemaGenerator::subschema_for::<T> }
    }

    fn text(media_type: &'static str) -> Self {
        Self { media_type, schema: SchemaGenerator::subschema_for::<String> }
    }

    /// Client generators know this media type, and leave out requests with `text/plain`.
    fn bytes() -> Self {
        let schema = |_: &mut _| json_schema!({ "type": "string", "format": "binary" });
        Self { media_type: "application/octet-stream", schema }
    }

    fn description(&self, schemas: &mut SchemaGenerator) -> Value {
        json!({ self.media_type: { "schema": schema_of(self.schema, schemas) } })
    }
}

fn schema_of(schema: SchemaFn, schemas: &mut SchemaGenerator) -> Schema {
    let mut schema = schema(schemas);
    for transform in schemas.transforms_mut() {
        transform.transform(&mut schema);
    }
    schema
}
