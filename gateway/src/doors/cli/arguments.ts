import { WrongUsage, type Command, type Flags, type Given, type GivenFlags } from "./command.ts";

/** Reads the words after a command's name. Strict: whatever is not understood is refused, never skipped. */
export function parseArguments(command: Command, words: readonly string[]): Given<Flags> {
  const found = new Map<string, readonly string[]>();
  const operands: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (!word.startsWith("--")) {
      operands.push(word);
      continue;
    }
    const { name, attached } = splitFlag(word);
    const flag = Object.hasOwn(command.flags, name) ? command.flags[name] : undefined;
    if (flag === undefined && name !== "json") throw unknownFlag(command, name);
    const earlier = found.get(name) ?? [];
    if (earlier.length > 0 && flag?.kind !== "repeated") throw new WrongUsage(`--${name} is given twice.`);
    if (flag === undefined || flag.kind === "toggle") {
      if (attached !== undefined) throw new WrongUsage(`--${name} takes no value.`);
      found.set(name, [""]);
      continue;
    }
    const next = attached ?? words[++at];
    // A value that begins with two dashes is far likelier a forgotten one; `--flag=--value` still works.
    if (next === undefined || next === "" || (attached === undefined && next.startsWith("--"))) {
      throw new WrongUsage(`--${name} needs a value: --${name} ${flag.placeholder}.`);
    }
    found.set(name, [...earlier, next]);
  }
  return {
    operand: takeOperand(command, operands),
    flags: flagsOf(command, found),
    asJson: found.has("json"),
  };
}

function unknownFlag({ words, flags }: Command, name: string): WrongUsage {
  const known = [...Object.keys(flags), "json"].map((flag) => `--${flag}`).join(", ");
  return new WrongUsage(`Unknown flag --${name}; "tollgate ${words.join(" ")}" takes ${known}.`);
}

function splitFlag(word: string): { name: string; attached: string | undefined } {
  const equals = word.indexOf("=");
  if (equals === -1) return { name: word.slice(2), attached: undefined };
  return { name: word.slice(2, equals), attached: word.slice(equals + 1) };
}

function takeOperand(command: Command, operands: readonly string[]): string {
  const [first = "", ...rest] = operands;
  if (command.operand === undefined) {
    if (operands.length > 0) throw new WrongUsage(`Unexpected word "${first}".`);
    return "";
  }
  const isOptional = command.operand.startsWith("[");
  if (isOptional && operands.length === 0) return "";
  if (first === "") throw new WrongUsage(`${command.operand.replaceAll(/[[\]]/g, "")} is missing.`);
  if (rest.length > 0) throw new WrongUsage(`Unexpected word "${rest[0]}".`);
  return first;
}

function flagsOf(command: Command, found: ReadonlyMap<string, readonly string[]>): GivenFlags<Flags> {
  const flags: Record<string, string | boolean | readonly string[]> = {};
  for (const [name, flag] of Object.entries(command.flags)) {
    const values = found.get(name) ?? [];
    const [value] = values;
    if (flag.kind === "toggle") flags[name] = value !== undefined;
    else if (flag.kind === "repeated") flags[name] = values;
    else if (value !== undefined) flags[name] = value;
    else if (flag.required) throw new WrongUsage(`--${name} ${flag.placeholder} is missing.`);
  }
  // Each flag has the kind of value its own declaration gives it in `GivenFlags`.
  return flags as GivenFlags<Flags>;
}
