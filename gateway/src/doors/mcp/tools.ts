import { fromJsonSchema, type StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import definitions from "./tools.json";

/** The five tools, as they are served. Their schemas are written by hand so that every client can read them. */
export const toolNames = ["search", "get_details", "list_categories", "use", "batch_use"] as const;
export type ToolName = (typeof toolNames)[number];

export interface Tool {
  readonly title: string;
  readonly description: string;
  readonly inputSchema: StandardSchemaWithJSON<unknown, Checked>;
  readonly outputSchema: StandardSchemaWithJSON;
  readonly annotations: (typeof definitions)[number]["annotations"];
}

/** Arguments that passed their schema, or what is wrong with them: the tool says so in its own shape. */
export type Checked =
  | { readonly ok: true; readonly given: unknown }
  | { readonly ok: false; readonly given: unknown; readonly why: string };

export function loadTool(name: ToolName): Tool {
  const definition = definitions.find((one) => one.name === name);
  if (!definition) throw new Error(`tools.json does not define ${name}.`);
  const { title, description, annotations } = definition;
  return {
    title,
    description,
    annotations,
    inputSchema: checking(fromJsonSchema(definition.inputSchema)),
    outputSchema: fromJsonSchema(definition.outputSchema),
  };
}

/** A schema that shows itself like the given one, but hands a mistake on instead of stopping at it. */
function checking(schema: StandardSchemaWithJSON): StandardSchemaWithJSON<unknown, Checked> {
  const standard = schema["~standard"];
  return {
    "~standard": {
      version: 1,
      vendor: standard.vendor,
      jsonSchema: standard.jsonSchema,
      validate: async (value) => {
        const result = await standard.validate(value);
        if (!result.issues) return { value: { ok: true, given: result.value } };
        return { value: { ok: false, given: value, why: result.issues.map(inWords).join("; ") } };
      },
    },
  };
}

/** The validator calls everything "data"; the agent knows it as its arguments. */
const inWords = ({ message }: { readonly message: string }): string =>
  message.replaceAll(/\bdata(?=[ /])/g, "arguments");
