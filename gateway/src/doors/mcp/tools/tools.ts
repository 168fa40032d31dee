import {
  fromJsonSchema,
  type JsonSchemaType,
  type StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { Ajv } from "@modelcontextprotocol/server/validators/ajv";
import { isJsonObject } from "../../../platform/json.ts";
import { asMeant } from "./as-meant.ts";
import definitions from "./tools.json";

/** The five tools, as they are served. Their schemas are written by hand so that every client can read them. */
export const toolNames = ["search", "get_details", "list_categories", "use", "batch_use"] as const;
export type ToolName = (typeof toolNames)[number];

export interface Tool {
  readonly title: string;
  readonly description: string;
  /** Shown to clients but not checked by the library: the tool checks with `whyNot` and says itself what is wrong. */
  readonly inputSchema: StandardSchemaWithJSON;
  /** What somebody gave it, as it is meant for this tool. */
  readonly read: (given: unknown) => unknown;
  /** The first mistake in what was read, in words. */
  readonly whyNot: (given: unknown) => string | undefined;
  readonly outputSchema: StandardSchemaWithJSON;
  readonly annotations: (typeof definitions)[number]["annotations"];
}

/** Stops at the first mistake: finding and naming all of them could cost more than the call. */
const ajv = new Ajv({ strict: false, validateSchema: false });

export function loadTool(name: ToolName): Tool {
  const definition = definitions.find((one) => one.name === name);
  if (!definition) throw new Error(`tools.json does not define ${name}.`);
  const { title, description, annotations } = definition;
  return {
    title,
    description,
    annotations,
    inputSchema: unchecked(fromJsonSchema(definition.inputSchema)),
    read: (given) => asMeant(withoutAsides(given), definition.inputSchema),
    whyNot: checking(definition.inputSchema),
    outputSchema: fromJsonSchema(definition.outputSchema),
  };
}

/** A schema that shows itself like the given one, and lets everything pass. */
function unchecked(schema: StandardSchemaWithJSON): StandardSchemaWithJSON {
  const { vendor, jsonSchema } = schema["~standard"];
  return { "~standard": { version: 1, vendor, jsonSchema, validate: (value) => ({ value }) } };
}

function checking(schema: JsonSchemaType): Tool["whyNot"] {
  const check = ajv.compile(schema);
  return (given) => {
    if (check(given)) return undefined;
    const unknown: unknown = check.errors?.[0]?.params["additionalProperty"];
    const what = ajv.errorsText(check.errors, { dataVar: "arguments" });
    // Without its name an agent does not know which to leave out. It is the agent's own, and may be of any length.
    return typeof unknown === "string" ? `${what}: ${unknown.slice(0, 100)}` : what;
  };
}

/**
 * What is given to a tool, without what a client has its model say for the client alone: Gemini CLI offers with every tool
 * to wait for those before it, and passes that on.
 */
function withoutAsides(given: unknown): unknown {
  if (!isJsonObject(given) || !("wait_for_previous" in given)) return given;
  const { wait_for_previous: _, ...own } = given;
  return own;
}
