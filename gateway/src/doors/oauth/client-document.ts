// The document of a client that is known by its address, written for many authorization servers, as ours takes it.

import { isJsonObject, parseJson, type JsonObject } from "../../platform/json.ts";

export async function readClientDocument(document: Response): Promise<Response> {
  const { status, headers } = document;
  const written = new Uint8Array(await document.arrayBuffer());
  const json = status === 200 ? parseJson(written) : undefined;
  if (!json?.ok || !isJsonObject(json.value)) return new Response(written, { status, headers });
  // Scopes are asked for with each sign-in; those of other servers would be refused here, and with them the client.
  const { scope: _, ...said } = json.value;
  return Response.json({ ...said, ...authMethodOf(said) }, { status, headers });
}

/** A client that would rather sign, and says that it need not, is one without a secret: we check no signatures of clients. */
function authMethodOf(said: JsonObject): JsonObject {
  const { token_endpoint_auth_method: preferred, token_endpoint_auth_methods_supported: able } = said;
  const needNot = preferred === "private_key_jwt" && Array.isArray(able) && able.includes("none");
  return needNot ? { token_endpoint_auth_method: "none" } : {};
}
