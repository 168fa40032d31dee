// Clients and models differ in how they write what a tool is given. Where only one thing can be meant, it is that.

import {
  isJsonObject,
  jsonDepthMax,
  jsonValuesMaxUsual,
  listOrEmpty,
  objectOrEmpty,
  parseJson,
  valuesIn,
  type JsonObject,
} from "../../../platform/json.ts";

/**
 * What a tool is given, in the words of its schema. Some clients send null for each member that their model left out, so no
 * tool with such members could ever be called from there. Others, and some models, write an object or a list as a string of
 * JSON. A price has to be a number, and inside the arguments of an operation nothing is touched: there a null or a string
 * may be meant.
 */
export function asMeant(given: unknown, schema: JsonObject): unknown {
  return readValue(given, schema, { values: jsonValuesMaxUsual });
}

/** What strings may still unpack to: all of them together no more than a whole message may have. */
interface Room {
  values: number;
}

function readValue(given: unknown, schema: JsonObject, room: Room): unknown {
  const value = typeof given === "string" ? unpack(given, schema["type"], room) : given;
  if (Array.isArray(value)) {
    const items = objectOrEmpty(schema["items"]);
    return value.map((item: unknown) => readValue(item, items, room));
  }
  const properties = objectOrEmpty(schema["properties"]);
  if (!isJsonObject(value) || Object.keys(properties).length === 0) return value;

  const required = listOrEmpty(schema["required"]);
  return Object.fromEntries(
    Object.entries(value)
      .filter(
        ([name, member]) => member !== null || required.includes(name) || !Object.hasOwn(properties, name),
      )
      .map(([name, member]) => [name, readValue(member, objectOrEmpty(properties[name]), room)]),
  );
}

/** A string that holds just what the schema wants instead of one; any other is left for the schema to refuse. */
function unpack(text: string, type: unknown, room: Room): unknown {
  const form = typeof type === "string" ? forms[type] : undefined;
  if (form?.begins.test(text) !== true) return text;
  const values = valuesIn(text, { depthMax: jsonDepthMax, valuesMax: room.values });
  if (values === undefined) return text;
  room.values -= values;
  const parsed = parseJson(new TextEncoder().encode(text));
  return parsed.ok && form.fits(parsed.value) ? parsed.value : text;
}

interface Form {
  /** Tells most strings apart before they are parsed. */
  readonly begins: RegExp;
  readonly fits: (value: unknown) => boolean;
}

const forms: Readonly<Record<string, Form>> = {
  object: { begins: /^\s*\{/, fits: isJsonObject },
  array: { begins: /^\s*\[/, fits: Array.isArray },
};
