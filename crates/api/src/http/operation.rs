//! Operations of the HTTP interface. Each is a route together with its description, and both the
//! router and the `OpenAPI` document are built from them.

use std::collections::BTreeMap;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{self, MethodRouter};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::App;
use super::problem::{MEDIA_TYPE, Told};

/// Returns the schema of one type, and registers the types it refers to with the generator.
pub(super) type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// A route that has no summary yet.
pub(super) struct ApiRoute {
    method: &'static str,
    path: &'static str,
    tag: &'static str,
    id: &'static str,
    handler: MethodRouter<App>,
}

impl ApiRoute {
    pub(super) fn get<T: 'static>(
        path: &'static str,
        tag: &'static str,
        id: &'static str,
        handler: impl Handler<T, App>,
    ) -> Self {
        Self { method: "get", path, tag, id, handler: routing::get(handler) }
    }

    pub(super) fn post<T: 'static>(
        path: &'static str,
        tag: &'static str,
        id: &'static str,
        handler: impl Handler<T, App>,
    ) -> Self {
        Self { method: "post", path, tag, id, handler: routing::post(handler) }
    }

    pub(super) fn patch<T: 'static>(
        path: &'static str,
        tag: &'static str,
        id: &'static str,
        handler: impl Handler<T, App>,
    ) -> Self {
        Self { method: "patch", path, tag, id, handler: routing::patch(handler) }
    }

    /// Returns the operation. Each can respond with a problem, because the gate in front of the
    /// router can refuse any request.
    pub(super) fn summary(self, summary: &'static str) -> ApiOperation {
        let responses = BTreeMap::from([("default", ApiBody::problem())]);
        let (parameters, request, is_public) = (vec![], None, false);
        ApiOperation { route: self, summary, parameters, request, responses, is_public }
    }
}

/// A route and its description.
pub(super) struct ApiOperation {
    route: ApiRoute,
    summary: &'static str,
    parameters: Vec<ApiParameter>,
    request: Option<ApiBody>,
    responses: BTreeMap<&'static str, ApiBody>,
    is_public: bool,
}

impl ApiOperation {
    pub(super) fn parameters(mut self, parameters: impl Into<Vec<ApiParameter>>) -> Self {
        self.parameters = parameters.into();
        self
    }

    /// Sets the request body to a JSON document of this type.
    pub(super) fn takes<T: JsonSchema>(self) -> Self {
        self.request(ApiBody::json::<T>())
    }

    pub(super) fn request(mut self, body: ApiBody) -> Self {
        self.request = Some(body);
        self
    }

    /// Adds the response 200 with a JSON document of this type.
    pub(super) fn returns<T: JsonSchema>(self) -> Self {
        self.response("200", ApiBody::json::<T>())
    }

    pub(super) fn response(mut self, status: &'static str, body: ApiBody) -> Self {
        self.responses.insert(status, body);
        self
    }

    /// Marks an operation that needs no token.
    pub(super) fn public(mut self) -> Self {
        self.is_public = true;
        self
    }

    /// Adds the route to a router.
    pub(super) fn add_route(self, router: Router<App>) -> Router<App> {
        router.route(self.route.path, self.route.handler)
    }

    /// Adds the description to the paths of an `OpenAPI` document.
    pub(super) fn add_description(
        &self,
        paths: &mut BTreeMap<&'static str, Map<String, Value>>,
        schemas: &mut SchemaGenerator,
    ) {
        let path = paths.entry(self.route.path).or_default();
        path.insert(self.route.method.to_owned(), self.description(schemas));
    }

    fn description(&self, schemas: &mut SchemaGenerator) -> Value {
        let (tag, summary, id) = (self.route.tag, self.summary, self.route.id);
        let mut object = json!({ "tags": [tag], "summary": summary, "operationId": id });
        if !self.parameters.is_empty() {
            let parameters = self.parameters.iter();
            object["parameters"] = parameters.map(|one| one.description(schemas)).collect();
        }
        if let Some(request) = &self.request {
            object["requestBody"] = request.description(schemas);
            object["requestBody"]["required"] = true.into();
        }
        let responses = self.responses.iter();
        object["responses"] =
            responses.map(|(status, body)| (*status, body.description(schemas))).collect();
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

/// The body of a request or a response.
pub(super) struct ApiBody {
    description: Option<&'static str>,
    content: Option<(&'static str, SchemaFn)>,
}

impl ApiBody {
    /// Returns a body that the description leaves open.
    pub(super) fn any(description: &'static str) -> Self {
        Self { description: Some(description), content: None }
    }

    fn new(media_type: &'static str, schema: SchemaFn) -> Self {
        Self { description: None, content: Some((media_type, schema)) }
    }

    pub(super) fn json<T: JsonSchema>() -> Self {
        Self::new("application/json", SchemaGenerator::subschema_for::<T>)
    }

    pub(super) fn text(media_type: &'static str) -> Self {
        Self::new(media_type, SchemaGenerator::subschema_for::<String>)
    }

    pub(super) fn problem() -> Self {
        Self::new(MEDIA_TYPE, SchemaGenerator::subschema_for::<Told>)
    }

    pub(super) fn described(self, description: &'static str) -> Self {
        Self { description: Some(description), ..self }
    }

    fn description(&self, schemas: &mut SchemaGenerator) -> Value {
        let mut object = json!({});
        if let Some(description) = self.description {
            object["description"] = description.into();
        }
        if let Some((media_type, schema)) = self.content {
            object["content"] = json!({ media_type: { "schema": schema_of(schema, schemas) } });
        }
        object
    }
}

fn schema_of(schema: SchemaFn, schemas: &mut SchemaGenerator) -> Schema {
    let mut schema = schema(schemas);
    for transform in schemas.transforms_mut() {
        transform.transform(&mut schema);
    }
    schema
}
