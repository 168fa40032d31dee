import { z } from "zod";

/** A configuration that cannot be used. Each line names the place in the file and what was expected there. */
export class ConfigError extends Error {
  constructor(file: string, problems: readonly string[]) {
    super(`${file} cannot be used:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.name = "ConfigError";
  }
}

/** An issue as a line: the place and what was expected there. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  const where = issue.path.length === 0 ? "the file" : issue.path.join(".");
  // What is allowed in a name is said by the rule it broke, one level deeper.
  if (issue.code === "invalid_key") return `${where}: ${issue.issues[0]?.message ?? issue.message}`;
  if (issue.code === "unrecognized_keys") return `${where}: ${issue.message}`;
  if (issue.code === "invalid_union" && issue.message === "Invalid input")
    return `${where}: not a value that fits here`;
  return `${where}: ${issue.message.replace(/^Invalid input: /, "")}`;
}

/**
 * Says what could be written there instead: of names all there are, because what is meant is most often a letter away, and
 * of values their kind in words of people who write files, and not programs.
 */
export const sayWhatFits: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case "unrecognized_keys":
      return `unknown setting ${issue.keys.join(", ")}; there are ${knownSettings(issue.inst).join(", ")}`;
    case "invalid_type": {
      const kind = kinds[issue.expected];
      return kind && `expected ${kind}`;
    }
    default:
      return undefined;
  }
};

const kinds: Readonly<Partial<Record<z.core.$ZodIssueInvalidType["expected"], string>>> = {
  string: "a text; put it in quotes",
  array: "a list, as in [a, b]",
  object: "names and what they mean, as in { name: value }",
  record: "names and what they mean, as in { name: value }",
  boolean: "true or false",
  number: "a number",
  int: "a whole number",
};

function knownSettings(section: unknown): readonly string[] {
  if (section instanceof z.ZodObject) return Object.keys(section.shape);
  if (section instanceof z.ZodRecord && section.keyType instanceof z.ZodEnum) {
    return section.keyType.options.map(String);
  }
  throw new Error("A section of the configuration knows its settings, or takes any.");
}
