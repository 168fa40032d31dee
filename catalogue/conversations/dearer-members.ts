// Members of a body that make a call cost more than was priced, at a vendor or at a router that speaks like one: they ask
// another model, run tools that are billed by use, or write more than the hold covers. Each has the reason that callers are told.

import { DecidingNames, isJsonObject, refuse, type JsonObject } from "../../gateway/src/for-catalogues.ts";

export interface DearerMember {
  readonly why: string;
  /** The vendor runs tools for it. Operators may allow that, and then bear what the tools cost. */
  readonly runsTools?: true;
  /** Whether a value asks for nothing. Null, false and an empty list never do. */
  readonly isHarmless?: (value: unknown, body: JsonObject) => boolean;
}

const isEmptyObject = (value: unknown): boolean => isJsonObject(value) && Object.keys(value).length === 0;

const declared: Readonly<Record<string, DearerMember>> = {
  // Who answers
  models: { why: "a router falls back on these models, and each has a price of its own" },
  route: { why: "with it a router chooses another model, which has a price of its own" },
  preset: { why: "a router has a model, tools and limits of its own stored under it" },
  fallbacks: { why: "another model has a price of its own" },
  context_window_fallbacks: { why: "a router asks these models instead, and each has a price of its own" },
  content_policy_fallbacks: { why: "a router asks these models instead, and each has a price of its own" },
  user_config: { why: "a router takes its list of models and keys from it" },
  provider: {
    why: "a router's sellers of one model ask different prices, and it chooses among them",
    isHarmless: isEmptyObject,
  },
  providerOptions: {
    why: "a router takes models and sellers from it, and each has a price of its own",
    isHarmless: isEmptyObject,
  },
  provider_options: {
    why: "a router takes models and sellers from it, and each has a price of its own",
    isHarmless: isEmptyObject,
  },
  compound_custom: { why: "with it a system of several models uses other ones, which have other prices" },
  routingConfig: { why: "with it Google's router chooses another model, which has a price of its own" },
  routing_config: { why: "with it Google's router chooses another model, which has a price of its own" },
  modelSelectionConfig: { why: "with it Google chooses another model, which has a price of its own" },
  model_selection_config: { why: "with it Google chooses another model, which has a price of its own" },

  // How fast and where it is done
  speed: {
    why: "a faster answer costs more, and has no price here",
    isHarmless: (value) => value === "standard",
  },
  inference_geo: {
    why: "an answer made in one place costs more, and has no price here",
    isHarmless: (value) => value === "global",
  },

  // How much is written
  best_of: {
    why: "that many answers are written and billed, and only n of them are given",
    isHarmless: (value, { n }) => typeof value === "number" && value <= (typeof n === "number" ? n : 1),
  },
  use_beam_search: { why: "several answers are written to choose one from, and all of them cost" },
  num_return_sequences: { why: "it is another word for n, and the hold is for n", isHarmless: isN },
  n_cmpl: { why: "it is another word for n, and the hold is for n", isHarmless: isN },
  n_predict: { why: "some servers write this much, whatever limit the hold was made for" },
  multi_agent: {
    why: "several agents read and write in one call, and the hold covers only one",
    isHarmless: (value) => isJsonObject(value) && value["enabled"] === false && areOff(value, /^enabled$/iu),
  },
  deferred: { why: "an answer that is fetched later cannot be metered when it is written" },

  // Which tools are run
  web_search_options: { why: "it makes the vendor search the web, which is billed by use", runsTools: true },
  search_parameters: {
    why: "it makes the vendor search sources, which are billed one by one",
    runsTools: true,
    isHarmless: (value) => isJsonObject(value) && value["mode"] === "off",
  },
  web_search: {
    why: "it makes the vendor search the web, which is billed by use",
    runsTools: true,
    isHarmless: (value) => isJsonObject(value) && value["enable"] === false && areOff(value, /^enable$/iu),
  },
  venice_parameters: {
    why: "they make the vendor search the web and read pages, which is billed by use",
    runsTools: true,
    isHarmless: (value) => isJsonObject(value) && areOff(value, /search|scrap/iu),
  },
  enable_search: { why: "it makes the vendor search the web, which is billed by use", runsTools: true },
  // The same in the words of Hunyuan and of Baichuan.
  enable_enhancement: { why: "it makes the vendor search the web, which is billed by use", runsTools: true },
  force_search_enhancement: {
    why: "it makes the vendor search the web, which is billed by use",
    runsTools: true,
  },
  enable_deep_search: {
    why: "it makes the vendor search the web many times, which is billed by use",
    runsTools: true,
  },
  with_search_enhance: { why: "it makes the vendor search the web, which is billed by use", runsTools: true },
  enable_code_interpreter: {
    why: "it makes the vendor run code, and the model reads what that prints",
    runsTools: true,
  },
  plugins: { why: "they search the web or read files, which is billed by use", runsTools: true },
  data_sources: { why: "the model reads what is found there, however much it is", runsTools: true },
  mcp_servers: { why: "their tools are run as often as the model likes", runsTools: true },
};

function isN(value: unknown, { n }: JsonObject): boolean {
  return value === (n ?? 1);
}

/** Whether every member with such a name is off. */
function areOff(members: JsonObject, names: RegExp): boolean {
  return Object.entries(members).every(
    ([name, value]) => !names.test(name) || value === false || value === "off" || value === null,
  );
}

const byName: ReadonlyMap<string, DearerMember> = new Map(Object.entries(declared));

/** `extra_body` is never sent on, so nothing can hide in it. Spelled in other letters it would be sent, so that is refused. */
export const dearerNames: readonly string[] = [...Object.keys(declared), "extra_body"];
const inAnyLetters = new DecidingNames(dearerNames);

/** Refuses every member that makes the call cost more, those that run tools included. */
export function checkDearer(members: JsonObject, path = ""): void {
  for (const name in members) {
    inAnyLetters.check(name);
    const member = findDearer(name, members);
    if (member) refuseDearer(path + name, member);
  }
}

/** What is known of a member that makes the call cost more; undefined where it does not, with the value it has. */
export function findDearer(name: string, members: JsonObject): DearerMember | undefined {
  const member = byName.get(name);
  if (!member) return undefined;
  const value = members[name];
  if (value === null || value === undefined || value === false) return undefined;
  if (Array.isArray(value) && value.length === 0) return undefined;
  return member.isHarmless?.(value, members) === true ? undefined : member;
}

export const refuseDearer = (field: string, { why }: DearerMember): never =>
  refuse("invalid_parameters", `${field}: ${why}`, { field });
